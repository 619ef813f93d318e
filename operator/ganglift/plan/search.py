"""Placing members that bear on each other: by spread, affinity or anti-affinity among themselves.

Members are placed one after another, each where the rules allow it with only the earlier ones there, so that the
sequence found is one in which kube-scheduler can bind them. A depth-first search takes the best looking choice first:

    which member    one that others want to be near, then the one with the largest demand
    which node      the emptiest domain for spread, a node that has no member yet, then as `pack` prefers
    what else       on a dead end, one node of each further class of interchangeable nodes, then another member

Members that no rule looks at are packed last, all at once. The work is bounded in node looks (steps x nodes), never in
time, so that a plan does not depend on the machine.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ganglift.base.ids import Uid
from ganglift.plan.attempt import Place
from ganglift.plan.nodes import Mask
from ganglift.plan.pack import preference
from ganglift.plan.relations import Relations
from ganglift.plan.request import Member
from ganglift.plan.room import Room, Rows
from ganglift.plan.rules import Affinity, Rule, Spread
from ganglift.plan.snapshot import Counts

BUDGET = 8_000_000
"""Node looks for one group: about a second's worth on 5,000 nodes."""

_LOOKED_AHEAD = 8
"""For how many variants it is checked at each step that they can still be placed."""
_LEVEL, _CROWD = 1 << 42, 1 << 40
Choice = tuple[int, int]
"""A variant and a node."""


@dataclass(slots=True)
class Outcome:
    """The longest sequence found, and whether the search was complete."""

    sequence: list[tuple[int, Place]]
    is_whole: bool
    is_exhausted: bool


@dataclass(slots=True)
class Search:
    """One search over one set of usable nodes. Leaves the longest sequence found taken in room and relations."""

    room: Room
    relations: Relations
    usable: Mask
    budget: int
    waiting: list[list[Member]]
    """Members still to place by variant, the next one last."""
    goal: int
    """How many of them must be placed; where that is not all, any will do."""
    finish: Callable[[], bool]
    """Asked once the goal is reached: whether what else must be placed can be. Leaves it taken if so."""
    former: Mapping[Uid, int] = field(default_factory=dict)
    _crowd: Counts = field(init=False)
    _rank: dict[int, Counts] = field(default_factory=dict)
    _placed: list[tuple[int, Place]] = field(default_factory=list)
    _best: list[tuple[int, Place]] = field(default_factory=list)

    def run(self) -> Outcome:
        """Search until all members are placed, all choices are exhausted, or the budget is."""
        self._crowd = np.zeros(len(self.usable), np.int64)
        frames: list[Iterator[Choice]] = [self._choices()]
        whole = False
        while frames and self.budget > 0:
            if len(self._placed) == self.goal:
                whole = self.finish()
                if whole:
                    break
                frames.pop()
                self._undo()
                continue
            choice = next(frames[-1], None)
            if choice is None:
                frames.pop()
                if frames:
                    self._undo()
                continue
            self._do(*choice)
            frames.append(self._choices())
        exhausted = whole or not frames
        if not whole:
            self._restore_best()
            self._add_what_fits()
        return Outcome(list(self._placed), whole, exhausted)

    def clear(self) -> None:
        """Give back all that was placed."""
        while self._placed:
            self._undo()

    # Choices

    def _choices(self) -> Iterator[Choice]:
        variants = sorted((v for v, waiting in enumerate(self.waiting) if waiting), key=self._urgency)
        all_needed = sum(map(len, self.waiting)) + len(self._placed) == self.goal
        if all_needed and any(self._is_hopeless(variant) for variant in variants[:_LOOKED_AHEAD]):
            return
        for variant in variants:
            for node in self._nodes(variant):
                yield variant, node

    def _urgency(self, variant: int) -> tuple[bool, bool, int]:
        """Those without whom others can't be placed first, then those that can't be placed without others last."""
        rules = self.relations.rules
        others = (rule for other, own in enumerate(rules) if other != variant for rule in own)
        is_wanted = any(isinstance(rule, Affinity) and rule.is_moved_by(variant) for rule in others)
        wants = any(isinstance(rule, Affinity) for rule in rules[variant])
        return (not is_wanted, wants, variant)

    def _is_hopeless(self, variant: int) -> bool:
        """Whether the variant's members can't all be placed any more, whatever is done."""
        self.budget -= len(self.usable)
        capacity = self._capacity(variant)
        wanted = len(self.waiting[variant])
        if int(capacity.sum()) < wanted:
            return True
        return any(
            rule.most(variant, capacity, self._reach(rule)) < wanted
            for rule in self.relations.rules[variant]
            if rule.is_moved_by(variant)
        )

    def _capacity(self, variant: int) -> Counts:
        counts: Counts = self.room.capacity(self.relations.variants[variant].demand) * self.usable
        return counts

    def _reach(self, rule: Rule) -> Counts:
        """How many of all waiting members that count for the rule each node takes, were they alone."""
        moving = (v for v, waiting in enumerate(self.waiting) if waiting and rule.is_moved_by(v))
        return sum(map(self._capacity, moving), np.zeros(len(self.usable), np.int64))

    def _nodes(self, variant: int) -> Iterator[int]:
        """Yield nodes for the next member of the variant: the best one, then one of each other class of nodes."""
        member = self.waiting[variant][-1]
        candidates = self._candidates(variant)
        if not len(candidates):
            return
        former = self.former.get(member.uid, -1)
        cost = self._cost(variant, candidates)
        first = former if former in candidates else int(candidates[np.argmin(cost)])
        yield first
        candidates = self._candidates(variant)
        classes = self._classes(candidates)
        order = np.argsort(self._cost(variant, candidates), kind="stable")
        seen = {classes[int(np.flatnonzero(candidates == first)[0])]}
        for i in order.tolist():
            if classes[i] not in seen:
                seen.add(classes[i])
                yield int(candidates[i])

    def _candidates(self, variant: int) -> Rows:
        demand = self.relations.variants[variant].demand
        if not self.room.most(demand):
            return np.zeros(0, np.intp)
        return np.flatnonzero(self.usable & self.relations.allows(variant) & (self.room.capacity(demand) > 0))

    def _cost(self, variant: int, candidates: Rows) -> Counts:
        cost = self._ranks(variant)[candidates].copy()
        spreads = [rule for rule in self.relations.rules[variant] if isinstance(rule, Spread)]
        for rule in spreads:
            codes = rule.domains.codes[candidates]
            cost += (rule.sure[codes] + rule.other[codes]) * _LEVEL
        if spreads:
            cost += self._crowd[candidates] * _CROWD
        return cost

    def _ranks(self, variant: int) -> Counts:
        if variant not in self._rank:
            demand = self.relations.variants[variant].demand
            order = preference(self.room, demand, self.room.capacity(demand))
            ranks = np.full(len(self.usable), len(self.usable), np.int64)
            ranks[order] = np.arange(len(order))
            self._rank[variant] = ranks
        return self._rank[variant]

    def _classes(self, candidates: Rows) -> list[int]:
        """Return a class for each candidate: nodes of one class are interchangeable for all members still waiting."""
        self.budget -= 4 * len(self.usable)
        marks: list[NDArray[np.int64]] = []
        for variant, waiting in enumerate(self.waiting):
            if waiting:
                demand = self.relations.variants[variant].demand
                marks.append(self.room.capacity(demand)[candidates])
                marks.append(self.relations.allows(variant)[candidates].astype(np.int64))
                marks += [mark for rule in self.relations.rules[variant] for mark in rule.marks(candidates)]
        columns = self._columns()
        left = self.room.free()[candidates][:, columns]
        rows = np.column_stack([*marks, left])
        _, classes = np.unique(rows, axis=0, return_inverse=True)
        found: list[int] = classes.reshape(-1).tolist()
        return found

    def _columns(self) -> list[int]:
        names = {name for shape in self.relations.variants for name, _ in shape.demand.requests}
        return sorted(self.room.snapshot.columns[name] for name in names if name in self.room.snapshot.columns)

    # Steps

    def _do(self, variant: int, node: int) -> None:
        self.budget -= 2 * len(self.usable) + 1000
        member = self.waiting[variant].pop()
        self.room.take(member.shape, node)
        self.relations.put(variant, node)
        self._crowd[node] += 1
        self._placed.append((variant, Place(member, node)))

    def _undo(self) -> None:
        if len(self._placed) > len(self._best):
            self._best = list(self._placed)
        variant, place = self._placed.pop()
        self.room.give_back(1)
        self.relations.put(variant, place.node, -1)
        self._crowd[place.node] -= 1
        self.waiting[variant].append(place.member)

    def _add_what_fits(self) -> None:
        """Place further members for as long as the first choice goes, so that it can be told how many fit."""
        self.goal = -1  # nothing is hopeless now
        while (choice := next(self._choices(), None)) is not None:
            self._do(*choice)

    def _restore_best(self) -> None:
        self.clear()
        for variant, place in self._best:
            self.waiting[variant].remove(place.member)
            self.room.take(place.member.shape, place.node)
            self.relations.put(variant, place.node)
            self._placed.append((variant, place))


def held_back(relations: Relations, sequence: Sequence[tuple[int, Place]]) -> frozenset[Uid]:
    """Return the members whose nomination, while earlier ones are not bound, would keep one from its planned node.

    kube-scheduler looks at a node with all pods nominated to it counted as if they were there, so under a spread
    constraint a later member nominated to the same node can push an earlier one away. `relations` must be as before
    the first of the sequence, and is left as after the last.
    """
    later: dict[int, list[tuple[int, Uid]]] = {}
    for variant, place in reversed(sequence):
        later.setdefault(place.node, []).append((variant, place.member.uid))
    back: set[Uid] = set()
    for variant, place in sequence:
        queue = later[place.node]
        queue.pop()
        spreads = [rule for rule in relations.rules[variant] if isinstance(rule, Spread)]
        standing = [(v, uid) for v, uid in reversed(queue) if uid not in back]
        while (
            spreads
            and standing
            and not all(rule.bears(place.node, sum(rule.is_moved_by(v) for v, _ in standing)) for rule in spreads)
        ):
            back.add(standing.pop()[1])
        relations.put(variant, place.node)
    return frozenset(back)
