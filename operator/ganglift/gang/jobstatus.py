"""The status of our Job: the child's, mirrored, with what its gang adds.

`Suspended` follows our own spec, since the child may also be parked. Pods that the Job controller has not yet counted
are not shown. What ended stays as it was last seen, also when the child is gone.
"""

from datetime import datetime

from ganglift.api.job import BatchJob, GangJob, GangJobStatus
from ganglift.api.model import Condition, condition_of
from ganglift.api.names import JOB_UID
from ganglift.api.scheduling import PodGroup
from ganglift.gang.actions import Action, Announce, Kind, merge_status
from ganglift.gang.outcome import Waiting
from ganglift.gang.reasons import ConditionType, Reason
from ganglift.gang.status import set_condition

_MIRRORED = (
    "active",
    "ready",
    "terminating",
    "succeeded",
    "failed",
    "completed_indexes",
    "failed_indexes",
    "start_time",
    "completion_time",
)


_CHILD_DELETED = "the batch/v1 Job was deleted before its end was seen"
_OWN = (Reason.NAME_CONFLICT, Reason.WAITING_FOR_OLD_JOB, Reason.REFUSED, Reason.CHILD_DELETED, Reason.INVALID)
"""Reasons that are about the Job's own objects, not about its gang."""


def job_status(
    job: GangJob, child: BatchJob | None, group: PodGroup | None, now: datetime, trouble: Waiting | None = None
) -> GangJobStatus:
    """Return our Job's status from its child and PodGroup as they are now.

    `trouble` is what keeps these from being made, or what the API server refused: shown in `Scheduled` while there is
    no child, and beside it once pods may run.
    """
    conditions = _suspended(job, _mirrored_conditions(job, child), now)
    mirrored = group.condition(ConditionType.SCHEDULED) if group else None
    if mirrored is not None:
        conditions = _put(conditions, mirrored.model_copy(update={"observed_generation": None}))
    if trouble is not None:
        kind = ConditionType.SCHEDULED if child is None else ConditionType.SPEC_APPLIED
        shown = condition_of(set_condition(job.status.conditions, _trouble(kind, trouble), now), kind)
        conditions = _put(conditions, shown) if shown else conditions
    update = {
        **({name: getattr(child.status, name) for name in _MIRRORED} if child else {}),
        "child_uid": job.status.child_uid or (child.uid if child else ""),
        "completions": _completions(job, child),
        "min_count": job.spec.min_count or 0,
        "need": group.status.need if group else 0,
        "scheduled": group.status.scheduled if group else 0,
        "pod_group_name": group.name if group else job.status.pod_group_name,
        "scheduled_time": scheduled_time(job, child, group),
        "observed_generation": job.metadata.generation,
        "conditions": conditions,
        "phase": _phase(job, conditions, group),
    }
    return job.status.model_copy(update=update)


def deleted_child_status(job: GangJob, now: datetime) -> GangJobStatus:
    """Return the status of a Job whose child is gone without an observed end: failed, and never run a second time."""
    message = f"{_CHILD_DELETED}; delete this Job and create it again to run it anew"
    failed = Condition(type="Failed", status="True", reason=Reason.CHILD_DELETED.value, message=message)
    scheduled = _trouble(ConditionType.SCHEDULED, Waiting(Reason.CHILD_DELETED, message))
    conditions = set_condition(set_condition(job.status.conditions, failed, now), scheduled, now)
    update = {
        "active": 0,
        "ready": 0,
        "terminating": 0,
        "need": 0,
        "scheduled": 0,
        "conditions": conditions,
        "phase": Reason.FAILED.value,
        "observed_generation": job.metadata.generation,
    }
    return job.status.model_copy(update=update)


def lost_child(job: GangJob | None, group: PodGroup) -> Waiting | None:
    """Return what our Job's status says of a child that was deleted, for the Job's group; None if it does not.

    That it was written shows that the Job was still there then: its end takes child and group along, in any order.
    """
    if job is None or job.is_deleting or job.uid != group.metadata.annotations.get(JOB_UID):
        return None
    failed = condition_of(job.status.conditions, "Failed")
    is_lost = failed is not None and failed.reason == Reason.CHILD_DELETED
    return Waiting(Reason.CHILD_DELETED, _CHILD_DELETED) if is_lost else None


def status_actions(job: GangJob, status: GangJobStatus) -> tuple[Action, ...]:
    """Return the write that brings the API to this status, and the events worth it; none if it says so already."""
    if status == job.status:
        return ()
    # Unset fields go as null: a merge patch then removes what is no longer so, such as startTime after a suspension.
    wire = status.model_dump(mode="json", by_alias=True, exclude={"uncounted_terminated_pods"})
    wire["conditions"] = [condition.wire() for condition in status.conditions]
    wire["childUID"] = wire["childUID"] or None
    return (merge_status(Kind.GANG_JOB, job.key, job.uid, wire), *_transitions(job, status))


def is_over(job: GangJob) -> bool:
    """Whether the Job's end has been observed and recorded."""
    ends = (condition_of(job.status.conditions, kind) for kind in ("Complete", "Failed"))
    return any(end is not None and end.is_true for end in ends)


def ended_at(job: GangJob) -> datetime | None:
    """Return when the Job ended: ttlSecondsAfterFinished counts from here."""
    ends = (condition_of(job.status.conditions, kind) for kind in ("Complete", "Failed"))
    return next((end.last_transition_time for end in ends if end is not None and end.is_true), None)


def scheduled_time(job: GangJob, child: BatchJob | None, group: PodGroup | None) -> datetime | None:
    """Return when the gang was first whole since its child was last started; a deadline counts from there.

    Kept in our Job, so that a PodGroup that is deleted and made again does not move it. A resume sets the child's
    startTime anew and so makes the time of the earlier start void.
    """
    started = child.status.start_time if child else None
    known = (job.status.scheduled_time, group.status.scheduled_time if group else None, _whole_since(group))
    return min((time for time in known if time is not None and (started is None or time >= started)), default=None)


def _whole_since(group: PodGroup | None) -> datetime | None:
    scheduled = group.condition(ConditionType.SCHEDULED) if group else None
    return scheduled.last_transition_time if scheduled is not None and scheduled.is_true else None


def _mirrored_conditions(job: GangJob, child: BatchJob | None) -> tuple[Condition, ...]:
    """Take the child's conditions, and keep of ours what the child does not speak of."""
    kept = tuple(c for c in job.status.conditions if child is None or c.type in ("Suspended", ConditionType.SCHEDULED))
    theirs = tuple(c for c in child.status.conditions if c.type != "Suspended") if child else ()
    return (*theirs, *kept)


def _suspended(job: GangJob, conditions: tuple[Condition, ...], now: datetime) -> tuple[Condition, ...]:
    if job.spec.suspend:
        new = Condition(type="Suspended", status="True", reason="JobSuspended", message="Job suspended")
    elif condition_of(conditions, "Suspended") is not None:
        new = Condition(type="Suspended", status="False", reason="JobResumed", message="Job resumed")
    else:
        return conditions
    return set_condition(conditions, new, now)


def _trouble(kind: ConditionType, trouble: Waiting) -> Condition:
    return Condition(type=kind.value, status="False", reason=trouble.reason.value, message=trouble.message)


def _put(conditions: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    if condition_of(conditions, new.type) is None:
        return (*conditions, new)
    return tuple(new if condition.type == new.type else condition for condition in conditions)


def _completions(job: GangJob, child: BatchJob | None) -> str:
    """Return `3/8` as kubectl prints it for a batch/v1 Job; a work queue shows parallelism after `1 of`."""
    if child is None:
        return job.status.completions
    if child.spec.completions is not None:
        return f"{child.status.succeeded}/{child.spec.completions}"
    if child.spec.parallelism > 1:
        return f"{child.status.succeeded}/1 of {child.spec.parallelism}"
    return f"{child.status.succeeded}/1"


def _phase(job: GangJob, conditions: tuple[Condition, ...], group: PodGroup | None) -> str:
    """Return one word for the column: the Job's own end, else what its gang shows, else what is in the way."""
    for kind in ("Complete", "Failed"):
        if (end := condition_of(conditions, kind)) is not None and end.is_true:
            return kind
    if job.spec.suspend:
        return Reason.SUSPENDED.value
    if group is not None and group.status.phase:
        return group.status.phase
    scheduled = condition_of(conditions, ConditionType.SCHEDULED)
    return scheduled.reason if scheduled is not None else Reason.QUEUED.value


def _transitions(job: GangJob, status: GangJobStatus) -> tuple[Announce, ...]:
    """Return the events for what concerns the Job itself; those of its gang are on the PodGroup."""
    events = []
    for kind in (ConditionType.SCHEDULED, ConditionType.SPEC_APPLIED):
        old, new = (condition_of(s.conditions, kind) for s in (job.status, status))
        if new is not None and new.reason in _OWN and (old is None or old.reason != new.reason):
            reason = Reason(new.reason)
            events.append(Announce(Kind.GANG_JOB, job.key, job.uid, reason.value, new.message, reason.is_warning))
    return tuple(events)
