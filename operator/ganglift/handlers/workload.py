"""A Workload: its templates are reconciled into PodGroups."""

from ganglift.api.scheduling import Workload
from ganglift.base.clock import Clock
from ganglift.base.ids import Key
from ganglift.gang.naming import group_names
from ganglift.gang.workload import refused_step, workload_step
from ganglift.handlers.world import Refused, Stale, World

MOST_STEPS = 6


async def reconcile_workload(world: World, clock: Clock, key: Key) -> None:
    """Bring a Workload's PodGroups into being, carry changes over, show how it stands.

    Raises Refused after showing it, and KubeError where there was no answer.
    """
    for _ in range(MOST_STEPS):
        workload = world.workloads.get(key)
        if workload is None:
            return
        groups = world.groups_near(key, _names(workload))
        step = workload_step(workload, groups, clock.now())
        try:
            await world.carry_out(step.actions)
        except Stale:
            continue
        except Refused as refused:
            await world.carry_out(refused_step(workload, groups, refused.trouble, clock.now()).actions)
            raise
        if step.is_final:
            return
    raise Stale(f"Workload {key} has changed {MOST_STEPS} times while it was looked at")


def _names(workload: Workload) -> tuple[str, ...]:
    wanted = [name for t in workload.spec.pod_group_templates for name in group_names(workload.name, t.name)]
    return (*wanted, *(seat.pod_group_name for seat in workload.status.pod_groups))
