"""One pod on one node: every reason why not. This is what is compared with kube-scheduler, pair by pair."""

import numpy as np

from ganglift.base.ids import NodeName
from ganglift.plan.relations import Relations
from ganglift.plan.room import Room, room_causes
from ganglift.plan.shape import Shape
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.verdict import Cause


def check(snapshot: Snapshot, shape: Shape, node: NodeName) -> tuple[Cause, ...]:
    """Return why the node can't take a pod of the shape; nothing if it can. KeyError where there is no such node."""
    room = Room(snapshot)
    return causes_now(room, Relations(room, (shape,)), shape, snapshot.table.position[node])


def causes_now(room: Room, relations: Relations, shape: Shape, node: int) -> tuple[Cause, ...]:
    """Return why the node, a row of the table, can't take a pod of the shape as room and rules are now."""
    usable = np.ones(len(room.snapshot.table), np.bool_)
    causes = room_causes(room, shape.demand, usable) + relations.causes(relations.of[shape])
    return tuple(cause for cause, nodes in causes if nodes[node])
