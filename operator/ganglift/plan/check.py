"""Questions about a plan that is already made, or about pods that are not ours, on the newest snapshot."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ganglift.base.ids import NodeName, Uid
from ganglift.plan.explain import unjudged_of
from ganglift.plan.filters import causes_now
from ganglift.plan.nodes import Mask
from ganglift.plan.place import Ask, place
from ganglift.plan.relations import Relations
from ganglift.plan.request import Member
from ganglift.plan.room import Room
from ganglift.plan.shape import Shape
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.verdict import Cause, CauseKind, Pin, Placement


@dataclass(frozen=True, slots=True)
class Broken:
    """A planned place that does not hold any more, and why. No causes: the node is gone."""

    uid: Uid
    node: NodeName
    causes: tuple[Cause, ...] = field(default_factory=tuple)


def still_fits(
    snapshot: Snapshot,
    assignment: Sequence[tuple[Member, NodeName]],
    own: Iterable[Uid] = (),
    pins: Mapping[Uid, tuple[Pin, ...]] | None = None,
) -> tuple[Broken, ...]:
    """Return which of the planned places do not hold on this snapshot, in the order of the plan; nothing if all hold.

    Room that the members themselves hold, and that of `own`, does not count against them. Rules between pods are judged
    step by step, each member with only the earlier ones placed. `pins` are the domains that members were promised.
    """
    room = Room(snapshot)
    room.release({*own, *(member.uid for member, _ in assignment)})
    relations = Relations(room, (member.shape for member, _ in assignment))
    if not pins and _all_fit(room, relations, assignment):
        return ()
    broken = []
    for member, node in assignment:
        at = snapshot.table.position.get(node)
        if at is None:
            broken.append(Broken(member.uid, node))
            continue
        causes = _moved(snapshot, at, (pins or {}).get(member.uid, ()))
        if not _fits(room, relations, member, at):
            causes += causes_now(room, relations, member.shape, at)
        if causes:
            broken.append(Broken(member.uid, node, causes))
        else:
            room.take(member.shape, at)
            relations.put(relations.of[member.shape], at)
    return tuple(broken)


def _all_fit(room: Room, relations: Relations, assignment: Sequence[tuple[Member, NodeName]]) -> bool:
    """Whether members that are all alike and don't bear on each other hold, told by counting them by node.

    False says nothing. This is what nearly every gang is, and a gang of hundreds is checked on the event loop.
    """
    variants = {relations.of[member.shape] for member, _ in assignment}
    rows = [room.snapshot.table.position.get(node, -1) for _, node in assignment]
    if len(variants) != 1 or -1 in rows:
        return False
    (variant,) = variants
    demand = assignment[0][0].shape.demand
    if relations.moves(variant) or demand.exclusives or demand.claims:
        return False
    nodes, counts = np.unique(np.array(rows, np.intp), return_counts=True)
    has_room = bool((room.capacity(demand)[nodes] >= counts).all()) and room.most(demand) >= len(assignment)
    return has_room and bool(relations.allows(variant)[nodes].all())


def _fits(room: Room, relations: Relations, member: Member, node: int) -> bool:
    demand = member.shape.demand
    has_room = bool(room.capacity(demand)[node]) and room.most(demand) > 0
    return has_room and bool(relations.allows(relations.of[member.shape])[node])


def _moved(snapshot: Snapshot, node: int, pins: Iterable[Pin]) -> tuple[Cause, ...]:
    labels = snapshot.table.facts[node].labels
    return tuple(Cause(CauseKind.DOMAIN, key) for key, value in pins if labels.get(key) != value)


def replace_one(
    snapshot: Snapshot, member: Member, avoid: Iterable[NodeName] = (), own: Iterable[Uid] = ()
) -> Placement | None:
    """Return a new place for a single member, or None; its own reservation and those of `own` are given up first."""
    room = Room(snapshot)
    room.release({member.uid, *own})
    places = place(room, Ask([member], 1, ~_rows(snapshot, avoid))).places
    return Placement(member.uid, snapshot.names[places[0].node]) if places else None


def could_use(
    snapshot: Snapshot, shape: Shape, nodes: Iterable[NodeName], ignoring: Iterable[Uid] | None = None
) -> bool:
    """Whether kube-scheduler could place a foreign pod of the shape on any of these nodes.

    Without `ignoring` neither room nor other pods matter, only the nodes' own rules do. With it, there must be room
    once the reservations of those uids are taken away.
    """
    wanted = _rows(snapshot, nodes)
    if ignoring is None:
        return bool((snapshot.table.screen(shape.demand).admits & wanted).any())
    room = Room(snapshot)
    room.release(ignoring)
    return bool((room.capacity(shape.demand)[wanted] > 0).any())


def unjudged(snapshot: Snapshot, members: Iterable[Member]) -> tuple[str, ...]:
    """Return what the planner has no rule for in these members, in words: kube-scheduler may refuse because of it."""
    return unjudged_of(Room(snapshot), members)


def _rows(snapshot: Snapshot, names: Iterable[NodeName]) -> Mask:
    mask = np.zeros(len(snapshot.table), np.bool_)
    for name in names:
        if (at := snapshot.table.position.get(name)) is not None:
            mask[at] = True
    return mask
