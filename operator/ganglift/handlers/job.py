"""Our Job: its `scheduling` is expanded into Workload, PodGroup and child, step by step until nothing is left to do."""

from ganglift.api.job import BatchJob, GangJob
from ganglift.base.clock import Clock
from ganglift.base.ids import Key
from ganglift.gang.actions import Announce, Kind
from ganglift.gang.child import is_hands_off
from ganglift.gang.job import JobWorld, job_step, stopped_step
from ganglift.gang.jobstatus import is_over
from ganglift.gang.membership import group_name_of
from ganglift.gang.naming import TEMPLATE, group_names
from ganglift.gang.reasons import Reason
from ganglift.handlers.world import Refused, Stale, World

MOST_STEPS = 12
"""More than a Job ever needs: Workload, PodGroup, child, status, and some looks that came too early."""


async def reconcile_job(world: World, clock: Clock, key: Key) -> float | None:
    """Bring what a Job needs into being and show how it stands.

    Returns the seconds after which to look again without an event, None if that is not needed. Raises Refused after
    showing it, and KubeError where there was no answer.
    """
    is_known = False
    for _ in range(MOST_STEPS):
        job = world.jobs.get(key)
        if job is None:
            return None
        if is_hands_off(job):
            await _say_whose(world, job)
            return None
        around = await _look(world, job, is_known=is_known)
        is_known = True
        step = job_step(job, around, clock.now())
        try:
            await world.carry_out(step.actions)
        except Stale:
            is_known = False
        except Refused as refused:
            await world.carry_out(stopped_step(job, around, refused.trouble, clock.now()).actions)
            raise
        if is_known and step.is_final:
            return (step.again_at - clock.now()).total_seconds() if step.again_at else None
    raise Stale(f"Job {key} has changed {MOST_STEPS} times while it was looked at")


async def _say_whose(world: World, job: GangJob) -> None:
    """Tell the user once that another controller runs the Job; its status is that controller's to write."""
    reason = Reason.MANAGED_ELSEWHERE
    words = f"spec.managedBy is {job.spec.managed_by}, so ganglift leaves this Job to that controller"
    if world.is_news(job.uid, words):
        event = Announce(Kind.GANG_JOB, job.key, job.uid, reason.value, words, reason.is_warning)
        await world.carry_out([event])


async def _look(world: World, job: GangJob, *, is_known: bool) -> JobWorld:
    """Gather what exists under the names that a Job needs, asking the API for what no watch has shown.

    Not again once that `is_known`: our own writes are seen at once. Nor for a Job that is over: nothing is made for it.
    """
    if is_known or job.is_deleting or is_over(job):
        child, workload = world.children.get(job.key), world.workloads.get(job.key)
    else:
        child, workload = await world.child(job.key), await world.workload(job.key)
    groups = world.groups_near(job.key, _names(job, child))
    return JobWorld(workload, child, {group.name: group for group in groups})


def _names(job: GangJob, child: BatchJob | None) -> tuple[str, ...]:
    label = group_name_of(child) if child is not None else ""
    return tuple(filter(None, (*group_names(job.name, TEMPLATE), job.status.pod_group_name, label)))
