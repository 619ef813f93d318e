"""All pods that hold a place, as parallel arrays, and which of them a label selector means.

The books keep one column of codes for each label that some rule has looked at, so that a selector over 50,000 pods is a
few array operations. A column that is not there yet is made from the shapes, and the books keep it from then on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ganglift.api.selectors import Requirement
from ganglift.base.ids import Uid
from ganglift.plan.chunks import Chunked, Chunks
from ganglift.plan.match import is_valid, matches_value
from ganglift.plan.nodes import Codes, Mask
from ganglift.plan.selector import Meaning, PodSelector
from ganglift.plan.shape import Demand, Pairs, Shape
from ganglift.plan.terms import Namespaces, Term, anti_affinity_terms


class LabelCodes(NamedTuple):
    """One label over all slots: -1 where the pod lacks it. `code` only ever grows; codes here are below `known`."""

    codes: Codes
    code: dict[str, int]


class Repeller(NamedTuple):
    """An anti-affinity term and the slots of the pods that have it."""

    term: Term
    slots: NDArray[np.intp]


class Repellers(NamedTuple):
    """Repellers by whom they may keep away, and the labels that decides on."""

    by_meaning: Mapping[Meaning, tuple[Repeller, ...]]
    labels: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Occupants:
    """`nodes` are rows of the node table, -1 for a free slot or an unknown node. `wanted` collects labels looked at."""

    nodes: NDArray[np.int32]
    kinds: NDArray[np.int8]
    shapes: Chunks[Shape | None]
    uids: Chunks[Uid]
    namespaces: LabelCodes
    labels: dict[str, LabelCodes]
    repelling: tuple[int, ...]
    """Slots of pods with required anti-affinity of their own."""
    wanted: set[str]
    _matches: dict[PodSelector, Mask] = field(default_factory=dict)
    _repellers: list[Repellers] = field(default_factory=list)

    def repellers(self, namespaces: Namespaces) -> Repellers:
        """Return who keeps pods of which namespace away; the same answer for as long as the snapshot lives."""
        if not self._repellers:
            self._repellers.append(_repellers(self, namespaces))
        return self._repellers[0]

    def matching(self, selector: PodSelector) -> Mask:
        """Return the slots of the pods meant, on whatever node there is."""
        mask = self._matches.get(selector)
        if mask is None:
            mask = self._matches[selector] = self._match(selector)
        return mask

    def _match(self, selector: PodSelector) -> Mask:
        mask = self.nodes >= 0
        if selector.requirements is None:
            return np.zeros_like(mask)
        if selector.namespaces is not None:
            codes = [self.namespaces.code[n] for n in sorted(selector.namespaces) if n in self.namespaces.code]
            mask &= _among(self.namespaces.codes, codes)
        for requirement in selector.requirements:
            mask &= self._where(requirement)
        return mask

    def _where(self, requirement: Requirement) -> Mask:
        if not is_valid(requirement):
            return np.zeros(len(self.nodes), np.bool_)
        codes, code = self._column(requirement.key)
        match requirement.operator:
            case "Exists":
                return codes >= 0
            case "DoesNotExist":
                return codes < 0
            case "In" | "NotIn":
                found = _among(codes, [code[value] for value in requirement.values if value in code])
                return found if requirement.operator == "In" else ~found
        by_value = [matches_value(requirement, value) for value in tuple(code)]
        return np.array([*by_value, False], np.bool_)[codes]

    def _column(self, label: str) -> LabelCodes:
        column = self.labels.get(label)
        if column is None:
            self.wanted.add(label)
            column = self.labels[label] = encode(label, self.shapes)
        return column


def _among(codes: Codes, wanted: Sequence[int]) -> Mask:
    """Return where the code is one of those wanted; comparing with each is much quicker than `isin` for a few."""
    mask = np.zeros(len(codes), np.bool_)
    if len(wanted) > _FEW:
        return np.isin(codes, wanted)
    for one in wanted:
        mask |= codes == one
    return mask


_FEW = 8


def encode(label: str, shapes: Chunks[Shape | None] | Chunked[Shape | None]) -> LabelCodes:
    """Return one label of all shapes as codes."""
    code: dict[str, int] = {}
    values = (shape.label(label) if shape is not None else None for shape in shapes)
    codes = (-1 if value is None else code.setdefault(value, len(code)) for value in values)
    return LabelCodes(np.fromiter(codes, np.int32, len(shapes)), code)


def _repellers(occupants: Occupants, namespaces: Namespaces) -> Repellers:
    """Sort the pods with anti-affinity by what decides whom their terms mean, then by namespace meant."""
    alike: dict[tuple[Demand, str, Pairs], list[int]] = {}
    for slot in occupants.repelling:
        shape = occupants.shapes[slot]
        if shape is not None and occupants.nodes[slot] >= 0:
            alike.setdefault(_deciding(shape), []).append(slot)
    found: dict[Meaning, list[Repeller]] = {}
    for slots in alike.values():
        shape = occupants.shapes[slots[0]]
        for term in anti_affinity_terms(shape, namespaces) if shape is not None else ():
            for meaning in term.selector.meanings():
                found.setdefault(meaning, []).append(Repeller(term, np.array(slots, np.intp)))
    labels = frozenset(pair[0] for _, pair in found if pair is not None)
    return Repellers({meaning: tuple(repellers) for meaning, repellers in found.items()}, labels)


def _deciding(shape: Shape) -> tuple[Demand, str, Pairs]:
    """What the terms of a shape depend on: its demand, namespace, and the labels that they take over."""
    terms = shape.demand.anti_affinity
    taken_over = {key for term in terms for key in (*term.match_label_keys, *term.mismatch_label_keys)}
    return shape.demand, shape.namespace, tuple(pair for pair in shape.labels if pair[0] in taken_over)
