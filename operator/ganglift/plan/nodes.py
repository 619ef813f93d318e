"""The static half of the cluster: names, labels, taints and readiness of all nodes, and which demands they admit.

A `NodeTable` never changes; the books make a new one when a node's facts change, so whatever is computed from it is
kept with it: label columns as integer codes, and one `Screen` per demand. Rules are evaluated over distinct values
(labels of one key, sets of taints) and spread over the nodes by array indexing, never node by node.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ganglift.api.node import Node, Taint
from ganglift.api.selectors import NodeSelector, NodeSelectorTerm, Requirement
from ganglift.base.ids import NodeName
from ganglift.plan.match import first_untolerated, is_valid, matches_value, tolerates
from ganglift.plan.shape import Demand
from ganglift.plan.verdict import Cause, CauseKind

Mask = NDArray[np.bool_]
Codes = NDArray[np.int32]

UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_NAME_FIELD = "metadata.name"


class NodeFacts(NamedTuple):
    """What of a node a demand's own rules look at."""

    name: NodeName
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    is_unschedulable: bool
    is_ready: bool


def facts_of(node: Node) -> NodeFacts:
    """Return the facts that matter to placement; heartbeats change none of them."""
    return NodeFacts(
        NodeName(node.name), node.metadata.labels, node.spec.taints, node.spec.unschedulable, node.is_ready
    )


class Column(NamedTuple):
    """One label over all nodes: `values[codes[i]]` is node i's value, code -1 where the node lacks the label."""

    codes: Codes
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Screen:
    """Which nodes a demand's own rules admit. `reasons[i]` indexes `causes`, -1 where node i is admitted."""

    admits: Mask
    reasons: NDArray[np.int16]
    causes: tuple[Cause, ...]


class NodeTable:
    """All nodes, sorted by name. Immutable."""

    def __init__(self, facts: Iterable[NodeFacts]) -> None:
        self.facts = tuple(sorted(facts, key=lambda node: node.name))
        self.names = tuple(node.name for node in self.facts)
        self.position = {name: i for i, name in enumerate(self.names)}
        self._columns: dict[str, Column] = {}
        self._screens: WeakKeyDictionary[Demand, Screen] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self.names)

    def column(self, label: str) -> Column:
        """Return one label over all nodes, its distinct values in sorted order."""
        column = self._columns.get(label)
        if column is None:
            found = [node.labels.get(label) for node in self.facts]
            values = tuple(sorted({value for value in found if value is not None}))
            code: dict[str | None, int] = {value: i for i, value in enumerate(values)}
            codes = np.fromiter((code.get(value, -1) for value in found), np.int32, len(found))
            column = self._columns[label] = Column(codes, values)
        return column

    def screen(self, demand: Demand) -> Screen:
        """Return which nodes admit the demand by readiness, taints, selector and node affinity, and else why not.

        Order as kube-scheduler's filters: the first cause of a node is the one named. One rule is stricter than
        kube-scheduler's: a node whose Ready condition is not True is not used, even before its taint shows it.
        """
        screen = self._screens.get(demand)
        if screen is None:
            screen = self._screens[demand] = self._screen(demand)
        return screen

    def _screen(self, demand: Demand) -> Screen:
        causes: list[Cause] = []
        reasons = np.full(len(self), -1, np.int16)

        def refuse(nodes: Mask, cause: Cause) -> None:
            nodes = nodes & (reasons < 0)
            if nodes.any():
                reasons[nodes] = len(causes)
                causes.append(cause)

        refuse(~self._ready, Cause(CauseKind.NOT_READY))
        if not tolerates(demand.tolerations, UNSCHEDULABLE):
            refuse(self._unschedulable, Cause(CauseKind.UNSCHEDULABLE))
        for code, taints in enumerate(self._taints.values):
            if (taint := first_untolerated(demand.tolerations, taints)) is not None:
                refuse(self._taints.codes == code, Cause(CauseKind.TAINT, taint_text(taint)))
        refuse(~self.affine(demand), Cause(CauseKind.NODE_AFFINITY))
        return Screen(reasons < 0, reasons, tuple(causes))

    def affine(self, demand: Demand) -> Mask:
        """Return the nodes that meet the demand's node selector and required node affinity."""
        mask = np.ones(len(self), np.bool_)
        for key, value in demand.selector:
            mask &= self.where(Requirement(key=key, operator="In", values=(value,)))
        if demand.node_affinity is not None:
            mask &= self.selected(demand.node_affinity)
        return mask

    def selected(self, selector: NodeSelector) -> Mask:
        """Return the nodes that meet any term; an empty term, or one that does not parse, is met by none."""
        mask = np.zeros(len(self), np.bool_)
        for term in selector.node_selector_terms:
            mask |= self._term(term)
        return mask

    def tolerated(self, demand: Demand, besides: str = "") -> Mask:
        """Return the nodes that have no untolerated NoSchedule or NoExecute taint other than `besides`."""
        others = ([taint for taint in taints if taint_text(taint) != besides] for taints in self._taints.values)
        fine = [first_untolerated(demand.tolerations, taints) is None for taints in others]
        return np.array(fine, np.bool_)[self._taints.codes] if len(self) else np.zeros(0, np.bool_)

    def labellable(self, demand: Demand) -> Mask:
        """Return the nodes that would meet the selector and node affinity if the labels that they lack were added.

        Where the node affinity looks at the same labels as the selector there is no telling, so there are none.
        """
        mask = np.ones(len(self), np.bool_)
        for key, value in demand.selector:
            mask &= (self.column(key).codes < 0) | self.where(Requirement(key=key, operator="In", values=(value,)))
        if demand.node_affinity is None:
            return mask
        terms = demand.node_affinity.node_selector_terms
        looked_at = {requirement.key for term in terms for requirement in term.match_expressions}
        added = {key for key, _ in demand.selector}
        return mask & self.selected(demand.node_affinity) if looked_at.isdisjoint(added) else np.zeros_like(mask)

    def softly_tainted(self, demand: Demand) -> Mask:
        """Return the nodes with a PreferNoSchedule taint that the demand does not tolerate."""
        soft = [_has_soft_taint(demand, taints) for taints in self._taints.values]
        return np.array(soft, np.bool_)[self._taints.codes] if len(self) else np.zeros(0, np.bool_)

    def _term(self, term: NodeSelectorTerm) -> Mask:
        if not term.match_expressions and not term.match_fields:
            return np.zeros(len(self), np.bool_)
        mask = np.ones(len(self), np.bool_)
        for requirement in term.match_expressions:
            mask &= self.where(requirement)
        for requirement in term.match_fields:
            mask &= self._where_field(requirement)
        return mask

    def labelled(self, keys: Iterable[str]) -> Mask:
        """Return the nodes that have any of the labels."""
        mask = np.zeros(len(self), np.bool_)
        for key in keys:
            mask |= self.column(key).codes >= 0
        return mask

    def where(self, requirement: Requirement) -> Mask:
        """Return the nodes whose labels meet the requirement; none where it does not parse."""
        if not is_valid(requirement):
            return np.zeros(len(self), np.bool_)
        column = self.column(requirement.key)
        by_value = [matches_value(requirement, value) for value in column.values]
        by_value.append(matches_value(requirement, None))  # code -1 picks the last
        return np.array(by_value, np.bool_)[column.codes]

    def _where_field(self, requirement: Requirement) -> Mask:
        if requirement.operator not in ("In", "NotIn") or len(requirement.values) != 1:
            return np.zeros(len(self), np.bool_)
        mask = np.zeros(len(self), np.bool_)
        if requirement.key == _NAME_FIELD and (at := self.position.get(NodeName(requirement.values[0]))) is not None:
            mask[at] = True
        return mask if requirement.operator == "In" else ~mask

    @cached_property
    def _ready(self) -> Mask:
        return np.array([node.is_ready for node in self.facts], np.bool_)

    @cached_property
    def _unschedulable(self) -> Mask:
        return np.array([node.is_unschedulable for node in self.facts], np.bool_)

    @cached_property
    def _taints(self) -> "_TaintSets":
        code: dict[tuple[Taint, ...], int] = {}
        codes = np.fromiter((code.setdefault(node.taints, len(code)) for node in self.facts), np.int32, len(self))
        return _TaintSets(codes, tuple(code))


class _TaintSets(NamedTuple):
    codes: Codes
    values: tuple[tuple[Taint, ...], ...]


def _has_soft_taint(demand: Demand, taints: tuple[Taint, ...]) -> bool:
    return any(t.effect == "PreferNoSchedule" and not tolerates(demand.tolerations, t) for t in taints)


def taint_text(taint: Taint) -> str:
    """Return a taint as kubectl writes it: `key=value:effect`."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
