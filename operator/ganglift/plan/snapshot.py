"""The cluster at one moment, immutable, and the room a planning pass works in.

Rows of all arrays are nodes in name order, columns are resources. A `Snapshot` may be shared between threads. A `Room`
is one pass's own copy: what is taken in it is seen by everything planned later, and can be given back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ganglift.base.ids import NodeName, Uid
from ganglift.plan.nodes import Mask, NodeTable
from ganglift.plan.shape import Demand, HostPort, Shape

Counts = NDArray[np.int64]

_ANY_ADDRESS = "0.0.0.0"


class Kind(IntEnum):
    """How a pod holds its place.

    BOUND and TERMINATING have it. LIFTED are ungated and may be bound any moment, ASSUMED are being given a place by
    us, RESERVED are gated and nominated, PINNED are pending and can go to that one node only, as a DaemonSet's pods.
    """

    BOUND = 0
    TERMINATING = 1
    LIFTED = 2
    ASSUMED = 3
    RESERVED = 4
    PINNED = 5


class Standing(NamedTuple):
    """A pod that holds room on a node without being bound to it."""

    node: int
    shape: Shape
    kind: Kind


@dataclass(frozen=True, slots=True, eq=False)
class Occupants:
    """All pods that hold a place on a node there is. `nodes` are rows of the table, -1 where the node is unknown."""

    nodes: NDArray[np.int32]
    kinds: NDArray[np.int8]
    shapes: tuple[Shape | None, ...]
    uids: tuple[Uid, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Nodes, what they offer, and who is on them. `allocatable` and `used` are units, nodes x resources."""

    table: NodeTable
    columns: Mapping[str, int]
    allocatable: Counts
    used: Counts
    ports: Mapping[int, tuple[HostPort, ...]]
    standing: Mapping[Uid, Standing]
    occupants: Occupants
    version: int = 0

    @property
    def names(self) -> tuple[NodeName, ...]:
        return self.table.names

    def holders(self, node: NodeName) -> tuple[Uid, ...]:
        """Return the uids of all pods that hold a place on the node, sorted."""
        at = self.table.position.get(node, -2)
        return tuple(sorted(self.occupants.uids[i] for i in np.flatnonzero(self.occupants.nodes == at)))


class Room:
    """What is left of a snapshot while a pass takes from it. Not thread-safe."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.used = snapshot.used.copy()
        self.taken: list[tuple[Shape, int]] = []
        self._ports = dict(snapshot.ports)
        self._capacity: dict[Demand, tuple[Counts, int]] = {}
        self._touched: list[int] = []
        self._vectors: dict[Demand, tuple[NDArray[np.intp], Counts, int]] = {}

    def free(self) -> Counts:
        """Return what is left by node and resource; a node that has shrunk below its use has nothing, never less."""
        free: Counts = np.maximum(self.snapshot.allocatable - self.used, 0)
        return free

    def capacity(self, demand: Demand) -> Counts:
        """Return how many pods of this demand each node takes by its own rules, room and ports. Read only."""
        known = self._capacity.get(demand)
        if known is None:
            counts = self._fitting(demand, slice(None))
            counts[~self.snapshot.table.screen(demand).admits] = 0
        else:
            counts, seen = known
            if seen < len(self._touched):
                rows = np.unique(np.array(self._touched[seen:], np.intp))
                admits = self.snapshot.table.screen(demand).admits[rows]
                counts[rows] = np.where(admits, self._fitting(demand, rows), 0)
        self._capacity[demand] = (counts, len(self._touched))
        return counts

    def take(self, shape: Shape, node: int) -> None:
        """Count a pod of the shape on the node from now on."""
        columns, units, _ = self._vector(shape.demand)
        self.used[node, columns] += units
        self.taken.append((shape, node))
        self._touch(node, self._ports.get(node, ()) + shape.demand.ports if shape.demand.ports else None)

    def give_back(self, count: int) -> None:
        """Undo the last `count` takes."""
        for _ in range(count):
            shape, node = self.taken.pop()
            self._free(shape, node)

    def release(self, uids: Iterable[Uid]) -> list[Standing]:
        """Give up the room that these pods hold without being bound; return what was given up."""
        released = [self.snapshot.standing[uid] for uid in sorted(uids) if uid in self.snapshot.standing]
        for standing in released:
            self._free(standing.shape, standing.node)
        return released

    def retake(self, standing: Iterable[Standing]) -> None:
        """Count released room as held again."""
        for one in standing:
            columns, units, _ = self._vector(one.shape.demand)
            self.used[one.node, columns] += units
            self._touch(one.node, self._ports.get(one.node, ()) + one.shape.demand.ports)

    def _free(self, shape: Shape, node: int) -> None:
        columns, units, _ = self._vector(shape.demand)
        self.used[node, columns] -= units
        ports = list(self._ports.get(node, ()))
        for port in shape.demand.ports:
            ports.remove(port)
        self._touch(node, tuple(ports))

    def _touch(self, node: int, ports: tuple[HostPort, ...] | None) -> None:
        if ports is not None:
            self._ports[node] = ports
        self._touched.append(node)

    def _fitting(self, demand: Demand, rows: slice | NDArray[np.intp]) -> Counts:
        columns, units, missing = self._vector(demand)
        allocatable = self.snapshot.allocatable[rows]
        if missing:
            return np.zeros(len(allocatable), np.int64)
        left = np.maximum(allocatable[:, columns] - self.used[rows][:, columns], 0)
        counts: Counts = (left // units).min(axis=1)
        if demand.ports:
            np.minimum(counts, 1, out=counts)
            counts[self.conflicts(demand)[rows]] = 0
        return counts

    def conflicts(self, demand: Demand) -> Mask:
        """Return the nodes on which a host port that the demand wants is taken."""
        mask = np.zeros(len(self.snapshot.table), np.bool_)
        for node, taken in self._ports.items():
            mask[node] = any(_collide(wanted, port) for wanted in demand.ports for port in taken)
        return mask

    def insufficient(self, demand: Demand) -> dict[str, Mask]:
        """Return, by resource asked for, the nodes that have too little of it left, the pod slot included."""
        free = self.free()
        short: dict[str, Mask] = {}
        for resource, units in demand.requests:
            column = self.snapshot.columns.get(resource)
            short[resource] = free[:, column] < units if column is not None else np.ones(len(free), np.bool_)
        return short

    def _vector(self, demand: Demand) -> tuple[NDArray[np.intp], Counts, int]:
        """Columns and units of the demand, and how many of its resources no node and no pod has ever named."""
        vector = self._vectors.get(demand)
        if vector is None:
            known = [
                (self.snapshot.columns[name], units) for name, units in demand.requests if name in self.snapshot.columns
            ]
            columns = np.array([column for column, _ in known], np.intp)
            units = np.array([units for _, units in known], np.int64)
            vector = self._vectors[demand] = (columns, units, len(demand.requests) - len(known))
        return vector


def _collide(a: HostPort, b: HostPort) -> bool:
    """Whether two host ports exclude each other: same port and protocol, and one address or any address."""
    return a.port == b.port and a.protocol == b.protocol and (a.ip == b.ip or _ANY_ADDRESS in (a.ip, b.ip))
