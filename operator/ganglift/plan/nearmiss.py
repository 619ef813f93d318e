"""What would make a gang fit that does not: the smallest single change of each kind, where one is enough.

Each is checked by counting, so that what is promised holds for members of one demand that do not bear on each other.
"""

from collections.abc import Iterator

import numpy as np

from ganglift.api.selectors import NodeSelector
from ganglift.base.ids import NodeName
from ganglift.base.quantity import PODS
from ganglift.plan.nodes import UNSCHEDULABLE, Mask, taint_text
from ganglift.plan.pack import is_device
from ganglift.plan.room import Room
from ganglift.plan.shape import Demand
from ganglift.plan.snapshot import Counts
from ganglift.plan.verdict import CauseKind, FreeUp, Label, MoreNodes, NearMiss, Tolerate, Uncordon

_MILLION = 1_000_000


def near_misses(room: Room, missing: int, demand: Demand, usable: Mask, own: Counts) -> tuple[NearMiss, ...]:
    """Return what would place the `missing` members of the demand, the room being full of the others.

    `own` is what those others use, and the group's members that have their place already: nodes x resources.
    """
    if room.most(demand) < missing:
        return ()
    changes = (
        _freeing(room, missing, demand, usable, own),
        _tolerating(room, missing, demand, usable),
        _uncordoning(room, missing, demand, usable),
        _labelling(room, missing, demand, usable),
        _growing(room, missing, demand),
    )
    return tuple(change for kind in changes for change in kind)


def _freeing(room: Room, missing: int, demand: Demand, usable: Mask, own: Counts) -> Iterator[FreeUp]:
    """The node on which the smallest part of what is wanted of one resource would have to come free."""
    free, offered = room.free(), room.snapshot.allocatable - own
    possible = usable & room.admits(demand) & ~room.volumes_over(demand)
    if demand.exclusives:
        possible &= ~room.conflicts(demand) & (missing == 1)
    lacking: list[tuple[str, Counts]] = []
    for name, units in demand.requests:
        column = room.snapshot.columns.get(name)
        if column is None:
            return
        possible &= offered[:, column] >= units * missing
        lacking.append((name, np.maximum(units * missing - free[:, column], 0)))
    possible &= sum((lack > 0).astype(np.int64) for _, lack in lacking) == 1
    nodes = np.flatnonzero(possible)
    if not len(nodes):
        return
    wanted = np.array([[units * missing] for _, units in demand.requests], np.int64)
    parts = (np.stack([lack[nodes] for _, lack in lacking]) * _MILLION // wanted).sum(axis=0)
    node = int(nodes[np.argmin(parts)])
    name, lack = next((name, int(lack[node])) for name, lack in lacking if lack[node])
    yield FreeUp(name, lack, room.snapshot.names[node])


def _tolerating(room: Room, missing: int, demand: Demand, usable: Mask) -> Iterator[Tolerate]:
    """The taint alone that keeps the members off nodes with room for them."""
    table, places = room.snapshot.table, _places(room, demand)
    screen = table.screen(demand)
    for i, cause in enumerate(screen.causes):
        if cause.kind is CauseKind.TAINT:
            nodes = usable & (screen.reasons == i) & table.affine(demand) & table.tolerated(demand, cause.subject)
            if int(places[nodes].sum()) >= missing:
                yield Tolerate(cause.subject, int(nodes.sum()))
                return


def _uncordoning(room: Room, missing: int, demand: Demand, usable: Mask) -> Iterator[Uncordon]:
    """The fewest nodes with room for the members that only their being cordoned keeps the members off."""
    table = room.snapshot.table
    cordoned = _refused(room, demand, CauseKind.UNSCHEDULABLE)
    nodes = usable & cordoned & table.affine(demand) & table.tolerated(demand, taint_text(UNSCHEDULABLE))
    if found := _fewest(room, missing, demand, nodes):
        yield Uncordon(found)


def _labelling(room: Room, missing: int, demand: Demand, usable: Mask) -> Iterator[Label]:
    """The fewest nodes with room for the members that only lack labels, and have no others in their place."""
    refused = _refused(room, demand, CauseKind.NODE_AFFINITY)
    if found := _fewest(room, missing, demand, usable & refused & room.snapshot.table.labellable(demand)):
        yield Label(demand.selector, found)


def _growing(room: Room, missing: int, demand: Demand) -> Iterator[MoreNodes]:
    """More nodes, each for as many members as the best there is takes, or for one where no node is that large.

    No new node is sure to be the named one that the node affinity may ask for, or to be in reach of volumes.
    """
    if room.mounts(demand).refusals or (demand.node_affinity and _is_by_name(demand.node_affinity)):
        return
    each = min(max(_most_on_one(room, demand), 1), missing)
    asked = [(name, units * each) for name, units in demand.requests if name != PODS] or [(PODS, each)]
    yield MoreNodes(
        count=-(-missing // each),
        requests=tuple(sorted(asked, key=lambda request: (not is_device(request[0]), request[0]))),
        labels=demand.selector,
        by_affinity=demand.node_affinity is not None,
    )


def _most_on_one(room: Room, demand: Demand) -> int:
    """How many members the best node would take if it were empty; of those that refuse them, where no other is."""
    columns = [room.snapshot.columns.get(name, -1) for name, _ in demand.requests]
    if min(columns) < 0:
        return 0
    asked = np.array([units for _, units in demand.requests], np.int64)
    times = (room.snapshot.allocatable[:, columns] // asked).min(axis=1)
    most = int(times[room.admits(demand)].max(initial=0)) or int(times.max(initial=0))
    return min(most, 1) if demand.exclusives else most


def _is_by_name(affinity: NodeSelector) -> bool:
    return all(term.match_fields for term in affinity.node_selector_terms)


def _refused(room: Room, demand: Demand, kind: CauseKind) -> Mask:
    """The nodes that refuse the demand by that kind of rule, before any other."""
    screen = room.snapshot.table.screen(demand)
    kinds = [i for i, cause in enumerate(screen.causes) if cause.kind is kind]
    return np.isin(screen.reasons, kinds)


def _places(room: Room, demand: Demand) -> Counts:
    """How many members each node has room and volumes for, whatever else refuses them."""
    places = room.times(demand)
    places[room.volumes_over(demand)] = 0
    for _, refused in room.mounts(demand).refusals:
        places[refused] = 0
    return places


def _fewest(room: Room, missing: int, demand: Demand, allowed: Mask) -> tuple[NodeName, ...]:
    """The fewest of the nodes allowed that have room for all who are missing, by name; none where all are too few."""
    if not allowed.any():
        return ()
    places = np.where(allowed, np.minimum(_places(room, demand), missing), 0)
    order = np.argsort(-places, kind="stable")
    count = int(np.searchsorted(np.cumsum(places[order]), missing)) + 1
    return tuple(room.snapshot.names[i] for i in sorted(order[:count].tolist())) if count <= len(order) else ()
