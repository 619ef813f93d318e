"""The room that one planning pass works in: a copy of what is used, taken from and given back to.

What is taken is seen by everything planned later in the pass. Capacities are counted once per demand and corrected for
the nodes touched since. Not thread-safe.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ganglift.base.ids import Uid
from ganglift.plan.nodes import Mask
from ganglift.plan.selector import Meaning, PodSelector, meanings_of
from ganglift.plan.shape import DEVICE_CLASS, ClaimKey, Demand, Disk, Exclusive, HostPort, Shape, collide
from ganglift.plan.snapshot import Counts, Snapshot, Standing
from ganglift.plan.terms import Term, anti_affinity_terms
from ganglift.plan.verdict import Cause, CauseKind
from ganglift.plan.volumes import Mounts, mounts_of, over_limit

_NO_LIMIT = np.iinfo(np.int64).max
_FEW = 8
Rows = NDArray[np.intp]


class _Vector(NamedTuple):
    """A demand's requests as columns and units. `delegated`: a device class serves it where no node offers it."""

    columns: Rows
    units: Counts
    delegated: Mask
    is_unknown: bool


class Taken(NamedTuple):
    shape: Shape
    node: int


class Room:
    """See the module."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.used = snapshot.used.copy()
        self.taken: list[Taken] = []
        self.group_start = 0
        """Where in `taken` the group that is being placed began: what comes after is its own."""
        self.released_slots: set[int] = set()
        self._repelling: dict[Meaning, list[tuple[Term, int]]] = {}
        self._repelling_labels: set[str] = set()
        self._by_meaning: dict[Meaning, list[int]] = {}
        self._filed = 0
        """How much of `taken` is filed under what selectors may mean it by: only what was asked about so far."""
        self.costs: dict[Demand, Counts] = {}
        """What `pack` thinks of the nodes, kept for the pass."""
        self._biggest: dict[str, int] = {}
        self._exclusives = dict(snapshot.exclusives)
        self._claims = dict(snapshot.claims)
        self._capacity: dict[Demand, tuple[Counts, int]] = {}
        self._touched: list[int] = []
        self._vectors: dict[Demand, _Vector] = {}
        self._mounts: dict[Demand, Mounts] = {}
        self._admits: dict[Demand, Mask] = {}

    # What there is

    def free(self) -> Counts:
        """Return what is left by node and resource; a node that has shrunk below its use has nothing, never less."""
        free: Counts = np.maximum(self.snapshot.allocatable - self.used, 0)
        return free

    def biggest(self) -> dict[str, int]:
        """Return the most that any node offers, by resource."""
        if not self._biggest:
            largest = self.snapshot.allocatable.max(axis=0, initial=0)
            self._biggest = {name: int(largest[column]) for name, column in self.snapshot.columns.items()}
        return self._biggest

    def admits(self, demand: Demand) -> Mask:
        """Return the nodes that would take the demand if they were empty: by their own rules and its volumes."""
        mask = self._admits.get(demand)
        if mask is None:
            mask = self.snapshot.table.screen(demand).admits.copy()
            for _, refused in self.mounts(demand).refusals:
                mask &= ~refused
            self._admits[demand] = mask
        return mask

    def capacity(self, demand: Demand) -> Counts:
        """Return how many pods of this demand each node takes, rules between pods aside. Good until the next take."""
        known = self._capacity.get(demand)
        if known is None or demand.claims:
            counts = self._fitting(demand, slice(None))
            counts[~self.admits(demand)] = 0
            if demand.claims:
                counts[self.volumes_over(demand)] = 0
        else:
            counts, seen = known
            if seen < len(self._touched):
                rows = np.unique(np.array(self._touched[seen:], np.intp))
                counts[rows] = np.where(self.admits(demand)[rows], self._fitting(demand, rows), 0)
        self._capacity[demand] = (counts, len(self._touched))
        return counts

    def times(self, demand: Demand) -> Counts:
        """Return how many pods of the demand each node has room and free ports for, whatever else refuses them."""
        return self._fitting(demand, slice(None))

    def used_by(self, taken: Iterable[Taken]) -> Counts:
        """Return what these pods use, nodes x resources."""
        used = np.zeros_like(self.used)
        for demand, nodes in _nodes_by_demand(taken).items():
            vector = self._vector(demand)
            rows, times = np.unique(np.array(nodes, np.intp), return_counts=True)
            used[np.ix_(rows, vector.columns)] += np.outer(times, vector.units)
        return used

    def most(self, demand: Demand) -> int:
        """Return how many pods of the demand there can be at all: 1 or 0 where it has a claim for one pod alone."""
        exclusive = self.mounts(demand).exclusive
        return _NO_LIMIT if not exclusive else int(not any(self._is_claimed(key) for key in exclusive))

    def insufficient(self, demand: Demand) -> dict[str, Mask]:
        """Return, by resource asked for, the nodes that have too little of it left, the pod slot included."""
        free = self.free()
        short: dict[str, Mask] = {}
        for resource, units in demand.requests:
            column = self.snapshot.columns.get(resource)
            lacks = free[:, column] < units if column is not None else np.ones(len(free), np.bool_)
            if self.is_delegated(resource):
                lacks &= self.snapshot.allocatable[:, column] > 0 if column is not None else False
            short[resource] = lacks
        return short

    def conflicts(self, demand: Demand, kind: type[HostPort | Disk] | None = None) -> Mask:
        """Return the nodes on which a host port or disk, or either of them, that the demand wants is taken."""
        wanted = [one for one in demand.exclusives if kind is None or isinstance(one, kind)]
        mask = np.zeros(len(self.snapshot.table), np.bool_)
        for node, held in self._exclusives.items():
            mask[node] = any(collide(one, other) for one in wanted for other in held)
        return mask

    def volumes_over(self, demand: Demand) -> Mask:
        """Return the nodes on which the demand's volumes are more than a driver takes."""
        return over_limit(self.mounts(demand), self.snapshot.storage, self.snapshot.table, self._claims)

    def mounts(self, demand: Demand) -> Mounts:
        """Return what the demand's claims mean for its place."""
        mounts = self._mounts.get(demand)
        if mounts is None:
            mounts = self._mounts[demand] = mounts_of(demand, self.snapshot.storage, self.snapshot.table)
        return mounts

    def unjudged(self, demand: Demand) -> tuple[str, ...]:
        """Return what the planner has no rule for in the demand, in words."""
        served = (name for name, _ in demand.requests if name in self.snapshot.device_resources)
        named = tuple(f"{name}, where a device class serves it" for name in served)
        selects = any(t.namespace_selector for t in (*demand.affinity, *demand.anti_affinity))
        why = f", since {self.snapshot.namespaces_unknown}" if self.snapshot.namespaces_unknown else ""
        guessed = (f"labels of namespaces{why}",) if selects and not self.snapshot.namespaces_known else ()
        return (*demand.unjudged, *self.mounts(demand).unjudged, *named, *guessed)

    def repelling(self, shapes: Sequence[Shape]) -> Iterator[tuple[Term, int]]:
        """Yield anti-affinity terms of pods placed in this pass that may mean one of the shapes, with their nodes."""
        for meaning in meanings_of(shapes, self._repelling_labels) if self._repelling else ():
            yield from self._repelling.get(meaning, ())

    def taken_by(self, selectors: Sequence[PodSelector]) -> list[tuple[int, int]]:
        """Return number and node of what was taken by pods that all of the selectors mean, in the order of taking."""
        for number in range(self._filed, len(self.taken)):
            for meaning in meanings_of((self.taken[number].shape,)):
                self._by_meaning.setdefault(meaning, []).append(number)
        self._filed = len(self.taken)
        numbers = (number for meaning in selectors[0].meanings() for number in self._by_meaning.get(meaning, ()))
        meant = (number for number in numbers if all(one.matches(self.taken[number].shape) for one in selectors))
        return [(number, self.taken[number].node) for number in sorted(meant)]

    # Taking and giving back

    def take(self, shape: Shape, node: int) -> None:
        """Count a pod of the shape on the node from now on."""
        self.taken.append(Taken(shape, node))
        for term in anti_affinity_terms(shape, self.snapshot.namespaces):
            for meaning in term.selector.meanings():
                self._repelling.setdefault(meaning, []).append((term, node))
                self._repelling_labels |= {meaning[1][0]} if meaning[1] is not None else set()
        self._count(shape.demand, node)

    def take_all(self, shapes: Sequence[Shape], nodes: Rows) -> None:
        """Count pods of one demand, the i-th on the i-th node, from now on."""
        if not shapes:
            return
        demand = shapes[0].demand
        if len(shapes) <= _FEW or demand.exclusives or demand.claims or demand.anti_affinity:
            for shape, node in zip(shapes, nodes.tolist(), strict=True):
                self.take(shape, node)
            return
        rows, times = np.unique(nodes, return_counts=True)
        vector = self._vector(demand)
        self.used[np.ix_(rows, vector.columns)] += np.outer(times, vector.units)
        self._touched.extend(rows.tolist())
        self.taken.extend(map(Taken, shapes, nodes.tolist()))

    def give_back(self, count: int) -> None:
        """Undo the last `count` takes."""
        for _ in range(count):
            shape, node = self.taken.pop()
            for term in anti_affinity_terms(shape, self.snapshot.namespaces):
                for meaning in term.selector.meanings():
                    self._repelling[meaning].pop()  # what was taken last is filed last
            if self._filed > len(self.taken):
                self._filed -= 1
                for meaning in meanings_of((shape,)):
                    self._by_meaning[meaning].pop()
            self._discount(shape.demand, node)

    def release(self, uids: Iterable[Uid]) -> list[Standing]:
        """Give up the room that these pods hold without being bound; return what was given up."""
        standing = (self.snapshot.standing.get(uid) for uid in sorted(uids))
        released = [one for one in standing if one is not None and one.slot not in self.released_slots]
        for one in released:
            self.released_slots.add(one.slot)
            self._discount(one.shape.demand, one.node)
        return released

    def retake(self, standing: Iterable[Standing]) -> None:
        """Count released room as held again."""
        for one in standing:
            self.released_slots.discard(one.slot)
            self._count(one.shape.demand, one.node)

    def _count(self, demand: Demand, node: int) -> None:
        vector = self._vector(demand)
        self.used[node, vector.columns] += vector.units
        self._touched.append(node)
        if demand.exclusives:
            self._exclusives[node] = self._exclusives.get(node, ()) + demand.exclusives
        if demand.claims:
            self._claims[node] = self._claims.get(node, ()) + demand.claims

    def _discount(self, demand: Demand, node: int) -> None:
        vector = self._vector(demand)
        self.used[node, vector.columns] -= vector.units
        self._touched.append(node)
        if demand.exclusives:
            self._exclusives[node] = without(self._exclusives[node], demand.exclusives)
        if demand.claims:
            self._claims[node] = without(self._claims[node], demand.claims)

    # Counting

    def _fitting(self, demand: Demand, rows: slice | Rows) -> Counts:
        vector = self._vector(demand)
        allocatable = self.snapshot.allocatable[rows]
        if vector.is_unknown:
            return np.zeros(len(allocatable), np.int64)
        offered = allocatable[:, vector.columns]
        times = np.maximum(offered - self.used[rows][:, vector.columns], 0) // vector.units
        if vector.delegated.any():
            times[vector.delegated & (offered == 0)] = _NO_LIMIT
        counts: Counts = times.min(axis=1)
        if demand.exclusives:
            if any(collide(a, b) for a in demand.exclusives for b in demand.exclusives):
                np.minimum(counts, 1, out=counts)
            counts[self.conflicts(demand)[rows]] = 0
        return counts

    def _vector(self, demand: Demand) -> _Vector:
        vector = self._vectors.get(demand)
        if vector is None:
            at = self.snapshot.columns
            known = [(at[name], units, self.is_delegated(name)) for name, units in demand.requests if name in at]
            unknown = [name for name, _ in demand.requests if name not in at and not self.is_delegated(name)]
            vector = self._vectors[demand] = _Vector(
                np.array([column for column, _, _ in known], np.intp),
                np.array([units for _, units, _ in known], np.int64),
                np.array([delegated for _, _, delegated in known], np.bool_),
                bool(unknown),
            )
        return vector

    def is_delegated(self, resource: str) -> bool:
        """Whether a device class serves the resource where no node offers it, so that its room can't be told."""
        return resource in self.snapshot.device_resources or resource.startswith(DEVICE_CLASS)

    def _is_claimed(self, key: ClaimKey) -> bool:
        return any(key in held for held in self._claims.values())


def _nodes_by_demand(taken: Iterable[Taken]) -> dict[Demand, list[int]]:
    nodes: dict[Demand, list[int]] = {}
    for shape, node in taken:
        nodes.setdefault(shape.demand, []).append(node)
    return nodes


_Held = TypeVar("_Held", Exclusive, ClaimKey)


def without(held: tuple[_Held, ...], gone: tuple[_Held, ...]) -> tuple[_Held, ...]:
    """Return what is held after some of it is gone."""
    return tuple((Counter(held) - Counter(gone)).elements())


def room_causes(room: Room, demand: Demand, usable: Mask) -> list[tuple[Cause, Mask]]:
    """Return every cause, rules between pods aside, that keeps a pod of the demand off some node, with those nodes.

    In kube-scheduler's order. Of claims that let nobody in, node rules and ports the first that refuses a node is told.
    On the nodes that are left every short resource is told, and of disks and volumes the first that refuses.
    """
    screen = room.snapshot.table.screen(demand)
    found = [(Cause(CauseKind.AVOIDED), ~usable)]
    found += _first(usable, [one for one in room.mounts(demand).refusals if one[0].kind is CauseKind.CLAIM])
    found += _first(_left(usable, found), [(cause, screen.reasons == i) for i, cause in enumerate(screen.causes)])
    if demand.exclusives:
        found += _first(_left(usable, found), [(Cause(CauseKind.PORTS), room.conflicts(demand, HostPort))])
    left = _left(usable, found)
    found += [(Cause(CauseKind.INSUFFICIENT, name), left & short) for name, short in room.insufficient(demand).items()]
    found += _first(left, _of_volumes(room, demand))
    return [(cause, nodes) for cause, nodes in found if nodes.any()]


def _of_volumes(room: Room, demand: Demand) -> list[tuple[Cause, Mask]]:
    """Return where disks and bound claims keep the demand out, in the order of kube-scheduler's filters."""
    found: list[tuple[Cause, Mask]] = []
    if demand.exclusives:
        found.append((Cause(CauseKind.DISK), room.conflicts(demand, Disk)))
    if demand.claims and not room.most(demand):
        claim = next(key for key in room.mounts(demand).exclusive)
        found.append((Cause(CauseKind.CLAIM_IN_USE, claim[1]), np.ones(len(room.snapshot.table), np.bool_)))
    if demand.claims:
        found.append((Cause(CauseKind.VOLUME_LIMIT), room.volumes_over(demand)))
    for kind in (CauseKind.VOLUME_AFFINITY, CauseKind.VOLUME_ZONE):
        found += [one for one in room.mounts(demand).refusals if one[0].kind is kind]
    return found


def _first(left: Mask, causes: Iterable[tuple[Cause, Mask]]) -> list[tuple[Cause, Mask]]:
    """Return the causes with those of the nodes that are left which no earlier one refuses."""
    found = []
    for cause, nodes in causes:
        found.append((cause, left & nodes))
        left = left & ~nodes
    return found


def _left(usable: Mask, refused: Iterable[tuple[Cause, Mask]]) -> Mask:
    left = usable.copy()
    for _, nodes in refused:
        left &= ~nodes
    return left
