"""A batch/v1 Job that asks by annotation to be scheduled as a gang is adopted, once, and its PodGroup is kept."""

from ganglift.base.ids import Key, Uid
from ganglift.gang.actions import Action, Announce, Kind
from ganglift.gang.adopt import adoption_step, names_for, refused_asking, wants_adoption
from ganglift.gang.outcome import Waiting
from ganglift.handlers.world import Refused, Stale, World

MOST_STEPS = 6


async def reconcile_adopted(world: World, key: Key) -> None:
    """Adopt a Job, or say by event why it can't be and what to do instead.

    Raises Refused after saying it, and KubeError where there was no answer.
    """
    for _ in range(MOST_STEPS):
        job = world.children.get(key)
        if job is None or not wants_adoption(job):
            return
        step = adoption_step(job, world.groups_near(key, names_for(job)), world.minor)
        try:
            await world.carry_out(action for action in step.actions if _is_new(world, action))
        except Stale:
            continue
        except Refused as refused:
            event = _event(key, job.uid, refused_asking(refused.trouble) if refused.is_of_trial else refused.trouble)
            await world.carry_out([event] if _is_new(world, event) else [])
            raise
        if step.is_final:
            return
    raise Stale(f"batch/v1 Job {key} has changed {MOST_STEPS} times while it was looked at")


def _is_new(world: World, action: Action) -> bool:
    """An event is said once: what is in the way of an adoption is found again at every look."""
    return not isinstance(action, Announce) or world.is_news(action.uid, action.message)


def _event(key: Key, uid: Uid, trouble: Waiting) -> Announce:
    return Announce(Kind.BATCH_JOB, key, uid, trouble.reason.value, trouble.message, trouble.reason.is_warning)
