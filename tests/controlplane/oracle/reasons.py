"""kube-scheduler's words for a refusal, held against the planner's causes.

kube-scheduler names for each node the first filter that refuses it, and counts nodes by that. Pinned pods find every
node but one short of the pin, unless an earlier filter refuses it. So the counts of early filters can be told for all
nodes, and a late filter is only ever named for the one node.
"""

import re
from collections import Counter
from collections.abc import Iterable

from tests.controlplane.oracle.planner import AMONG_PODS

from ganglift.base.quantity import PODS
from ganglift.plan.filters import check
from ganglift.plan.room import Room
from ganglift.plan.shape import Shape
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.verdict import Cause, CauseKind

EARLY = {
    CauseKind.UNSCHEDULABLE: "node(s) were unschedulable",
    CauseKind.TAINT: "node(s) had untolerated taint(s)",
    CauseKind.NODE_AFFINITY: "node(s) didn't match Pod's node affinity/selector",
    CauseKind.PORTS: "node(s) didn't have free ports for the requested pod ports",
}
_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
_SKEW = "node(s) didn't match pod topology spread constraints"
LATE = (
    {
        "node(s) had no available disk": CauseKind.DISK,
        _IN_USE: CauseKind.CLAIM_IN_USE,
        "node(s) exceed max volume count": CauseKind.VOLUME_LIMIT,
        "node(s) didn't match PersistentVolume's node affinity": CauseKind.VOLUME_AFFINITY,
        "node(s) had no available volume zone": CauseKind.VOLUME_ZONE,
    },
    {f"{_SKEW} (missing required label)": CauseKind.NO_LABEL, _SKEW: CauseKind.SPREAD},
    {
        "node(s) didn't match pod affinity rules": CauseKind.AFFINITY,
        "node(s) didn't match pod anti-affinity rules": CauseKind.ANTI_AFFINITY,
        "node(s) didn't satisfy existing pods anti-affinity rules": CauseKind.ANTI_AFFINITY,
    },
)
"""Filters after the one that looks at room, in their order."""
_KINDS = {words: kind for group in LATE for words, kind in group.items()}
_COUNT = re.compile(r"(\d+) (.+?)(?:, (?=\d+ )|\.(?: |$))")
_NARROWED = "didn't satisfy plugin(s)"


def counted(words: str) -> Counter[str]:
    """Return how many nodes kube-scheduler counts under which reason; none where it never came to look at nodes."""
    listed = words.partition(" available: ")[2].partition(" no new claims")[0].partition(" preemption:")[0]
    return Counter({reason: int(count) for count, reason in _COUNT.findall(listed)})


def early_counts(snapshot: Snapshot, shape: Shape) -> Counter[str]:
    """Return what the planner counts under the reasons of filters up to room, by the first for each node."""
    found: Counter[str] = Counter()
    short = Room(snapshot).insufficient(shape.demand)
    for at, node in enumerate(snapshot.names):
        kinds = {cause.kind for cause in check(snapshot, shape, node)}
        first = next((words for kind, words in EARLY.items() if kind in kinds), None)
        if first is not None:
            found[first] += 1
        else:
            found.update(_insufficient(resource) for resource, lacks in short.items() if lacks[at])
    return found


def _insufficient(resource: str) -> str:
    return "Too many pods" if resource == PODS else f"Insufficient {resource}"


def decided_by(words: str, causes: Iterable[Cause]) -> CauseKind:
    """Return why kube-scheduler refused the node: what it names if that is a late reason, else the first of ours."""
    late = [kind for reason, kind in _KINDS.items() if reason in counted(words)]
    kinds = {cause.kind for cause in causes}
    first = (kind for kind in (CauseKind.CLAIM, *EARLY, CauseKind.INSUFFICIENT, *_KINDS.values()) if kind in kinds)
    return next(iter((*late, *first)))


def complaint(words: str, snapshot: Snapshot, shape: Shape, causes: Iterable[Cause]) -> str:
    """Return in what the planner's causes for the one node, or its counts over all, are not what was said."""
    said = counted(words)
    kinds = {cause.kind for cause in causes}
    if not said:
        return "" if CauseKind.CLAIM in kinds or CauseKind.NODE_AFFINITY in kinds else "refused before nodes were seen"
    if any(_NARROWED in reason for reason in said):
        return ""  # some nodes were not looked at at all
    late = {reason: count for reason, count in said.items() if reason in _KINDS}
    early, ours = said - Counter(late), early_counts(snapshot, shape)
    if early != ours:
        return f"counts {dict(ours)}"
    at = next((at for at, group in enumerate(LATE) if not late.keys().isdisjoint(group)), None)
    if at is None:
        return "" if kinds & {*EARLY, CauseKind.INSUFFICIENT} else "has a late cause only"
    stricter = AMONG_PODS if snapshot.standing else frozenset[CauseKind]()
    ruled_out = [kind for group in LATE[:at] for kind in group.values() if kind in kinds - stricter]
    if list(late.values()) != [1] or ruled_out or _KINDS[next(iter(late))] not in kinds:
        return "has other late causes"
    return ""
