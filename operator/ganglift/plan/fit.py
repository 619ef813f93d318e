"""One group against the room that is left: a place for every needed member, or the reasons why not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ganglift.plan.explain import explain
from ganglift.plan.nodes import Mask
from ganglift.plan.pack import pack, preference
from ganglift.plan.request import GroupRequest, Member
from ganglift.plan.shape import Demand
from ganglift.plan.snapshot import Room, Standing
from ganglift.plan.verdict import DoesNotFit, Fits, Placement


@dataclass(frozen=True, slots=True)
class Place:
    """A member on a row of the node table."""

    member: Member
    node: int


def fit(room: Room, group: GroupRequest) -> Fits | DoesNotFit:
    """Place the group's needed members in the room, all or none.

    Room that the group's own reservations hold is given up first, and they are preferred again where they still are of
    use, so that a plan that holds is not changed. Where the group does not fit, the room is left as it was.
    """
    released = room.release(group.own)
    usable = usable_nodes(room, group)
    before = len(room.taken)
    wanted = list(group.members[: group.need])
    places = place(room, wanted, usable, _former_nodes(room, group))
    if len(places) < len(wanted) and len(group.members) > group.need:
        room.give_back(len(room.taken) - before)
        places = _any_members(room, group, usable)
    if len(places) >= group.need:
        placements = tuple(Placement(p.member.uid, room.snapshot.names[p.node]) for p in places)
        return Fits(placements, unjudged_of(p.member for p in places))
    room.give_back(len(room.taken) - before)
    verdict = explain(room, group, len(places), _first_missing(group, places), usable)
    room.retake(released)
    return verdict


def place(room: Room, members: Sequence[Member], usable: Mask, former: dict[str, int]) -> list[Place]:
    """Take room for as many of the members as find any, hardest demand first; return them in the order given."""
    nodes: dict[str, int] = {}
    for demand, alike in by_demand(room, members):
        left = [member for member in alike if not _stays(room, member, usable, former, nodes)]
        capacity = np.where(usable, room.capacity(demand), 0)
        for member, node in zip(
            left, pack(capacity, preference(room, demand, capacity), len(left)).tolist(), strict=False
        ):
            room.take(member.shape, node)
            nodes[member.uid] = node
    return [Place(member, nodes[member.uid]) for member in members if member.uid in nodes]


def by_demand(room: Room, members: Iterable[Member]) -> list[tuple[Demand, list[Member]]]:
    """Return the members grouped by demand, the demand that takes the largest part of a node first."""
    groups: dict[Demand, list[Member]] = {}
    for member in members:
        groups.setdefault(member.shape.demand, []).append(member)
    return sorted(groups.items(), key=lambda item: (-size_of(room, item[0]), item[0].requests))


def size_of(room: Room, demand: Demand) -> int:
    """Return the largest share that the demand takes of what the biggest node offers, in millionths."""
    biggest = room.snapshot.allocatable.max(axis=0, initial=0)
    columns = room.snapshot.columns
    shares = (units * 1_000_000 // max(int(biggest[columns[r]]), 1) for r, units in demand.requests if r in columns)
    return max(shares, default=0)


def usable_nodes(room: Room, group: GroupRequest) -> Mask:
    """Return the nodes that the group as a whole may use."""
    usable = np.ones(len(room.snapshot.table), np.bool_)
    for name in group.avoid:
        if (at := room.snapshot.table.position.get(name)) is not None:
            usable[at] = False
    return usable


def unjudged_of(members: Iterable[Member]) -> tuple[str, ...]:
    """Return what the planner has no rule for in any of the members, each once."""
    return tuple(sorted({words for demand in {m.shape.demand for m in members} for words in demand.unjudged}))


def _former_nodes(room: Room, group: GroupRequest) -> dict[str, int]:
    standing: dict[str, Standing] = {uid: s for uid in group.own if (s := room.snapshot.standing.get(uid)) is not None}
    return {uid: one.node for uid, one in standing.items()}


def _stays(room: Room, member: Member, usable: Mask, former: dict[str, int], nodes: dict[str, int]) -> bool:
    """Put the member back where its reservation was, if that still is a place for it."""
    node = former.get(member.uid)
    if node is None or not usable[node] or not room.capacity(member.shape.demand)[node]:
        return False
    room.take(member.shape, node)
    nodes[member.uid] = node
    return True


def _any_members(room: Room, group: GroupRequest, usable: Mask) -> list[Place]:
    """Place `need` of the members, whichever are easiest, since the oldest ones do not fit."""
    smallest_first = sorted(group.members, key=lambda member: size_of(room, member.shape.demand))
    chosen = {member.uid for member in smallest_first[: group.need]}
    return place(room, [m for m in group.members if m.uid in chosen], usable, {})


def _first_missing(group: GroupRequest, places: Sequence[Place]) -> Member | None:
    placed = {p.member.uid for p in places}
    return next((member for member in group.members if member.uid not in placed), None)
