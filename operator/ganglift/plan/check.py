"""Questions about a plan that is already made, or about pods that are not ours, on the newest snapshot."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ganglift.base.ids import NodeName, Uid
from ganglift.plan.filters import check
from ganglift.plan.fit import place
from ganglift.plan.nodes import Mask
from ganglift.plan.request import Member
from ganglift.plan.shape import Shape
from ganglift.plan.snapshot import Room, Snapshot
from ganglift.plan.verdict import Cause, Placement


@dataclass(frozen=True, slots=True)
class Broken:
    """A planned place that does not hold any more, and why. No causes: the node is gone."""

    uid: Uid
    node: NodeName
    causes: tuple[Cause, ...]


def still_fits(
    snapshot: Snapshot, assignment: Sequence[tuple[Member, NodeName]], own: Iterable[Uid] = ()
) -> tuple[Broken, ...]:
    """Return which of the planned places do not hold on this snapshot, in the order of the plan; nothing if all hold.

    Room that the members themselves hold, and that of `own`, does not count against them.
    """
    room = Room(snapshot)
    room.release({*own, *(member.uid for member, _ in assignment)})
    broken = []
    for member, node in assignment:
        at = snapshot.table.position.get(node)
        if at is not None and room.capacity(member.shape.demand)[at]:
            room.take(member.shape, at)
        else:
            broken.append(Broken(member.uid, node, _causes(room, member, node)))
    return tuple(broken)


def _causes(room: Room, member: Member, node: NodeName) -> tuple[Cause, ...]:
    return check(room, member.shape, node) if node in room.snapshot.table.position else ()


def replace_one(
    snapshot: Snapshot, member: Member, avoid: Iterable[NodeName] = (), own: Iterable[Uid] = ()
) -> Placement | None:
    """Return a new place for a single member, or None; its own reservation and those of `own` are given up first."""
    room = Room(snapshot)
    room.release({member.uid, *own})
    places = place(room, [member], ~_rows(snapshot, avoid), {})
    return Placement(member.uid, snapshot.names[places[0].node]) if places else None


def could_use(
    snapshot: Snapshot, shape: Shape, nodes: Iterable[NodeName], ignoring: Iterable[Uid] | None = None
) -> bool:
    """Whether kube-scheduler could place a foreign pod of the shape on any of these nodes.

    Without `ignoring` room does not matter, only the node's rules do. With it, there must be room once the reservations
    of those uids are taken away.
    """
    wanted = _rows(snapshot, nodes)
    if ignoring is None:
        return bool((snapshot.table.screen(shape.demand).admits & wanted).any())
    room = Room(snapshot)
    room.release(ignoring)
    return bool((room.capacity(shape.demand)[wanted] > 0).any())


def _rows(snapshot: Snapshot, names: Iterable[NodeName]) -> Mask:
    mask = np.zeros(len(snapshot.table), np.bool_)
    for name in names:
        if (at := snapshot.table.position.get(name)) is not None:
            mask[at] = True
    return mask
