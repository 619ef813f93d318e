"""What would make a gang fit that does not: the smallest single change of each kind, where one is enough.

Each is checked by counting, so that what is promised holds for members of one demand that do not bear on each other.
"""

from collections.abc import Iterator

import numpy as np

from ganglift.base.quantity import PODS
from ganglift.plan.nodes import Mask
from ganglift.plan.pack import is_device
from ganglift.plan.room import Room
from ganglift.plan.shape import Demand
from ganglift.plan.snapshot import Counts
from ganglift.plan.verdict import CauseKind, FreeUp, MoreNodes, NearMiss, Tolerate

_MILLION = 1_000_000


def near_misses(room: Room, missing: int, demand: Demand, usable: Mask, own: Counts) -> tuple[NearMiss, ...]:
    """Return what would place the `missing` members of the demand, the room being full of the others.

    `own` is what those others use, and the group's members that have their place already: nodes x resources.
    """
    changes = (
        _freeing(room, missing, demand, usable, own),
        _tolerating(room, missing, demand, usable),
        _growing(room, missing, demand),
    )
    return tuple(change for kind in changes for change in kind)


def _freeing(room: Room, missing: int, demand: Demand, usable: Mask, own: Counts) -> Iterator[FreeUp]:
    """The node on which the smallest part of what is wanted of one resource would have to come free."""
    free, offered = room.free(), room.snapshot.allocatable - own
    possible = usable & room.admits(demand)
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
    screen = room.snapshot.table.screen(demand)
    for i, cause in enumerate(screen.causes):
        if cause.kind is CauseKind.TAINT:
            nodes = usable & (screen.reasons == i) & room.snapshot.table.affine(demand)
            if int(room.times(demand)[nodes].sum()) >= missing:
                yield Tolerate(cause.subject, int(nodes.sum()))
                return


def _growing(room: Room, missing: int, demand: Demand) -> Iterator[MoreNodes]:
    """More nodes like the best there is for this demand, or as large as one pod where no node is that large."""
    resource, units = _scarcest(demand)
    columns = [room.snapshot.columns.get(name, -1) for name, _ in demand.requests]
    asked = np.array([units for _, units in demand.requests], np.int64)
    places = 0
    if min(columns) >= 0:
        offered = room.snapshot.allocatable[room.admits(demand)][:, columns]
        times = (offered // asked).min(axis=1)
        places = int(times.max(initial=0))
        if places:
            largest = offered[times == places][:, [name for name, _ in demand.requests].index(resource)]
            units = int(largest.min())
    yield MoreNodes(-(-missing // max(places, 1)), resource, units)


def _scarcest(demand: Demand) -> tuple[str, int]:
    """The resource to speak of: a device if one is asked for, else the first named."""
    named = [request for request in demand.requests if request[0] != PODS] or list(demand.requests)
    return next((request for request in named if is_device(request[0])), named[0])
