"""Members kept together in domains of node labels, as `schedulingConstraints.topology` asks.

Levels are given outermost first. At each level the members, or each slice of them, go into one domain; the domains of
the next level are looked for inside it. Of the domains that may hold them, the tightest is tried first, so that big
ones stay free. Where a Preferred level can't be had it is dropped, the innermost first, and members are still packed
into few of its domains.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ganglift.api.scheduling import TopologyConstraint
from ganglift.plan.attempt import Attempt
from ganglift.plan.domains import places_in, roomy
from ganglift.plan.nodes import Codes, Column, Mask
from ganglift.plan.place import Ask, Former, place
from ganglift.plan.request import GroupRequest, Member
from ganglift.plan.room import Room
from ganglift.plan.shape import Demand
from ganglift.plan.verdict import Pin


@dataclass(frozen=True, slots=True)
class Inside:
    """What was looked at last, for the explanation: the nodes, and the domain that held most where none held all."""

    attempt: Attempt
    usable: Mask
    missed: TopologyConstraint | None = None
    domain: str = ""


@dataclass(frozen=True, slots=True)
class _Task:
    """One group's placing: what is the same at all levels. `near` are domains of a dropped level."""

    room: Room
    group: GroupRequest
    former: Former
    near: Codes | None = None


def place_together(room: Room, group: GroupRequest, members: Sequence[Member], usable: Mask, former: Former) -> Inside:
    """Place the members, `need` at least, as the group's topology asks; what was placed is taken."""
    before = len(room.taken)
    inside = None
    for levels, near in _relaxed(room, group.topology):
        room.give_back(len(room.taken) - before)
        inside = _at_level(_Task(room, group, former, near), levels, members, usable, 1)
        if len(inside.attempt.places) >= min(group.need, len(members)):
            break
    assert inside is not None, "there is at least one way to relax"
    return inside


def pins_of(room: Room, group: GroupRequest, node: int) -> tuple[Pin, ...]:
    """Return the labels that keep a member in its domains: those of all Required levels."""
    if not group.topology:
        return ()
    labels = room.snapshot.table.facts[node].labels
    return tuple((one.key, labels[one.key]) for one in group.topology if one.mode == "Required" and one.key in labels)


def _relaxed(
    room: Room, topology: tuple[TopologyConstraint, ...]
) -> Iterator[tuple[tuple[TopologyConstraint, ...], Codes | None]]:
    """Yield the levels to keep to, and the domains of the outermost level that was dropped."""
    yield topology, None
    levels = topology
    for at in range(len(topology) - 1, -1, -1):
        if topology[at].mode != "Required":
            levels = levels[:at] + levels[at + 1 :]
            yield levels, room.snapshot.table.column(topology[at].key).codes


def _at_level(
    task: _Task, levels: tuple[TopologyConstraint, ...], members: Sequence[Member], usable: Mask, outer: int
) -> Inside:
    """Place the members within these levels; `outer` is into how many slices the levels above have split the gang."""
    if not levels:
        need = min(task.group.need, len(members)) if outer == 1 else len(members)
        return Inside(place(task.room, Ask(members, need, usable, task.former, task.near)), usable)
    slices = max((levels[0].slices or 1) // outer, 1)
    if slices == 1:
        return _in_one_domain(task, levels, members, usable, outer)
    done: Inside | None = None
    for part in _split(members[: task.group.need] if outer == 1 else members, slices):
        one = _in_one_domain(task, levels, part, usable, outer * slices)
        done = _joined(done, one)
        if len(one.attempt.places) < len(part):
            break
    assert done is not None, "there is at least one slice"
    return done


def _in_one_domain(
    task: _Task, levels: tuple[TopologyConstraint, ...], members: Sequence[Member], usable: Mask, outer: int
) -> Inside:
    room, level, inner = task.room, levels[0], levels[1:]
    column = room.snapshot.table.column(level.key)
    need = min(task.group.need, len(members)) if outer == 1 else len(members)
    usable = usable & _anchored(task, column) if (level.slices or 1) == 1 else usable
    wanted = Counter(member.shape.demand for member in members)
    before = len(room.taken)
    for code in roomy(room, wanted, need, usable, column.codes):
        inside = _at_level(task, inner, members, usable & (column.codes == code), outer)
        if len(inside.attempt.places) >= need:
            return inside
        room.give_back(len(room.taken) - before)
    best = _most_room(room, wanted, usable, column)
    inside = _at_level(task, inner, members, usable & (column.codes == best), outer)
    if inside.missed is not None:
        return inside
    return replace(inside, missed=level, domain=column.values[best] if best >= 0 else "")


def _anchored(task: _Task, column: Column) -> Mask:
    """The nodes in domains where members are already, any node where there are none or they have no such label."""
    position = task.room.snapshot.table.position
    nodes = [position[name] for name in task.group.anchors.values() if name in position]
    codes = sorted({int(column.codes[node]) for node in nodes} - {-1})
    return np.isin(column.codes, codes) if codes else np.ones(len(column.codes), np.bool_)


def _most_room(room: Room, wanted: Counter[Demand], usable: Mask, column: Column) -> int:
    """The domain that holds most of what is wanted; -2, which is none, where there is no domain."""
    if not column.values:
        return -2
    held = np.zeros(len(column.values), np.int64)
    for demand, count in wanted.items():
        held += np.minimum(places_in(room, demand, usable, column.codes, len(column.values)), count)
    return int(np.argmax(held))


def _split(members: Sequence[Member], slices: int) -> Iterator[Sequence[Member]]:
    """Yield slices of equal size, in the order of the members; where that leaves a rest, the first are one larger."""
    size, rest = divmod(len(members), slices)
    start = 0
    for i in range(slices):
        end = start + size + (i < rest)
        if end > start:
            yield members[start:end]
        start = end


def _joined(first: Inside | None, second: Inside) -> Inside:
    if first is None:
        return second
    a, b = first.attempt, second.attempt
    attempt = Attempt(
        (*a.places, *b.places),
        b.relations,
        a.proven and b.proven,
        a.in_sequence or b.in_sequence,
        a.held_back | b.held_back,
    )
    return replace(second, attempt=attempt)
