"""Spread constraints and affinity terms, made plain: which pods each means, over which node label.

Sources: `getNamespacesFromPodAffinityTerm`, `AffinityTerm.Matches`, `mergeAffinityTermNamespacesIfNotEmpty` and
`filterTopologySpreadConstraints` in kube-scheduler, `applyMatchLabelKeysAndMismatchLabelKeys` in the API server, which
writes matchLabelKeys into the selector when a pod is made: doing it again here changes nothing, and serves templates.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ganglift.api.selectors import LabelSelector, PodAffinityTerm, Requirement, TopologySpreadConstraint
from ganglift.plan.match import matches_labels
from ganglift.plan.selector import PodSelector
from ganglift.plan.shape import Pairs, Shape

Namespaces = Mapping[str, Mapping[str, str]]

_NAME_LABEL = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class Term:
    """Pods meant by an affinity or anti-affinity term, and the node label that says what is near."""

    key: str
    selector: PodSelector


def spread_selector(shape: Shape, constraint: TopologySpreadConstraint) -> PodSelector:
    """Return the pods that a spread constraint counts: in the pod's own namespace only."""
    requirements = _requirements(constraint.label_selector, constraint.match_label_keys, (), shape.labels)
    return PodSelector(frozenset((shape.namespace,)), requirements)


def affinity_terms(shape: Shape, namespaces: Namespaces) -> tuple[Term, ...]:
    """Return the required affinity terms; one pod must meet all of them."""
    return tuple(_term(shape, term, namespaces) for term in shape.demand.affinity)


def anti_affinity_terms(shape: Shape, namespaces: Namespaces) -> tuple[Term, ...]:
    """Return the required anti-affinity terms; a pod that meets any of them is kept apart."""
    return tuple(_term(shape, term, namespaces) for term in shape.demand.anti_affinity)


def _term(shape: Shape, term: PodAffinityTerm, namespaces: Namespaces) -> Term:
    requirements = _requirements(term.label_selector, term.match_label_keys, term.mismatch_label_keys, shape.labels)
    return Term(term.topology_key, PodSelector(_namespaces(shape, term, namespaces), requirements))


def _namespaces(shape: Shape, term: PodAffinityTerm, namespaces: Namespaces) -> frozenset[str] | None:
    if term.namespace_selector is None:
        return frozenset(term.namespaces or (shape.namespace,))
    if not term.namespace_selector.match_labels and not term.namespace_selector.match_expressions:
        return None
    meant = (name for name, labels in namespaces.items() if matches_labels(term.namespace_selector, labels))
    return frozenset((*term.namespaces, *meant))


def _requirements(
    selector: LabelSelector | None, match_keys: tuple[str, ...], mismatch_keys: tuple[str, ...], labels: Pairs
) -> tuple[Requirement, ...] | None:
    if selector is None:
        return None
    equal = tuple(_equals(key, value) for key, value in selector.match_labels.items())
    own = dict(labels)
    same = tuple(_equals(key, own[key]) for key in match_keys if key in own)
    other = tuple(Requirement(key=k, operator="NotIn", values=(own[k],)) for k in mismatch_keys if k in own)
    return (*equal, *selector.match_expressions, *same, *other)


@lru_cache(maxsize=4096)
def _equals(key: str, value: str) -> Requirement:
    return Requirement(key=key, operator="In", values=(value,))


def implied_labels(namespace: str) -> dict[str, str]:
    """Return the label that the API server sets on every namespace: its name."""
    return {_NAME_LABEL: namespace}


def selectors_of(shape: Shape, namespaces: Namespaces) -> Iterable[PodSelector]:
    """Return who is meant by any rule of the shape."""
    yield from (spread_selector(shape, constraint) for constraint in shape.demand.spread)
    yield from (term.selector for term in affinity_terms(shape, namespaces))
    yield from (term.selector for term in anti_affinity_terms(shape, namespaces))
