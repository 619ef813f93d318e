"""The planner's books: what each node offers and which pod holds what on it, kept in step with every event.

An update costs microseconds whatever the size of the cluster, and a snapshot a few array copies, so the loop can take
one for each decision. Books built from a list of objects equal books that followed their events in any order.

A pod may name a node that does not exist, or no longer: it is remembered and counts as soon as the node is there again.
Not thread-safe; snapshots are.
"""

from collections.abc import Iterable
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ganglift.api.node import Node
from ganglift.api.pod import Pod, Quantities
from ganglift.base.ids import NodeName, Uid
from ganglift.base.quantity import PODS
from ganglift.plan.nodes import NodeFacts, NodeTable, facts_of
from ganglift.plan.requests import allocatable_of
from ganglift.plan.shape import Demand, HostPort, Shape, shape_of
from ganglift.plan.snapshot import Kind, Occupants, Snapshot, Standing

__all__ = ["Books", "Kind"]

_FIRST_ROWS = 64
_FIRST_COLUMNS = 8


class Books:
    """Mutable; see the module."""

    def __init__(self) -> None:
        self.version = 0
        """Counts the changes that can matter to placement."""
        self._facts: dict[NodeName, NodeFacts] = {}
        self._offered: dict[NodeName, Quantities] = {}
        self._rows = _Rows()
        self._columns: dict[str, int] = {PODS: 0}
        self._vectors: WeakKeyDictionary[Demand, tuple[tuple[int, int], ...]] = WeakKeyDictionary()
        self._allocatable = np.zeros((_FIRST_ROWS, _FIRST_COLUMNS), np.int64)
        self._used = np.zeros((_FIRST_ROWS, _FIRST_COLUMNS), np.int64)
        self._ports: dict[int, list[HostPort]] = {}
        self._pods = _Pods()
        self._table: NodeTable | None = None

    # Nodes

    def node_names(self) -> tuple[NodeName, ...]:
        """Return the names of all nodes there are."""
        return tuple(self._facts)

    def set_node(self, node: Node) -> bool:
        """Take a node as it is now; return whether that changed anything that matters to placement."""
        facts = facts_of(node)
        same_facts = self._facts.get(facts.name) == facts
        if same_facts and self._offered[facts.name] == node.status.allocatable:
            return False
        if not same_facts:
            self._facts[facts.name] = facts
            self._table = None
        self._offered[facts.name] = node.status.allocatable
        row = self._row(facts.name)
        offered = {self._column(name): units for name, units in allocatable_of(node.status.allocatable).items()}
        self._allocatable[row] = 0
        for column, units in offered.items():
            self._allocatable[row, column] = units
        self.version += 1
        return True

    def remove_node(self, name: str) -> bool:
        """Take the end of a node; pods that name it stay remembered. Return whether there was such a node."""
        if self._facts.pop(NodeName(name), None) is None:
            return False
        del self._offered[NodeName(name)]
        self._allocatable[self._rows.of[NodeName(name)]] = 0
        self._drop_if_empty(NodeName(name))
        self._table = None
        self.version += 1
        return True

    # Pods

    def place(self, pod: Pod, node: str, kind: Kind) -> bool:
        """Count the pod on the node; return whether that changed anything."""
        return self.place_shape(pod.uid, shape_of(pod), node, kind)

    def place_shape(self, uid: Uid, shape: Shape, node: str, kind: Kind) -> bool:
        """Count a pod of the shape on the node, instead of where it was counted before; return whether it changed."""
        slot = self._pods.slot.get(uid)
        if slot is not None:
            held = (self._pods.shapes[slot], self._rows.names[self._pods.rows[slot]], self._pods.kinds[slot])
            if held == (shape, node, kind):
                return False
            self.remove(uid)
        row = self._row(NodeName(node))
        self._pods.add(uid, shape, row, kind)
        self._count(shape.demand, row, 1)
        if shape.demand.ports:
            self._ports.setdefault(row, []).extend(shape.demand.ports)
        self.version += 1
        return True

    def remove(self, uid: Uid) -> bool:
        """Count the pod nowhere; return whether it was counted."""
        if uid not in self._pods.slot:
            return False
        shape, row = self._pods.drop(uid)
        self._count(shape.demand, row, -1)
        if shape.demand.ports:
            for port in shape.demand.ports:
                self._ports[row].remove(port)
            if not self._ports[row]:
                del self._ports[row]
        self._drop_if_empty(self._rows.names[row])
        self.version += 1
        return True

    def node_of(self, uid: Uid) -> NodeName | None:
        """Return the node a pod is counted on, or None."""
        slot = self._pods.slot.get(uid)
        return self._rows.names[self._pods.rows[slot]] if slot is not None else None

    def kind_of(self, uid: Uid) -> Kind | None:
        """Return how a pod holds its place, or None."""
        slot = self._pods.slot.get(uid)
        return Kind(self._pods.kinds[slot]) if slot is not None else None

    # Snapshots

    def snapshot(self) -> Snapshot:
        """Return the books as they are now, for good."""
        table = self._table
        if table is None:
            table = self._table = NodeTable(self._facts.values())
        rows = np.fromiter((self._rows.of[name] for name in table.names), np.intp, len(table))
        position = np.full(self._rows.size, -1, np.int32)
        position[rows] = np.arange(len(rows), dtype=np.int32)
        width = len(self._columns)
        return Snapshot(
            table=table,
            columns=dict(self._columns),
            allocatable=self._allocatable[rows, :width],
            used=self._used[rows, :width],
            ports={int(position[row]): tuple(ports) for row, ports in self._ports.items() if position[row] >= 0},
            standing=self._pods.standing(position),
            occupants=self._pods.occupants(position),
            version=self.version,
        )

    # Internals

    def _row(self, name: NodeName) -> int:
        row = self._rows.get(name)
        if row >= len(self._used):
            more = np.zeros_like(self._used)
            self._used = np.concatenate((self._used, more))
            self._allocatable = np.concatenate((self._allocatable, more))
        return row

    def _drop_if_empty(self, name: NodeName) -> None:
        row = self._rows.of[name]
        if name not in self._facts and not self._used[row, self._columns[PODS]]:
            self._rows.drop(name)

    def _column(self, resource: str) -> int:
        column = self._columns.setdefault(resource, len(self._columns))
        if column >= self._used.shape[1]:
            more = np.zeros_like(self._used)
            self._used = np.concatenate((self._used, more), axis=1)
            self._allocatable = np.concatenate((self._allocatable, more), axis=1)
        return column

    def _count(self, demand: Demand, row: int, times: int) -> None:
        vector = self._vectors.get(demand)
        if vector is None:
            vector = self._vectors[demand] = tuple((self._column(name), units) for name, units in demand.requests)
        for column, units in vector:
            self._used[row, column] += units * times


class _Rows:
    """Which row of the arrays is which node name. Rows of names nobody uses are used again."""

    def __init__(self) -> None:
        self.of: dict[NodeName, int] = {}
        self.names: list[NodeName] = []
        self._unused: list[int] = []

    @property
    def size(self) -> int:
        return len(self.names)

    def get(self, name: NodeName) -> int:
        row = self.of.get(name)
        if row is None:
            if self._unused:
                row = self._unused.pop()
                self.names[row] = name
            else:
                row = len(self.names)
                self.names.append(name)
            self.of[name] = row
        return row

    def drop(self, name: NodeName) -> None:
        self._unused.append(self.of.pop(name))


class _Pods:
    """All pods that hold a place, in slots of parallel arrays; a free slot has row -1 and no shape."""

    def __init__(self) -> None:
        self.slot: dict[Uid, int] = {}
        self.rows: NDArray[np.int32] = np.full(_FIRST_ROWS, -1, np.int32)
        self.kinds: NDArray[np.int8] = np.zeros(_FIRST_ROWS, np.int8)
        self.shapes: list[Shape | None] = []
        self.uids: list[Uid] = []
        self._standing: set[Uid] = set()
        self._unused: list[int] = []

    def add(self, uid: Uid, shape: Shape, row: int, kind: Kind) -> None:
        slot = self._unused.pop() if self._unused else self._grow()
        self.slot[uid] = slot
        self.rows[slot] = row
        self.kinds[slot] = kind
        self.shapes[slot] = shape
        self.uids[slot] = uid
        if kind >= Kind.LIFTED:
            self._standing.add(uid)

    def drop(self, uid: Uid) -> tuple[Shape, int]:
        slot = self.slot.pop(uid)
        shape, row = self.shapes[slot], int(self.rows[slot])
        assert shape is not None
        self.rows[slot] = -1
        self.shapes[slot] = None
        self.uids[slot] = Uid("")
        self._standing.discard(uid)
        self._unused.append(slot)
        return shape, row

    def occupants(self, position: NDArray[np.int32]) -> Occupants:
        size = len(self.shapes)
        rows = self.rows[:size]
        nodes = np.where(rows >= 0, position[rows] if len(position) else -1, -1).astype(np.int32)
        return Occupants(nodes, self.kinds[:size].copy(), tuple(self.shapes), tuple(self.uids))

    def standing(self, position: NDArray[np.int32]) -> dict[Uid, Standing]:
        slots = ((uid, self.slot[uid]) for uid in self._standing)
        return {
            uid: Standing(int(position[self.rows[slot]]), shape, Kind(self.kinds[slot]))
            for uid, slot in slots
            if position[self.rows[slot]] >= 0 and (shape := self.shapes[slot]) is not None
        }

    def _grow(self) -> int:
        slot = len(self.shapes)
        if slot >= len(self.rows):
            self.rows = np.concatenate((self.rows, np.full_like(self.rows, -1)))
            self.kinds = np.concatenate((self.kinds, np.zeros_like(self.kinds)))
        self.shapes.append(None)
        self.uids.append(Uid(""))
        return slot


def books_of(nodes: Iterable[Node], held: Iterable[tuple[Pod, str, Kind]] = ()) -> Books:
    """Return books built from full lists."""
    books = Books()
    for node in nodes:
        books.set_node(node)
    for pod, name, kind in held:
        books.place(pod, name, kind)
    return books
