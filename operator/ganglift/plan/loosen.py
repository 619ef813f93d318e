"""Victims for a gang whose members are alike and may be counted, on nodes of which each can be looked at by itself.

What a node offers after some of its pods are gone is a division; so where every unit is on one node the best choice is
a knapsack over the nodes (exact in the number of pods), and where units are on several nodes a greedy one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ganglift.plan.fit import usable_nodes
from ganglift.plan.nodes import Mask
from ganglift.plan.relations import Relations
from ganglift.plan.request import GroupRequest
from ganglift.plan.room import Room
from ganglift.plan.shape import Demand
from ganglift.plan.snapshot import Counts, Snapshot
from ganglift.plan.vacate import without_pods
from ganglift.plan.victims import Unit

_MOST_MIXES = 512
_HUGE = np.int64(2**62)
_BROKEN, _POD = 2**44, 2**24
"""What a broken budget and a pod weigh in the one number that stands for a cost; ranks weigh one each."""
_HIGHEST_RANK = 255
Kind = tuple[tuple[int, ...], int]
"""What a unit frees on its node and its cost: units of one kind are told apart by age alone."""


class Option(NamedTuple):
    """`counts` units of each kind of a node, which cost so much, make room for so many members."""

    cost: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Loose:
    """`free` is what is left, nodes x resources that a member asks for; `masks` the sets of nodes to choose within."""

    units: Sequence[Unit]
    weights: Sequence[int]
    nodes: Sequence[Sequence[int]]
    """Rows of the pods of each unit."""
    freed: Sequence[Counts]
    """What each of these pods asks for, pods x resources."""
    free: Counts
    asked: NDArray[np.int64]
    need: int
    masks: Sequence[Mask]

    def choose(self) -> Sequence[Unit] | None:
        """Return the cheapest set of units that makes room in one of the masks."""
        is_local = all(len(set(rows)) == 1 for rows in self.nodes)
        found = [self._knapsack(mask) if is_local else self._greedy(mask) for mask in self.masks]
        costs = [(sum(self.weights[i] for i in chosen), at) for at, chosen in enumerate(found) if chosen is not None]
        best = found[min(costs)[1]] if costs else None
        return [self.units[i] for i in best] if best is not None else None

    def room(self, rows: slice | NDArray[np.intp], free: Counts) -> NDArray[np.int64]:
        """Return how many members each of the rows of `free` takes."""
        times: NDArray[np.int64] = (np.maximum(free[rows], 0) // self.asked).min(axis=1)
        return times

    # Units on one node each

    def _knapsack(self, mask: Mask) -> list[int] | None:
        base = np.where(mask, self.room(slice(None), self.free), 0)
        missing = self.need - int(base.sum())
        if missing <= 0:
            return []
        pools = self._pools(mask)
        known: dict[tuple[object, ...], tuple[Option, ...]] = {}
        options: dict[int, tuple[Option, ...]] = {}
        for node, pool in pools.items():
            alike = (self.free[node].tobytes(), tuple((kind, len(ids)) for kind, ids in pool.items()))
            if alike not in known:
                known[alike] = self._gains(node, pool, int(base[node]), missing)
            options[node] = known[alike]
        nodes = self._worthwhile(options, pools, missing)
        best = np.full(missing + 1, _HUGE)
        best[0] = 0
        choices: list[NDArray[np.intp]] = []
        for node in nodes:
            costs = np.array([option.cost for option in options[node]], np.int64)
            padded = np.concatenate((np.full(len(costs) - 1, best[0]), best))
            sums = sliding_window_view(padded, len(costs)) + costs[::-1]
            picked = sums.argmin(axis=1)
            choices.append(len(costs) - 1 - picked)
            best = np.minimum(sums[np.arange(len(sums)), picked], _HUGE)
        return self._traced(nodes, options, pools, choices, missing) if best[missing] < _HUGE else None

    def _pools(self, mask: Mask) -> dict[int, dict[Kind, list[int]]]:
        """Return the units of each node by kind, each kind in the order in which it is given up."""
        pools: dict[int, dict[Kind, list[int]]] = {}
        for i, rows in enumerate(self.nodes):
            if mask[rows[0]]:
                freed = self.freed[i] if len(rows) == 1 else self.freed[i].sum(axis=0, keepdims=True)
                kind = (tuple(freed[0].tolist()), self.weights[i])
                pools.setdefault(rows[0], {}).setdefault(kind, []).append(i)
        return pools

    def _gains(self, node: int, pool: Mapping[Kind, Sequence[int]], base: int, missing: int) -> tuple[Option, ...]:
        """Return at index k the cheapest way to make room for k more members at least on the node."""
        kinds = list(pool)
        mixes = np.array(_mixes([len(pool[kind]) for kind in kinds]), np.int64)
        freed = mixes @ np.array([kind[0] for kind in kinds], np.int64)
        costs = mixes @ np.array([kind[1] for kind in kinds], np.int64)
        gains = np.minimum(self.room(slice(None), self.free[node] + freed) - base, missing)
        found: list[Option] = []
        for k in range(int(gains.max(initial=0)) + 1):
            able = np.flatnonzero(gains >= k)
            at = able[np.argmin(costs[able])]
            found.append(Option(int(costs[at]), tuple(mixes[at].tolist())))
        return tuple(found)

    def _worthwhile(
        self, options: Mapping[int, tuple[Option, ...]], pools: Mapping[int, Mapping[Kind, list[int]]], most: int
    ) -> list[int]:
        """Return the nodes worth looking at: of those with equal costs the youngest, as many as can be needed."""
        alike: dict[tuple[int, ...], list[int]] = {}
        for node, found in options.items():
            if len(found) > 1:
                alike.setdefault(tuple(option.cost for option in found), []).append(node)
        ages = {node: sum(self.units[ids[0]].age for ids in pools[node].values()) for node in options}
        chosen = [sorted(nodes, key=lambda node: (ages[node], node))[:most] for nodes in alike.values()]
        # What is looked at last is taken first among equals, so the youngest come last.
        return sorted((node for nodes in chosen for node in nodes), key=lambda node: (-ages[node], -node))

    def _traced(
        self,
        nodes: Sequence[int],
        options: Mapping[int, Sequence[Option]],
        pools: Mapping[int, Mapping[Kind, Sequence[int]]],
        choices: Sequence[NDArray[np.intp]],
        missing: int,
    ) -> list[int]:
        chosen: list[int] = []
        for node, choice in zip(reversed(nodes), reversed(choices), strict=True):
            k = int(choice[missing])
            counts = options[node][k].counts
            chosen += [i for ids, count in zip(pools[node].values(), counts, strict=True) for i in ids[:count]]
            missing = max(missing - k, 0)
        return chosen

    # Units on several nodes

    def _greedy(self, mask: Mask) -> list[int] | None:
        """Clear the node that costs least for each member it then takes, again and again; spare what is not needed."""
        state = _Clearing(self, mask)
        while state.total < self.need:
            node = state.next()
            if node is None:
                return None
            state.clear(node)
        return state.spared()


class _Clearing:
    """What is left while units go one after another."""

    def __init__(self, loose: Loose, mask: Mask) -> None:
        self._loose = loose
        self._mask = mask
        self._free = loose.free.copy()
        self._gone: dict[int, None] = {}
        self._on: dict[int, list[int]] = {}
        self._cost = np.zeros(len(mask), np.float64)
        full = loose.free.copy()
        for i, rows in enumerate(loose.nodes):
            np.add.at(full, np.array(rows, np.intp), loose.freed[i])
            for row in dict.fromkeys(rows):
                self._on.setdefault(row, []).append(i)
                self._cost[row] += loose.weights[i]
        self._full = np.where(mask, loose.room(slice(None), full), 0)
        self._room = np.where(mask, loose.room(slice(None), self._free), 0)

    @property
    def total(self) -> int:
        return int(self._room.sum())

    def next(self) -> int | None:
        """Return the node to clear next, None where nothing is gained anywhere."""
        missing = self._loose.need - self.total
        gain = np.minimum(self._full - self._room, missing)
        worth = np.where(gain > 0, self._cost / np.maximum(gain, 1), np.inf)
        node = int(np.argmin(worth)) if len(worth) else 0
        return node if len(worth) and np.isfinite(worth[node]) else None

    def clear(self, node: int) -> None:
        for i in self._on[node]:
            if i not in self._gone:
                self._gone[i] = None
                self._move(i, 1)
                for row in set(self._loose.nodes[i]):
                    self._cost[row] -= self._loose.weights[i]

    def spared(self) -> list[int]:
        """Put back what is not needed, the most valuable first."""
        for i in sorted(self._gone, key=lambda i: (-self._loose.weights[i], -self._loose.units[i].age, i)):
            self._move(i, -1)
            if self.total < self._loose.need:
                self._move(i, 1)
            else:
                del self._gone[i]
        return sorted(self._gone)

    def _move(self, i: int, sign: int) -> None:
        rows = np.array(self._loose.nodes[i], np.intp)
        np.add.at(self._free, rows, sign * self._loose.freed[i])
        self._room[rows] = np.where(self._mask[rows], self._loose.room(rows, self._free), 0)


def loosen(snapshot: Snapshot, group: GroupRequest, units: Sequence[Unit], guarded: Mapping[str, int]) -> Loose | None:
    """Return the case where it is one of counting, None where places depend on each other or on the victims."""
    room = Room(snapshot)
    room.release(group.own)
    shapes = [member.shape for member in group.members]
    relations = Relations(room, shapes)
    demand = shapes[0].demand
    if len(relations.variants) != 1 or relations.moves(0) or demand.exclusives or demand.claims:
        return None
    mask = relations.allows(0)
    if snapshot.occupants.repelling or not demand.is_alone:
        emptied = Room(without_pods(snapshot, [slot for unit in units for slot in unit.slots]))
        if not np.array_equal(mask, Relations(emptied, shapes).allows(0)):
            return None
    known = [(snapshot.columns[name], amount) for name, amount in demand.requests if name in snapshot.columns]
    if len(known) < len(demand.requests) or any(room.is_delegated(name) for name, _ in demand.requests):
        return None
    masks = _within(snapshot, group, mask & usable_nodes(room, group) & room.admits(demand))
    if masks is None:
        return None
    columns = [column for column, _ in known]
    nodes = [[int(snapshot.occupants.nodes[slot]) for slot in unit.slots] for unit in units]
    return Loose(
        units=units,
        weights=[
            guarded.get(unit.pods[0].unit, 0) * _BROKEN + unit.size * (_POD + min(unit.rank, _HIGHEST_RANK))
            for unit in units
        ],
        nodes=nodes,
        freed=_freed(snapshot, units, [name for name, _ in demand.requests]),
        free=(snapshot.allocatable - room.used)[:, columns],
        asked=np.array([amount for _, amount in known], np.int64),
        need=group.need,
        masks=masks,
    )


def _within(snapshot: Snapshot, group: GroupRequest, usable: Mask) -> list[Mask] | None:
    """Return the sets of nodes of which one must hold the whole gang; None where that is not all there is to it."""
    required = [level for level in group.topology if level.mode == "Required"]
    if not required:
        return [usable]
    if len(required) > 1 or (required[0].slices or 1) > 1 or group.anchors:
        return None
    column = snapshot.table.column(required[0].key)
    return [usable & (column.codes == code) for code in range(len(column.values))]


def _freed(snapshot: Snapshot, units: Sequence[Unit], resources: Sequence[str]) -> list[Counts]:
    """Return for each unit what its pods ask for of these resources, pods x resources."""
    shapes = list(snapshot.occupants.shapes)
    kinds: dict[Demand, int] = {}
    held = (shape.demand for unit in units for slot in unit.slots if (shape := shapes[slot]) is not None)
    codes = np.array([kinds.setdefault(demand, len(kinds)) for demand in held], np.intp)
    rows = [[dict(demand.requests).get(name, 0) for name in resources] for demand in kinds]
    freed = np.array(rows, np.int64).reshape(len(kinds), len(resources))[codes]
    ends = np.cumsum([unit.size for unit in units]).tolist()
    return [freed[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _mixes(counts: Sequence[int]) -> Sequence[Sequence[int]]:
    """Return how many of each kind may go: all ways, or, where these are too many, kind after kind."""
    if prod(count + 1 for count in counts) <= _MOST_MIXES:
        return list(product(*(range(count + 1) for count in counts)))
    mixes, so_far = [[0] * len(counts)], [0] * len(counts)
    for at, count in enumerate(counts):
        for _ in range(count):
            so_far = [*so_far]
            so_far[at] += 1
            mixes.append(so_far)
    return mixes
