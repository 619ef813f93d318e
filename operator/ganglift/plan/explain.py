"""Why a group does not fit: causes counted over nodes, and the room that is there."""

import numpy as np

from ganglift.base.ids import NodeName
from ganglift.base.quantity import PODS
from ganglift.plan.nodes import Mask
from ganglift.plan.request import GroupRequest, Member
from ganglift.plan.shape import Demand
from ganglift.plan.snapshot import Room
from ganglift.plan.verdict import Cause, CauseCount, CauseKind, DoesNotFit, Hole

_MOST_BUSY = 20


def explain(room: Room, group: GroupRequest, fit: int, missing: Member | None, usable: Mask) -> DoesNotFit:
    """Return the verdict for a group of which `fit` members find a place and `missing` is the first that does not."""
    total = len(room.snapshot.table)
    unjudged = tuple(sorted({words for member in group.members for words in member.shape.demand.unjudged}))
    if missing is None:
        return DoesNotFit(group.need, fit, total, 0, (), unjudged=unjudged)
    demand = missing.shape.demand
    causes = causes_by_node(room, demand, usable)
    short = np.zeros(total, np.bool_)
    refused = np.zeros(total, np.bool_)
    for cause, nodes in causes:
        (short if cause.kind is CauseKind.INSUFFICIENT else refused)[nodes] = True
    return DoesNotFit(
        need=group.need,
        fit=fit,
        nodes=total,
        fitting_nodes=int((~short & ~refused).sum()),
        causes=tuple(sorted((CauseCount(cause, int(nodes.sum())) for cause, nodes in causes), key=_most_first)),
        hole=_hole(room, demand, ~refused),
        busy=_busy(room, demand, short & ~refused),
        unjudged=unjudged,
    )


def causes_by_node(room: Room, demand: Demand, usable: Mask) -> list[tuple[Cause, Mask]]:
    """Return every cause that keeps a pod of the demand off some node, with those nodes.

    A node's own rules and taken ports are told by the first that refuses; of room, every short resource is told.
    """
    screen = room.snapshot.table.screen(demand)
    causes = [(Cause(CauseKind.AVOIDED), ~usable)]
    causes += [(cause, usable & (screen.reasons == i)) for i, cause in enumerate(screen.causes)]
    admitted = usable & screen.admits
    if demand.ports:
        taken = admitted & room.conflicts(demand)
        causes.append((Cause(CauseKind.PORTS), taken))
        admitted &= ~taken
    for resource, short in room.insufficient(demand).items():
        causes.append((Cause(CauseKind.INSUFFICIENT, resource), admitted & short))
    return [(cause, nodes) for cause, nodes in causes if nodes.any()]


def _most_first(count: CauseCount) -> tuple[int, CauseKind, str]:
    return (-count.nodes, count.cause.kind, count.cause.subject)


def _hole(room: Room, demand: Demand, open_to: Mask) -> Hole | None:
    """Return what is free of the resource that is shortest on the nodes that the demand could use at all."""
    free = room.free()[open_to]
    best: tuple[int, Hole] | None = None
    for resource, units in demand.requests:
        column = room.snapshot.columns.get(resource)
        if resource == PODS or column is None:
            continue
        left = free[:, column]
        places = int((left // units).sum())
        hole = Hole(resource, units, int(left.sum()), int((left > 0).sum()), int(left.max(initial=0)))
        if best is None or places < best[0]:
            best = (places, hole)
    return best[1] if best is not None else None


def _busy(room: Room, demand: Demand, short: Mask) -> tuple[NodeName, ...]:
    """Return nodes, at most 20, that are short of room but would take the pod if they were empty."""
    enough = short.copy()
    for resource, units in demand.requests:
        column = room.snapshot.columns.get(resource)
        enough &= room.snapshot.allocatable[:, column] >= units if column is not None else False
    return tuple(room.snapshot.names[i] for i in np.flatnonzero(enough)[:_MOST_BUSY])
