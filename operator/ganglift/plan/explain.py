"""Why a group does not fit: causes counted over nodes, the room that is there, and what would help.

Told on the room as the best attempt left it: nodes that took a member fit, and every other node says why it takes no
further one.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from ganglift.base.ids import NodeName
from ganglift.base.quantity import PODS
from ganglift.plan.nearmiss import near_misses
from ganglift.plan.nodes import Mask
from ganglift.plan.pack import is_device
from ganglift.plan.request import GroupRequest, Member
from ganglift.plan.room import Room, Taken, room_causes
from ganglift.plan.shape import Demand
from ganglift.plan.snapshot import Counts
from ganglift.plan.topology import Inside
from ganglift.plan.verdict import Cause, CauseCount, CauseKind, DoesNotFit, DomainMiss, Hole

_MOST_BUSY = 20


def explain(room: Room, group: GroupRequest, inside: Inside, usable: Mask) -> DoesNotFit:
    """Return the verdict for a group whose best attempt is taken in the room."""
    total, fit = len(room.snapshot.table), len(inside.attempt.places)
    unjudged = unjudged_of(room, group.members)
    placed = {place.member.uid for place in inside.attempt.places}
    left_out = [member for member in group.members if member.uid not in placed]
    if not left_out:
        taken_by = len({place.node for place in inside.attempt.places})
        return DoesNotFit(group.need, fit, total, taken_by, (), unjudged=unjudged, absent=group.need - fit)
    missing = left_out[0]
    demand = missing.shape.demand
    own = room.taken[room.group_start :]
    taken = np.zeros(total, np.bool_)
    taken[[place.node for place in inside.attempt.places]] = True
    causes = _causes(room, missing, inside, usable)
    short, refused = _short_and_refused(causes, total)
    return DoesNotFit(
        need=group.need,
        fit=fit,
        nodes=total,
        fitting_nodes=int(taken.sum()),
        causes=_counted(causes, ~taken),
        hole=None if inside.attempt.in_sequence else _hole(room, demand, inside.usable & ~refused, room.used_by(own)),
        near_misses=near_misses(room, group.need - fit, demand, usable, room.used_by([*own, *_anchored(room, group)]))
        if _is_countable(inside, left_out)
        else (),
        domain=_domain(room, inside),
        busy=_busy(room, demand, short & ~refused),
        proven=inside.attempt.proven,
        unjudged=unjudged,
        closed=_counted(causes, taken) if inside.attempt.in_sequence else (),
    )


def unjudged_of(room: Room, members: Iterable[Member]) -> tuple[str, ...]:
    """Return what the planner has no rule for in any of the members, each once."""
    demands = {member.shape.demand for member in members}
    return tuple(sorted({words for demand in demands for words in room.unjudged(demand)}))


def _is_countable(inside: Inside, missing: Sequence[Member]) -> bool:
    """Whether counting tells what would help: members of one demand are missing, and nothing but room is in the way."""
    demands = {member.shape.demand for member in missing}
    return inside.missed is None and not inside.attempt.in_sequence and len(demands) == 1


def _anchored(room: Room, group: GroupRequest) -> list[Taken]:
    """The group's members that hold a place already: what they hold can't come free for the others."""
    if not group.anchors:
        return []
    occupants, position = room.snapshot.occupants, room.snapshot.table.position
    rows = sorted({position[name] for name in group.anchors.values() if name in position})
    slots = np.flatnonzero(np.isin(occupants.nodes, rows)).tolist()
    found = (
        (occupants.shapes[slot], int(occupants.nodes[slot])) for slot in slots if occupants.uids[slot] in group.anchors
    )
    return [Taken(shape, node) for shape, node in found if shape is not None]


def _causes(room: Room, missing: Member, inside: Inside, usable: Mask) -> list[tuple[Cause, Mask]]:
    causes = room_causes(room, missing.shape.demand, usable)
    if inside.missed is not None:
        causes.append((Cause(CauseKind.DOMAIN, inside.missed.key), usable & ~inside.usable))
    relations = inside.attempt.relations
    variant = relations.of.get(missing.shape)
    left = inside.usable.copy()
    for _, nodes in causes:
        left &= ~nodes
    for cause, nodes in relations.causes(variant) if variant is not None else ():
        causes.append((cause, left & nodes))
        left &= ~nodes
    return causes


def _short_and_refused(causes: list[tuple[Cause, Mask]], total: int) -> tuple[Mask, Mask]:
    short, refused = np.zeros(total, np.bool_), np.zeros(total, np.bool_)
    for cause, nodes in causes:
        (short if cause.kind is CauseKind.INSUFFICIENT else refused)[nodes] = True
    return short, refused


def _counted(causes: list[tuple[Cause, Mask]], where: Mask) -> tuple[CauseCount, ...]:
    counts = (CauseCount(cause, int((nodes & where).sum())) for cause, nodes in causes)
    return tuple(sorted((count for count in counts if count.nodes), key=_most_first))


def _most_first(count: CauseCount) -> tuple[int, CauseKind, str]:
    return (-count.nodes, count.cause.kind, count.cause.subject)


def _domain(room: Room, inside: Inside) -> DomainMiss | None:
    if inside.missed is None:
        return None
    return DomainMiss(inside.missed.key, inside.domain, len(room.snapshot.table.column(inside.missed.key).values))


def _hole(room: Room, demand: Demand, open_to: Mask, own: Counts) -> Hole | None:
    """Return what is free of the resource that is shortest on the nodes that the demand could use, and on the others.

    Told as it was before the attempt: with the room that its members took in it counted as free.
    """
    room_before = np.maximum(room.snapshot.allocatable - (room.used - own), 0)
    asked = [(name, units) for name, units in demand.requests if name != PODS and name in room.snapshot.columns]
    if not asked:
        return None
    left = {name: room_before[:, room.snapshot.columns[name]] for name, _ in asked}
    places = {name: int((left[name][open_to] // units).sum()) for name, units in asked}
    resource, units = min(asked, key=lambda request: (places[request[0]], not is_device(request[0])))
    found, closed = left[resource][open_to], left[resource][~open_to]
    return Hole(
        resource=resource,
        asked=units,
        free=int(found.sum()),
        nodes=int((found > 0).sum()),
        largest=int(found.max(initial=0)),
        closed_free=int(closed.sum()),
        closed_nodes=int((closed > 0).sum()),
    )


def _busy(room: Room, demand: Demand, short: Mask) -> tuple[NodeName, ...]:
    """Return nodes, at most 20, that are short of room but would take the pod if they were empty."""
    enough = short.copy()
    for resource, units in demand.requests:
        column = room.snapshot.columns.get(resource)
        enough &= room.snapshot.allocatable[:, column] >= units if column is not None else False
    return tuple(room.snapshot.names[i] for i in np.flatnonzero(enough)[:_MOST_BUSY])
