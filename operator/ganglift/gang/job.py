"""Our Job: what should exist for it next, given what exists now.

One look gives the next actions, which are carried out before the world is looked at again:

1. hands off where another controller manages the Job; nothing for one that is being deleted;
2. a child that is gone is never made a second time, and a finished Job only waits for its ttl;
3. nothing of a deleted Job is in the way, and the child's name is free, or the child ours;
4. Workload, then PodGroup, then child, each once the one before stands;
5. a change of our generation is passed on; down: minCount first, up: the child first;
6. the deadline of a gang that has been scheduled;
7. the status.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ganglift.api.job import BatchJob, GangJob
from ganglift.api.scheduling import PodGroup, PodGroupTemplate, Workload
from ganglift.gang.actions import Action, Create, Delete, Kind, Patch, Step
from ganglift.gang.child import child_body, child_change, deadline_change, is_hands_off
from ganglift.gang.jobstatus import deleted_child_status, ended_at, is_over, job_status, scheduled_time, status_actions
from ganglift.gang.leftovers import left_over
from ganglift.gang.membership import group_name_of
from ganglift.gang.naming import TEMPLATE
from ganglift.gang.outcome import Waiting
from ganglift.gang.ownership import Claim, obstacle, parent_of_job
from ganglift.gang.podgroup import Seat, carry_over, group_actions, seats_of
from ganglift.gang.reasons import Reason
from ganglift.gang.workload import job_workload_body, template_change

OLD_RUN_RECHECK_S = 1.0
"""How soon to look again whether what an earlier run left is gone; its end is also seen as an event."""


@dataclass(frozen=True)
class JobWorld:
    """What exists under the names that our Job needs, and the PodGroups of its namespace by name."""

    workload: Workload | None = None
    child: BatchJob | None = None
    groups: Mapping[str, PodGroup] = field(default_factory=dict)


def job_step(job: GangJob, world: JobWorld, now: datetime) -> Step:
    """Return the next step for our Job; `now` is used for transition times and the ttl."""
    if job.is_deleting or is_hands_off(job):
        return Step()
    if is_over(job):
        return _after_the_end(job, world, now)
    if job.status.child_uid and (world.child is None or world.child.uid != job.status.child_uid):
        return Step(status_actions(job, deleted_child_status(job, now)))
    if (trouble := left_over(job, world.child, world.workload, world.groups.values())) is not None:
        return stopped_step(job, JobWorld(), trouble, now)
    claim = parent_of_job(job).claim_on(world.child)
    if (trouble := obstacle(claim, f"batch/v1 Job {job.name}")) is not None:
        return stopped_step(job, JobWorld(), trouble, now)
    return _expand(job, world, now)


def stopped_step(job: GangJob, world: JobWorld, trouble: Waiting, now: datetime) -> Step:
    """Return the step that shows what is in the way, also what the API server refused, and changes nothing else.

    The generation stays unobserved, so that what could not be done is tried again.
    """
    child = world.child if parent_of_job(job).claim_on(world.child) is Claim.OURS else None
    group = world.groups.get(group_name_of(child)) if child else None
    status = job_status(job, child, group, now, trouble)
    unobserved = status.model_copy(update={"observed_generation": job.status.observed_generation})
    is_old = trouble.reason is Reason.WAITING_FOR_OLD_JOB
    again_at = now + timedelta(seconds=OLD_RUN_RECHECK_S) if is_old else None
    return Step(status_actions(job, unobserved), again_at=again_at)


def _expand(job: GangJob, world: JobWorld, now: datetime) -> Step:
    """Make what is missing, one after another; then keep it."""
    workload = world.workload
    if workload is None:
        return Step((Create(Kind.WORKLOAD, job_workload_body(job)),), is_final=False)
    claim = parent_of_job(job).claim_on(workload)
    trouble = obstacle(claim, f"Workload {workload.name}")
    if claim is Claim.OURS and workload.is_deleting:
        trouble = obstacle(Claim.OLD, f"Workload {workload.name}")
    if trouble is not None:
        return stopped_step(job, world, trouble, now)
    seat = _seat(workload, world)
    if seat.obstacle is not None:
        return stopped_step(job, world, seat.obstacle, now)
    if seat.group is None:
        return Step(group_actions(workload, [seat]), is_final=False)
    if world.child is None:
        return Step((Create(Kind.BATCH_JOB, child_body(job, seat.name)),), is_final=False)
    return Step((*_upkeep(job, workload, world.child, seat), *_shown(job, world.child, seat.group, now)))


def _seat(workload: Workload, world: JobWorld) -> Seat:
    """Return the seat of the Job's one template; once the child stands, its label fixes the PodGroup's name."""
    label = group_name_of(world.child) if world.child is not None else ""
    return seats_of(workload, world.groups.values(), {TEMPLATE: label} if label else {})[0]


def _upkeep(job: GangJob, workload: Workload, child: BatchJob, seat: Seat) -> tuple[Action, ...]:
    is_changed = job.metadata.generation != job.status.observed_generation
    passed_on = _passed_on(job, workload, child, seat) if is_changed else []
    to_child = any(patch.kind is Kind.BATCH_JOB for patch in passed_on)
    deadline = None if to_child else deadline_change(job, child, scheduled_time(job, child, seat.group))
    return (*passed_on, *filter(None, [deadline]))


def _shown(job: GangJob, child: BatchJob, group: PodGroup | None, now: datetime) -> tuple[Action, ...]:
    return status_actions(job, job_status(job, child, group, now))


def _passed_on(job: GangJob, workload: Workload, child: BatchJob, seat: Seat) -> list[Patch]:
    """Return the patches for a changed spec, in the order in which minCount never exceeds parallelism."""
    to_child = list(filter(None, [child_change(job, child)]))
    to_workload, template = template_change(job, workload) or (None, seat.template)
    to_group = carry_over(seat.group, template) if seat.group is not None and seat.is_ours else None
    to_gang = list(filter(None, [to_workload, to_group]))
    return [*to_child, *to_gang] if _count(template) > _count(seat.template) else [*to_gang, *to_child]


def _count(template: PodGroupTemplate) -> int:
    return template.gang.min_count or 0 if template.gang else 0


def _after_the_end(job: GangJob, world: JobWorld, now: datetime) -> Step:
    """Mirror what is left, and delete our Job when its ttl is over, which takes all that was made for it along."""
    ttl, ended = job.spec.ttl_seconds_after_finished, ended_at(job)
    due = ended + timedelta(seconds=ttl) if ended is not None and ttl is not None else None
    if due is not None and now >= due:
        return Step((Delete(Kind.GANG_JOB, job.key, job.uid),))
    if world.child is None or world.child.uid != job.status.child_uid:
        return Step(again_at=due)
    group = world.groups.get(group_name_of(world.child))
    return Step(_shown(job, world.child, group, now), again_at=due)
