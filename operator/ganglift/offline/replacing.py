"""An object asked for that the cluster has already: planned anew, in the place of what is there.

The object and all that was made for it go, unless some of its pods have been placed: these keep running, whatever a
manifest says, and to plan without them would be wrong.
"""

from collections.abc import Iterator

from ganglift.api.job import BatchJob, GangJob
from ganglift.api.model import Object
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup, Workload
from ganglift.base.ids import Uid
from ganglift.gang.membership import Standing, standing_of
from ganglift.offline.inventory import Asked, Inventory
from ganglift.offline.kinds import ASKABLE, BY_KIND, group_of
from ganglift.offline.problems import InvalidInput, Problem

_OWNED = (Workload, PodGroup, BatchJob, Pod)


def replace(inventory: Inventory) -> None:
    """Take out of the cluster what is asked for again; raise InvalidInput where that runs already."""
    twins = [(asked, twin) for asked in inventory.asked if (twin := _twin(inventory, asked)) is not None]
    if not twins:
        return
    owned = _by_owner(inventory)
    problems = []
    for asked, twin in twins:
        gone = list(_with_owned(twin, owned))
        placed = [one for one in gone if isinstance(one, Pod) and standing_of(one) in (Standing.BOUND, Standing.LIFTED)]
        if placed:
            pods = f"{len(placed)} of its pods are" if len(placed) > 1 else f"pod {placed[0].name} is"
            words = f"it runs in the cluster, {pods} placed: plan it under another name, or take it out of the snapshot"
            problems.append(Problem(asked.place, words, "metadata.name"))
        for one in gone:
            inventory.drop(one)
        inventory.note(f"{asked.place}: planned in the place of what waits under that name in the cluster")
    if problems:
        raise InvalidInput(problems)


def _twin(inventory: Inventory, asked: Asked) -> Object | None:
    kind = BY_KIND.get((group_of(asked.api_version), asked.kind))
    if kind is None or kind.model not in (*ASKABLE, Pod):
        return None
    return inventory.get(kind.model, asked.key)


def _by_owner(inventory: Inventory) -> dict[Uid, list[Object]]:
    owned: dict[Uid, list[Object]] = {}
    for model in (*_OWNED, GangJob):
        for one in inventory.all(model):
            if (owner := one.controller) is not None:
                owned.setdefault(owner.uid, []).append(one)
    return owned


def _with_owned(one: Object, owned: dict[Uid, list[Object]]) -> Iterator[Object]:
    yield one
    for inner in owned.get(one.uid, ()) if one.uid else ():
        yield from _with_owned(inner, owned)
