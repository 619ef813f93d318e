"""Slots and rows: where in the books' arrays a node and a pod are. Both are used again once free."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ganglift.base.ids import NodeName, Uid
from ganglift.plan.chunks import Chunked
from ganglift.plan.nodes import Codes
from ganglift.plan.occupants import LabelCodes, Occupants, encode
from ganglift.plan.shape import Shape
from ganglift.plan.snapshot import Kind, Standing

_FIRST_SLOTS = 64
_LEAST_GARBAGE = 1000


class Rows:
    """Which row of the arrays is which node name."""

    def __init__(self) -> None:
        self.of: dict[NodeName, int] = {}
        self.names: list[NodeName] = []
        self._unused: list[int] = []

    def get(self, name: NodeName) -> int:
        """Return the row of a name, a new one if it has none."""
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


class Slots:
    """All pods that hold a place, in parallel arrays; a free slot has row -1 and no shape."""

    def __init__(self) -> None:
        self.slot: dict[Uid, int] = {}
        self.rows: NDArray[np.int32] = np.full(_FIRST_SLOTS, -1, np.int32)
        self.kinds: NDArray[np.int8] = np.zeros(_FIRST_SLOTS, np.int8)
        self.shapes = Chunked[Shape | None]()
        self.uids = Chunked[Uid]()
        self._namespaces = _Column()
        self._labels: dict[str, _Column] = {}
        self._wanted: set[str] = set()
        self._standing: set[Uid] = set()
        self._repelling: set[int] = set()
        self._unused: list[int] = []

    def add(self, uid: Uid, shape: Shape, row: int, kind: Kind) -> None:
        slot = self._unused.pop() if self._unused else self._grow()
        self.slot[uid] = slot
        self.rows[slot] = row
        self.kinds[slot] = kind
        self.shapes[slot] = shape
        self.uids[slot] = uid
        self._namespaces.set(slot, shape.namespace)
        for label, column in self._labels.items():
            column.set(slot, shape.label(label))
        if kind >= Kind.LIFTED:
            self._standing.add(uid)
        if shape.demand.anti_affinity:
            self._repelling.add(slot)

    def drop(self, uid: Uid) -> tuple[Shape, int]:
        """Free the pod's slot; return the shape and the row that were there."""
        slot = self.slot.pop(uid)
        shape, row = self.shapes[slot], int(self.rows[slot])
        assert shape is not None, "a slot in use has a shape"
        self.rows[slot] = -1
        self.shapes[slot] = None
        self.uids[slot] = Uid("")
        self._standing.discard(uid)
        self._repelling.discard(slot)
        self._unused.append(slot)
        return shape, row

    def occupants(self, position: NDArray[np.int32]) -> Occupants:
        """Return all pods as they are now; `position` gives the row of the node table for each of our rows."""
        size = len(self.shapes)
        self._keep_wanted()
        rows = self.rows[:size]
        nodes = np.where(rows >= 0, position[rows], np.int32(-1)) if len(position) else np.full(size, -1, np.int32)
        return Occupants(
            nodes=nodes,
            kinds=self.kinds[:size].copy(),
            shapes=self.shapes.frozen(),
            uids=self.uids.frozen(),
            namespaces=self._namespaces.view(size),
            labels={label: column.view(size) for label, column in self._labels.items()},
            repelling=tuple(sorted(self._repelling)),
            wanted=self._wanted,
        )

    def standing(self, position: NDArray[np.int32]) -> dict[Uid, Standing]:
        """Return the pods that hold room on a node there is without being bound to it."""
        found = {}
        for uid in self._standing:
            slot = self.slot[uid]
            node, shape = int(position[self.rows[slot]]), self.shapes[slot]
            if node >= 0 and shape is not None:
                found[uid] = Standing(node, shape, Kind(self.kinds[slot]), slot)
        return found

    def knows(self, namespace: str) -> bool:
        """Whether pods have been in the namespace."""
        return namespace in self._namespaces.code

    def namespaces(self) -> Sequence[str]:
        """Return the names of all namespaces that pods have been in."""
        return tuple(self._namespaces.code)

    def _keep_wanted(self) -> None:
        """Make columns for labels that rules looked at since the last snapshot, anew where values long gone pile up."""
        limit = 4 * len(self.slot) + _LEAST_GARBAGE
        if len(self._namespaces.code) > limit:
            self._namespaces = _Column()
            for slot, shape in enumerate(self.shapes):
                self._namespaces.set(slot, shape.namespace if shape is not None else None)
        stale = [label for label, column in self._labels.items() if len(column.code) > limit]
        for label in (*stale, *sorted(self._wanted - self._labels.keys())):
            self._labels[label] = _Column(encode(label, self.shapes))

    def _grow(self) -> int:
        slot = len(self.shapes)
        if slot >= len(self.rows):
            self.rows = np.concatenate((self.rows, np.full_like(self.rows, -1)))
            self.kinds = np.concatenate((self.kinds, np.zeros_like(self.kinds)))
        self.shapes.append(None)
        self.uids.append(Uid(""))
        return slot


class _Column:
    """One label of all slots as codes, kept in step. Codes are only ever added, so views may share the dictionary."""

    def __init__(self, start: LabelCodes | None = None) -> None:
        self.codes: Codes = start.codes if start is not None else np.full(_FIRST_SLOTS, -1, np.int32)
        self.code = start.code if start is not None else {}

    def set(self, slot: int, value: str | None) -> None:
        if slot >= len(self.codes):
            more = np.full(max(len(self.codes), slot + 1), -1, np.int32)
            self.codes = np.concatenate((self.codes, more))
        self.codes[slot] = -1 if value is None else self.code.setdefault(value, len(self.code))

    def view(self, size: int) -> LabelCodes:
        codes = self.codes[:size]
        if len(codes) < size:
            codes = np.concatenate((codes, np.full(size - len(codes), -1, np.int32)))
        return LabelCodes(codes.copy(), self.code)
