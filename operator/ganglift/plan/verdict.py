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
    NOT_READY = "not-ready"
    UNSCHEDULABLE = "unschedulable"
    TAINT = "taint"
    NODE_AFFINITY = "node-affinity"
    PORTS = "ports"
    INSUFFICIENT = "insufficient"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True, order=True)
class Cause:
    """A reason why a node can't take a pod. `subject`: the resource, the taint as text, or empty."""

    kind: CauseKind
    subject: str = ""


@dataclass(frozen=True, slots=True)
class CauseCount:
    cause: Cause
    nodes: int


@dataclass(frozen=True, slots=True)
class Placement:
    uid: Uid
    node: NodeName


@dataclass(frozen=True, slots=True)
class Fits:
    """Every needed member has a node. `placements` are a legal sequence: each holds with only the earlier ones bound.

    `unjudged` names what the planner has no rule for: kube-scheduler may still refuse because of it.
    """

    placements: tuple[Placement, ...]
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hole:
    """What is free of the resource that is shortest: `free` units on `nodes` nodes, at most `largest` on one."""

    resource: str
    asked: int
    free: int
    nodes: int
    largest: int


@dataclass(frozen=True, slots=True)
class DoesNotFit:
    """`fit` of the `need` members find a place. Counts are over all `nodes`, as this group found them.

    `proven` is False where a search ended at its budget, so that a plan may exist that was not found. `busy` are the
    nodes that would take a member if their pods were gone.
    """

    need: int
    fit: int
    nodes: int
    fitting_nodes: int
    causes: tuple[CauseCount, ...]
    hole: Hole | None = None
    nearest_miss: str = ""
    busy: tuple[NodeName, ...] = ()
    proven: bool = True
    unjudged: tuple[str, ...] = ()


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
