"""The planner's books: what each node offers and which pod holds what on it, kept in step with every event.

An update costs microseconds whatever the size of the cluster, and a snapshot a few array copies, so the loop can take
one for each decision. Books built from a list of objects equal books that followed their events in any order.

A pod may name a node that does not exist, or no longer: it is remembered and counts as soon as the node is there again.
Not thread-safe; snapshots are.
"""

from collections.abc import Mapping
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ganglift.api.node import Node
from ganglift.api.pod import Pod, Quantities
from ganglift.api.storage import Namespace
from ganglift.base.ids import NodeName, Uid
from ganglift.base.quantity import PODS
from ganglift.plan.ledger import Ledger
from ganglift.plan.nodes import NodeFacts, NodeTable, facts_of
from ganglift.plan.requests import allocatable_of
from ganglift.plan.room import without
from ganglift.plan.shape import ClaimKey, Demand, Exclusive, Shape, shape_of
from ganglift.plan.slots import Rows, Slots
from ganglift.plan.snapshot import Kind, Snapshot
from ganglift.plan.terms import implied_labels

__all__ = ["Books", "Kind"]

_FIRST_ROWS = 64
_FIRST_COLUMNS = 8


class Books:
    """See the module. `ledger` is told of claims, volumes, namespaces and device classes."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self._changes = 0
        self._facts: dict[NodeName, NodeFacts] = {}
        self._offered: dict[NodeName, Quantities] = {}
        self._rows = Rows()
        self._columns: dict[str, int] = {PODS: 0}
        self._vectors: WeakKeyDictionary[Demand, tuple[tuple[int, int], ...]] = WeakKeyDictionary()
        self._allocatable = np.zeros((_FIRST_ROWS, _FIRST_COLUMNS), np.int64)
        self._used = np.zeros((_FIRST_ROWS, _FIRST_COLUMNS), np.int64)
        self._exclusives: dict[int, tuple[Exclusive, ...]] = {}
        self._claims: dict[int, tuple[ClaimKey, ...]] = {}
        self._pods = Slots()
        self._table: NodeTable | None = None
        self._order: NDArray[np.intp] = np.zeros(0, np.intp)

    @property
    def version(self) -> int:
        """Counts the changes that can matter to placement."""
        return self._changes + self.ledger.version

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
        self._changes += 1
        return True

    def remove_node(self, name: str) -> bool:
        """Take the end of a node; pods that name it stay remembered. Return whether there was such a node."""
        known = NodeName(name)
        if self._facts.pop(known, None) is None:
            return False
        del self._offered[known]
        self._allocatable[self._rows.of[known]] = 0
        self._drop_if_empty(known)
        self._table = None
        self._changes += 1
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
        demand = shape.demand
        self._pods.add(uid, shape, row, kind)
        self._count(demand, row, 1)
        if demand.exclusives:
            self._exclusives[row] = self._exclusives.get(row, ()) + demand.exclusives
        if demand.claims:
            self._claims[row] = self._claims.get(row, ()) + demand.claims
        self._changes += 1
        return True

    def remove(self, uid: Uid) -> bool:
        """Count the pod nowhere; return whether it was counted."""
        if uid not in self._pods.slot:
            return False
        shape, row = self._pods.drop(uid)
        self._count(shape.demand, row, -1)
        if shape.demand.exclusives:
            _take_away(self._exclusives, row, shape.demand.exclusives)
        if shape.demand.claims:
            _take_away(self._claims, row, shape.demand.claims)
        self._drop_if_empty(self._rows.names[row])
        self._changes += 1
        return True

    def node_of(self, uid: Uid) -> NodeName | None:
        """Return the node a pod is counted on, or None."""
        slot = self._pods.slot.get(uid)
        return self._rows.names[self._pods.rows[slot]] if slot is not None else None

    def kind_of(self, uid: Uid) -> Kind | None:
        """Return how a pod holds its place, or None."""
        slot = self._pods.slot.get(uid)
        return Kind(self._pods.kinds[slot]) if slot is not None else None

    def has_pods_in(self, namespace: str) -> bool:
        """Whether pods of the namespace have been counted."""
        return self._pods.knows(namespace)

    # Snapshots

    def snapshot(self) -> Snapshot:
        """Return the books as they are now, for good."""
        table = self._table
        if table is None:
            table = self._table = NodeTable(self._facts.values())
            self._order = np.fromiter((self._rows.of[name] for name in table.names), np.intp, len(table))
        position = np.full(len(self._rows.names), -1, np.int32)
        position[self._order] = np.arange(len(self._order), dtype=np.int32)
        width = len(self._columns)
        return Snapshot(
            table=table,
            columns=dict(self._columns),
            allocatable=self._allocatable[self._order, :width],
            used=self._used[self._order, :width],
            exclusives=_by_position(self._exclusives, position),
            claims=_by_position(self._claims, position),
            standing=self._pods.standing(position),
            occupants=self._pods.occupants(position),
            storage=self.ledger.storage(),
            namespaces={n: implied_labels(n) for n in self._pods.namespaces()} | self.ledger.namespaces(),
            namespaces_known=self.ledger.namespaces_known,
            namespaces_unknown=self.ledger.why_unknown(Namespace),
            device_resources=self.ledger.device_resources(),
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
        if name not in self._facts and not self._used[self._rows.of[name], self._columns[PODS]]:
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


_Held = TypeVar("_Held", Exclusive, ClaimKey)


def _take_away(held: dict[int, tuple[_Held, ...]], row: int, gone: tuple[_Held, ...]) -> None:
    left = without(held.pop(row), gone)
    if left:
        held[row] = left


def _by_position(held: Mapping[int, tuple[_Held, ...]], position: NDArray[np.int32]) -> dict[int, tuple[_Held, ...]]:
    return {int(position[row]): things for row, things in held.items() if position[row] >= 0}
