"""One pod on one node: every reason why not. This is what is compared with kube-scheduler, pair by pair."""

import numpy as np

from ganglift.base.ids import NodeName
from ganglift.plan.explain import causes_by_node
from ganglift.plan.shape import Shape
from ganglift.plan.snapshot import Room, Snapshot
from ganglift.plan.verdict import Cause


def check(where: Snapshot | Room, shape: Shape, node: NodeName) -> tuple[Cause, ...]:
    """Return why the node can't take a pod of the shape; nothing if it can. KeyError where there is no such node."""
    room = where if isinstance(where, Room) else Room(where)
    at = room.snapshot.table.position[node]
    usable = np.ones(len(room.snapshot.table), np.bool_)
    return tuple(cause for cause, nodes in causes_by_node(room, shape.demand, usable) if nodes[at])
