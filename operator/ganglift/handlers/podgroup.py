"""A PodGroup is handed to the loop; what outside its pods keeps it is judged here, and it is split where asked."""

from ganglift.base.ids import Key
from ganglift.gang.jobstatus import lost_child
from ganglift.gang.podgroup import missing_workload
from ganglift.gang.split import is_split, part_names, parts_step, split_trouble, value_of
from ganglift.handlers.store import workload_of
from ganglift.handlers.world import World


async def reconcile_group(world: World, key: Key) -> None:
    """Tell the loop whether something outside the group's pods keeps it from being planned; split it where asked.

    Raises Refused, Stale, and KubeError where there was no answer.
    """
    group = world.groups.get(key)
    if group is None or group.is_deleting:
        return
    workload_key = workload_of(group)
    workload = await world.workload(workload_key) if workload_key is not None else None
    job = world.jobs.get(workload_key) if workload_key is not None else None
    parts = world.groups.parts(group.uid)
    trouble = split_trouble(group, parts)
    obstacle = lost_child(job, group) or missing_workload(group, workload) or trouble or world.shortages.get(key)
    world.loop.set_obstacle(key, obstacle)
    if is_split(group) or parts:
        pods = world.loop.pods_of(key)
        names = [name for pod in pods for name in part_names(group.name, value_of(pod, group))]
        await world.carry_out(parts_step(group, pods, world.groups_near(key, names), parts).actions)
