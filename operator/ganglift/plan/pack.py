"""Which nodes a number of like pods go to.

Like pods pack exactly by counting: a node takes `capacity` of them whatever the others take. The only choice is which
nodes to use, and it is made so that what is left is worth most to the next gang: nodes that are in use already before
whole ones, tight holes before wide ones, nodes without scarce devices before those whose devices the pod does not ask
for, nodes with a PreferNoSchedule taint last. Ties go by name, so that plans are deterministic.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ganglift.plan.nodes import Codes, Mask
from ganglift.plan.room import Room
from ganglift.plan.shape import Demand
from ganglift.plan.snapshot import Counts

Order = NDArray[np.intp]

_WHOLE, _WASTES_DEVICES, _SOFT_TAINT = 1, 2, 4


def preference(room: Room, demand: Demand, capacity: Counts, near: Codes | None = None, most: int = 0) -> Order:
    """Return the nodes that take any pod of the demand, best first; only the best `most` of them where that is given.

    With `near`, domains by node (-1: none), whole domains come one after another, the one with most room first, so that
    pods end up in few of them.
    """
    nodes = np.flatnonzero(capacity)
    if near is not None and len(nodes):
        return _domain_by_domain(room, demand, capacity, near, nodes)
    costs = (_classes(room, demand)[nodes] << _CLASS) + (np.minimum(capacity[nodes], _TIGHTEST) << _CAPACITY) + nodes
    if 0 < most < len(nodes):
        best = np.argpartition(costs, most)[:most]
        nodes, costs = nodes[best], costs[best]
    return nodes[np.argsort(costs)]


def _domain_by_domain(room: Room, demand: Demand, capacity: Counts, near: Codes, nodes: Order) -> Order:
    codes = near[nodes]
    room_in = np.bincount(codes + 1, weights=capacity[nodes]).astype(np.int64)
    keys = (nodes, capacity[nodes], _classes(room, demand)[nodes], codes, -room_in[codes + 1])
    return nodes[np.lexsort(keys)]


# One number to sort by: class, then capacity, then the node itself. Holes beyond a million pods are all alike.
_CLASS, _CAPACITY, _TIGHTEST = 44, 24, (1 << 20) - 1


def pack(capacity: Counts, order: Order, count: int) -> Order:
    """Return a node for each of `count` like pods, node after node in that order; fewer where there is no more room."""
    fill = capacity[order]
    last = int(np.searchsorted(np.cumsum(fill), count)) + 1
    return np.repeat(order[:last], fill[:last])[:count]


def _classes(room: Room, demand: Demand) -> NDArray[np.int64]:
    """Cost class by node, the lower the better."""
    costs = room.costs.get(demand)
    if costs is None:
        costs = room.costs[demand] = _costs(room, demand)
    return costs + is_whole(room, (demand,)) * _WHOLE


def _costs(room: Room, demand: Demand) -> NDArray[np.int64]:
    """The part of a node's cost class that nothing placed can change."""
    asked = {name for name, _ in demand.requests}
    costs = np.zeros(len(room.snapshot.table), np.int64)
    for name, column in room.snapshot.columns.items():
        if is_device(name) and name not in asked:
            costs |= np.where(room.snapshot.allocatable[:, column] > 0, _WASTES_DEVICES, 0)
    return costs | np.where(room.snapshot.table.softly_tainted(demand), _SOFT_TAINT, 0)


def is_whole(room: Room, demands: Iterable[Demand]) -> Mask:
    """Return the nodes with a device that one of the demands asks for, none of them in use."""
    snapshot = room.snapshot
    asked = {name for demand in demands for name, _ in demand.requests if name in snapshot.columns and is_device(name)}
    whole = np.zeros(len(snapshot.table), np.bool_)
    for name in asked:
        column = snapshot.columns[name]
        whole |= (snapshot.allocatable[:, column] > 0) & (room.used[:, column] == 0)
    return whole


def is_device(resource: str) -> bool:
    """Whether a resource is one that vendors define, such as a GPU: scarce, and on some nodes only."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io")
