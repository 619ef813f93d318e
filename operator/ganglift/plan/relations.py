"""The rules between pods that bear on one group: which members they bind, and how members bear on each other.

Members are sorted into *variants*: same demand, namespace, and values of every label that some rule looks at. Labels
that nobody looks at (a Job's completion index, say) make no difference, so a gang of a thousand is mostly one variant.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from ganglift.plan.nodes import Codes, Mask
from ganglift.plan.room import Room
from ganglift.plan.rules import Affinity, Apart, Census, Domains, Rule, Spread, UnselectiveSpread, eligible_nodes
from ganglift.plan.selector import labels_read, meanings_of
from ganglift.plan.shape import Shape
from ganglift.plan.terms import Term, affinity_terms, anti_affinity_terms, selectors_of, spread_selector
from ganglift.plan.verdict import Cause


class Repelled(NamedTuple):
    """An anti-affinity term of pods that are there, and the nodes of those pods, a node once for each pod."""

    term: Term
    nodes: Codes


class Relations:
    """Rules by variant, kept in step as members are placed. `variants` are shapes that stand for theirs."""

    def __init__(self, room: Room, shapes: Iterable[Shape]) -> None:
        self._room = room
        self._domains: dict[str, Domains] = {}
        distinct = tuple(dict.fromkeys(shapes))
        away = _away(room, distinct)
        read = self._labels_read(distinct, away)
        found: dict[tuple[object, ...], int] = {}
        self.variants: list[Shape] = []
        self.of: dict[Shape, int] = {}
        for shape in distinct:
            key = (shape.demand, shape.namespace, *(shape.label(label) for label in read))
            if key not in found:
                found[key] = len(self.variants)
                self.variants.append(shape)
            self.of[shape] = found[key]
        self.rules: list[list[Rule]] = [[] for _ in self.variants]
        self._allowed: list[Mask | None] = [None] * len(self.variants)
        if away or any(not shape.demand.is_alone for shape in self.variants):
            self._make_rules(away, Census(room))

    def allows(self, variant: int) -> Mask:
        """Return the nodes that the rules leave open to a pod of the variant now. Read only."""
        mask = self._allowed[variant]
        if mask is None:
            mask = np.ones(len(self._room.snapshot.table), np.bool_)
            for rule in self.rules[variant]:
                mask &= rule.allows()
            self._allowed[variant] = mask
        return mask

    def put(self, variant: int, node: int, times: int = 1) -> None:
        """Count a member of the variant on the node, or with times=-1 no longer."""
        for other, rules in enumerate(self.rules):
            for rule in rules:
                if rule.is_moved_by(variant):
                    rule.put(variant, node, times)
                    self._allowed[other] = None

    def moves(self, variant: int) -> bool:
        """Whether placing a pod of the variant can change where any member may go."""
        return any(rule.is_moved_by(variant) for rules in self.rules for rule in rules)

    def causes(self, variant: int) -> list[tuple[Cause, Mask]]:
        """Return why the rules refuse nodes to the variant now, with those nodes."""
        return [cause for rule in self.rules[variant] for cause in rule.causes()]

    # Making the rules

    def _labels_read(self, shapes: Iterable[Shape], away: Iterable[Repelled]) -> tuple[str, ...]:
        namespaces = self._room.snapshot.namespaces
        bound = (shape for shape in shapes if not shape.demand.is_alone)
        own = (selector for shape in bound for selector in selectors_of(shape, namespaces))
        return tuple(sorted(labels_read(chain(own, (one.term.selector for one in away)))))

    def _make_rules(self, away: Sequence[Repelled], census: Census) -> None:
        for variant, shape in enumerate(self.variants):
            self.rules[variant] += self._spread(shape, census)
            self.rules[variant] += self._affinity(variant, shape, census)
            self.rules[variant] += self._apart(shape, away, census)

    def _domain(self, key: str) -> Domains:
        if key not in self._domains:
            column = self._room.snapshot.table.column(key)
            self._domains[key] = Domains(key, column.codes, len(column.values))
        return self._domains[key]

    def _spread(self, shape: Shape, census: Census) -> Iterable[Spread]:
        for constraint in shape.demand.spread:
            selector = spread_selector(shape, constraint)
            kind = UnselectiveSpread if selector.requirements == () else Spread
            eligible = eligible_nodes(self._room, shape, constraint)
            rule = kind(self._domain(constraint.topology_key), constraint, eligible)
            rule.begin(*census.nodes((selector,), lasting=True))
            rule.meets = [selector.matches(other) for other in self.variants]
            rule.counts_itself = selector.matches(shape)
            yield rule

    def _affinity(self, variant: int, shape: Shape, census: Census) -> Iterable[Affinity]:
        terms = affinity_terms(shape, self._room.snapshot.namespaces)
        if terms:
            rule = Affinity({term.key: self._domain(term.key) for term in terms})
            rule.begin(*census.nodes(term.selector for term in terms))
            rule.meets = [all(term.selector.matches(other) for term in terms) for other in self.variants]
            rule.counts_itself = rule.meets[variant]
            yield rule

    def _apart(self, shape: Shape, away: Iterable[Repelled], census: Census) -> Iterable[Apart]:
        namespaces = self._room.snapshot.namespaces
        rules: dict[str, Apart] = {}
        for one in away:
            if one.term.selector.matches(shape):
                self._apart_by(rules, one.term.key).block(one.nodes)
        for term in anti_affinity_terms(shape, namespaces):
            rule = self._apart_by(rules, term.key)
            rule.block(np.concatenate(census.nodes((term.selector,))))
            rule.weights = [
                w + term.selector.matches(other) for w, other in zip(rule.weights, self.variants, strict=True)
            ]
        for other, other_shape in enumerate(self.variants):
            for term in anti_affinity_terms(other_shape, namespaces):
                if term.selector.matches(shape):
                    self._apart_by(rules, term.key).weights[other] += 1
        return rules.values()

    def _apart_by(self, rules: dict[str, Apart], key: str) -> Apart:
        if key not in rules:
            rules[key] = Apart(self._domain(key), len(self.variants))
        return rules[key]


def _away(room: Room, shapes: Sequence[Shape]) -> list[Repelled]:
    """Return the anti-affinity terms of others that may mean pods of these shapes."""
    occupants = room.snapshot.occupants
    repellers = occupants.repellers(room.snapshot.namespaces)
    found: dict[int, Repelled] = {}
    for meaning in meanings_of(shapes, repellers.labels) if repellers.by_meaning else ():
        for term, slots in repellers.by_meaning.get(meaning, ()):
            held = slots if not room.released_slots else slots[~np.isin(slots, list(room.released_slots))]
            found[id(term)] = Repelled(term, occupants.nodes[held])
    taken = (Repelled(term, np.array([node], np.int32)) for term, node in room.repelling(shapes))
    return [*found.values(), *taken]
