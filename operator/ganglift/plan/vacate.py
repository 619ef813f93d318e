"""The cluster as it would be without some of the pods that are there: for preemption and for holds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ganglift.base.ids import Uid
from ganglift.plan.room import Room, Taken, without
from ganglift.plan.shape import ClaimKey, Exclusive
from ganglift.plan.snapshot import Kind, Snapshot

_Held = TypeVar("_Held", Exclusive, ClaimKey)


def slots_of(snapshot: Snapshot, uids: Collection[Uid]) -> dict[Uid, int]:
    """Return the slots of those of the pods that hold a place on a node there is."""
    nodes, wanted = snapshot.occupants.nodes, frozenset(uids)
    return {uid: slot for slot, uid in enumerate(snapshot.occupants.uids) if uid in wanted and nodes[slot] >= 0}


def leaving_slots(snapshot: Snapshot) -> tuple[int, ...]:
    """Return the slots of all pods that are being deleted."""
    occupants = snapshot.occupants
    return tuple(np.flatnonzero((occupants.kinds == Kind.TERMINATING) & (occupants.nodes >= 0)).tolist())


def without_pods(snapshot: Snapshot, slots: Collection[int]) -> Snapshot:
    """Return the snapshot with the pods in these slots of its occupants gone."""
    if not slots:
        return snapshot
    slots_gone = set(slots)
    occupants, gone = snapshot.occupants, sorted(slots_gone)
    shapes, rows = list(occupants.shapes), occupants.nodes.tolist()
    taken = [Taken(shape, rows[slot]) for slot in gone if (shape := shapes[slot])]
    nodes = occupants.nodes.copy()
    nodes[gone] = -1
    left = replace(occupants, nodes=nodes, labels=dict(occupants.labels), _matches={}, _repellers=[])
    return replace(
        snapshot,
        used=snapshot.used - Room(snapshot).used_by(taken),
        exclusives=_less(snapshot.exclusives, [(node, shape.demand.exclusives) for shape, node in taken]),
        claims=_less(snapshot.claims, [(node, shape.demand.claims) for shape, node in taken]),
        standing={uid: one for uid, one in snapshot.standing.items() if one.slot not in slots_gone},
        occupants=left,
    )


def _less(
    held: Mapping[int, tuple[_Held, ...]], gone: Sequence[tuple[int, tuple[_Held, ...]]]
) -> Mapping[int, tuple[_Held, ...]]:
    left = dict(held)
    for node, things in gone:
        if things:
            left[node] = without(left[node], things)
    return left
