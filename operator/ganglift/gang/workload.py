"""A Workload: what its status says of its PodGroups, and the one that is made for a Job."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from ganglift.api.job import GangJob
from ganglift.api.model import Condition
from ganglift.api.names import BATCH_API, BATCH_GROUP, SCHEDULING_API
from ganglift.api.scheduling import PodGroup, PodGroupTemplate, Workload, WorkloadSeat, WorkloadStatus
from ganglift.base.wording import clause
from ganglift.gang.actions import Body, Create, Kind, Patch, Step, merge, merge_status
from ganglift.gang.naming import TEMPLATE
from ganglift.gang.outcome import Waiting
from ganglift.gang.ownership import parent_of_job
from ganglift.gang.podgroup import Seat, group_actions, seats_of
from ganglift.gang.reasons import ConditionType, Reason
from ganglift.gang.status import set_condition

_GOING_WELL = ("Running", Reason.SCHEDULED, Reason.SUCCEEDED)


def workload_step(workload: Workload, groups: Iterable[PodGroup], now: datetime) -> Step:
    """Return the next step for a Workload: its PodGroups as they should be, then its status.

    `groups` are the PodGroups that refer to it or have a name it might want. Where it was made for one of our Jobs, the
    Job makes the PodGroup, before its child, and this waits for it and carries changes over.
    """
    if workload.is_deleting:
        return Step()
    seats = seats_of(workload, groups)
    actions = group_actions(workload, seats)
    creates = tuple(action for action in actions if isinstance(action, Create))
    if creates:
        return Step() if is_of_job(workload) else Step(creates, is_final=False)
    return Step((*actions, *status_actions(workload, workload_status(workload, seats, now))))


def refused_step(workload: Workload, groups: Iterable[PodGroup], refusal: Waiting, now: datetime) -> Step:
    """Return the step that shows what the API server refused, and changes nothing else."""
    status = workload_status(workload, seats_of(workload, groups), now, refusal)
    return Step(status_actions(workload, status))


def is_of_job(workload: Workload) -> bool:
    """Whether the Workload was made for one of our Jobs."""
    owner = workload.controller
    return owner is not None and (owner.api_version, owner.kind) == (BATCH_API, "Job")


def workload_status(
    workload: Workload, seats: Sequence[Seat], now: datetime, refusal: Waiting | None = None
) -> WorkloadStatus:
    """Return a Workload's status. `refusal` is what the API server objected to, if it did."""
    groups = [seat.group for seat in seats if seat.group is not None]
    trouble = refusal or next((seat.obstacle for seat in seats if seat.obstacle is not None), None)
    phases = [group.status.phase for group in groups]
    return WorkloadStatus(
        observed_generation=workload.metadata.generation,
        phase=str(trouble.reason) if trouble else _phase(phases, len(seats)),
        groups=len(groups),
        scheduled_groups=sum(1 for group in groups if _is_scheduled(group)),
        pod_groups=tuple(
            WorkloadSeat(template_name=seat.template.name, pod_group_name=seat.name)
            for seat in seats
            if seat.obstacle is None
        ),
        conditions=set_condition(workload.status.conditions, _ready(workload, seats, trouble), now),
    )


def status_actions(workload: Workload, status: WorkloadStatus) -> tuple[Patch, ...]:
    """Return the write that brings a Workload's status to the API; none if it says so already."""
    if status == workload.status:
        return ()
    return (merge_status(Kind.WORKLOAD, workload.key, workload.uid, status.wire()),)


def job_workload_body(job: GangJob) -> Body:
    """Return the Workload to make for our Job: one template, from the Job's `scheduling`."""
    return {
        "apiVersion": SCHEDULING_API,
        "kind": "Workload",
        "metadata": {
            "namespace": job.metadata.namespace,
            "name": job.name,
            "ownerReferences": [parent_of_job(job).reference],
        },
        "spec": {
            "controllerRef": {"apiGroup": BATCH_GROUP, "kind": "Job", "name": job.name},
            "podGroupTemplates": [job_template(job).wire()],
        },
    }


def job_template(job: GangJob) -> PodGroupTemplate:
    """Return the PodGroup template of our Job; its priority class is the pod template's."""
    template: dict[str, Any] = job.spec.scheduling.wire() if job.spec.scheduling else {}
    count = job.spec.min_count
    template["name"] = TEMPLATE
    template["schedulingPolicy"] = {"basic": {}} if count is None else {"gang": {"minCount": count}}
    if priority_class := (job.spec.template.get("spec") or {}).get("priorityClassName"):
        template["priorityClassName"] = priority_class
    return PodGroupTemplate.model_validate(template)


def template_change(job: GangJob, workload: Workload) -> tuple[Patch, PodGroupTemplate] | None:
    """Return the patch that brings what may change of our Job's `scheduling` to its Workload, and the template then.

    None if the Workload says so already. The list of templates is replaced whole, as a JSON merge patch does.
    """
    wanted = job_template(job)
    standing = next((t for t in workload.spec.pod_group_templates if t.name == TEMPLATE), None)
    if standing is None or standing.scheduling_policy.word != wanted.scheduling_policy.word:
        return None
    changed = standing.model_copy(
        update={
            "scheduling_policy": wanted.scheduling_policy,
            "schedule_timeout_seconds": wanted.schedule_timeout_seconds,
        }
    )
    if changed == standing:
        return None
    body = {"spec": {"podGroupTemplates": [changed.wire()]}}
    return merge(Kind.WORKLOAD, workload.key, workload.uid, body), changed


def _ready(workload: Workload, seats: Sequence[Seat], trouble: Waiting | None) -> Condition:
    missing = [seat.template.name for seat in seats if seat.group is None]
    if trouble is not None:
        status, reason, message = "False", trouble.reason, trouble.message
    elif missing:
        status, reason = "False", Reason.QUEUED
        message = f"{len(seats) - len(missing)} of {clause(len(seats), 'PodGroup', 'exists', 'exist')}"
    else:
        status, reason, message = "True", Reason.READY, "each template has its PodGroup"
    return Condition(
        type=ConditionType.POD_GROUPS_READY.value,
        status=status,
        reason=reason.value,
        message=message,
        observed_generation=workload.metadata.generation,
    )


def _phase(phases: Sequence[str], templates: int) -> str:
    """Return one word for all PodGroups: the worst of them, and of those that wait the first."""
    for word in (Reason.FAILED.value, ConditionType.DEGRADED.value):
        if word in phases:
            return word
    waiting = [phase for phase in phases if phase not in _GOING_WELL]
    if waiting or len(phases) < templates:
        return next(filter(None, waiting), Reason.QUEUED.value)
    if all(phase == Reason.SUCCEEDED for phase in phases):
        return Reason.SUCCEEDED.value
    return "Running" if "Running" in phases else Reason.SCHEDULED.value


def _is_scheduled(group: PodGroup) -> bool:
    condition = group.condition(ConditionType.SCHEDULED)
    return condition is not None and condition.is_true
