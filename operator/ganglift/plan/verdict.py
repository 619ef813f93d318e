"""The planner's answers, as values. Words for them are made in one place, `plan.words`.

A verdict is `Fits`, `DoesNotFit`, or, under the strict policy, `Behind`. Causes are counted over nodes, as
kube-scheduler counts them: a node short of two resources is counted under both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ganglift.base.ids import Key, NodeName, Uid


class CauseKind(StrEnum):
    """Why a node can't take a pod. The order is the one in which kube-scheduler looks, and we name the first."""

    AVOIDED = "avoided"
    CLAIM = "claim"
    NOT_READY = "not-ready"
    UNSCHEDULABLE = "unschedulable"
    TAINT = "taint"
    NODE_AFFINITY = "node-affinity"
    PORTS = "ports"
    INSUFFICIENT = "insufficient"
    DISK = "disk"
    CLAIM_IN_USE = "claim-in-use"
    VOLUME_LIMIT = "volume-limit"
    VOLUME_AFFINITY = "volume-affinity"
    VOLUME_ZONE = "volume-zone"
    NO_LABEL = "no-label"
    SPREAD = "spread"
    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    DOMAIN = "domain"


@dataclass(frozen=True, slots=True, order=True)
class Cause:
    """A reason why a node can't take a pod. `subject`: resource, taint, label key, claim or volume, or empty."""

    kind: CauseKind
    subject: str = ""


@dataclass(frozen=True, slots=True)
class CauseCount:
    cause: Cause
    nodes: int


Pin = tuple[str, str]
"""A node label, key and value, that keeps a member in its topology domain whatever happens to its node."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A member and its node. `pins` are for its node selector: the domains of all Required topology levels."""

    uid: Uid
    node: NodeName
    pins: tuple[Pin, ...] = ()


@dataclass(frozen=True, slots=True)
class Fits:
    """Every needed member has a node. `placements` are a legal sequence: each holds with only the earlier ones bound.

    `in_sequence`: members bear on each other, so they must be lifted one after another, in this order. `held_back` are
    members that must not be nominated before the earlier ones on their node are bound, for kube-scheduler counts a
    node's nominated pods toward spread and would refuse those. `unjudged` names what the planner has no rule for:
    kube-scheduler may still refuse because of it.
    """

    placements: tuple[Placement, ...]
    unjudged: tuple[str, ...] = ()
    in_sequence: bool = False
    held_back: frozenset[Uid] = frozenset()


@dataclass(frozen=True, slots=True)
class Hole:
    """What is free of the resource that is shortest: `free` units on `nodes` nodes, at most `largest` on one.

    Those are nodes open to the members. `closed_free` units more are free on `closed_nodes` nodes that are not: they
    refuse the members, or are outside the domain that was looked at.
    """

    resource: str
    asked: int
    free: int
    nodes: int
    largest: int
    closed_free: int = 0
    closed_nodes: int = 0


@dataclass(frozen=True, slots=True)
class MoreNodes:
    """It would fit with `count` more nodes that have so much free each, and these labels, all else as it is.

    `requests` are (resource, units), devices first. `by_affinity`: they must also be what the required node affinity
    asks for.
    """

    count: int
    requests: tuple[tuple[str, int], ...]
    labels: tuple[tuple[str, str], ...] = ()
    by_affinity: bool = False


@dataclass(frozen=True, slots=True)
class FreeUp:
    """It would fit if `units` more of the resource came free on the node."""

    resource: str
    units: int
    node: NodeName


@dataclass(frozen=True, slots=True)
class Tolerate:
    """It would fit if the pods tolerated the taint, which keeps them off `nodes` nodes."""

    taint: str
    nodes: int


@dataclass(frozen=True, slots=True)
class Uncordon:
    """It would fit if these nodes, the fewest that are enough, were uncordoned."""

    nodes: tuple[NodeName, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """It would fit if these nodes, the fewest that are enough, got the labels. None has another value for one."""

    labels: tuple[tuple[str, str], ...]
    nodes: tuple[NodeName, ...]


NearMiss = MoreNodes | FreeUp | Tolerate | Uncordon | Label


@dataclass(frozen=True, slots=True)
class DomainMiss:
    """No domain of the label `key` holds the gang. `best` is the one that holds most, empty where there is none."""

    key: str
    best: str
    domains: int


@dataclass(frozen=True, slots=True)
class DoesNotFit:
    """`fit` of the `need` members find a place. Causes are counted over the nodes that none of those is on.

    `fitting_nodes` of all `nodes` are those that take a member. `proven` is False where a search ended at its budget,
    so that a plan may exist that was not found. `busy` are the nodes that would take a member if their pods were gone.
    `absent` members are needed and were not given at all. `closed` counts what keeps further members off the nodes that
    take some, where members bear on each other.
    """

    need: int
    fit: int
    nodes: int
    fitting_nodes: int
    causes: tuple[CauseCount, ...]
    hole: Hole | None = None
    near_misses: tuple[NearMiss, ...] = ()
    domain: DomainMiss | None = None
    busy: tuple[NodeName, ...] = ()
    proven: bool = True
    unjudged: tuple[str, ...] = ()
    absent: int = 0
    closed: tuple[CauseCount, ...] = ()


@dataclass(frozen=True, slots=True)
class Behind:
    """Not looked at: under the strict policy this group waits for one before it in the queue that does not fit."""

    blocker: Key


Verdict = Fits | DoesNotFit | Behind


@dataclass(frozen=True, slots=True)
class PlanResult:
    """Verdicts in queue order, and where members beyond need would go once every gang has been seen to."""

    verdicts: Mapping[Key, Verdict]
    extras: Mapping[Key, tuple[Placement, ...]] = field(default_factory=dict)
