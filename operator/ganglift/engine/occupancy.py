"""Who is on the nodes, as preemption and holds look at it: what each pod is worth, and when it is expected to end."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from ganglift.api.names import TAKEN_BACK
from ganglift.api.pod import Pod
from ganglift.api.policy import DisruptionBudget
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.gang.membership import bound_at
from ganglift.plan.match import matches_labels
from ganglift.plan.shape import shape_of
from ganglift.plan.victims import Evictable

MOST_KINDS = 1000
MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a static pod, which its kubelet keeps whatever happens to it in the API."""


class Worth(NamedTuple):
    """What a gang's members count as when they are to be evicted, and whether they go together."""

    priority: int
    is_whole: bool


def is_mobile(pod: Pod) -> bool:
    """Whether the pod is on a node, and leaves it when it ends or is evicted: a DaemonSet's is there again at once."""
    if not pod.is_bound or pod.is_over or pod.is_deleting:
        return False
    owner = pod.controller
    stays = owner is not None and owner.kind in ("DaemonSet", "Node")
    return not stays and MIRROR not in pod.metadata.annotations


def evictable(
    pods: Iterable[Pod], worths: Mapping[Key, Worth], budgets: Iterable[DisruptionBudget], below: int
) -> list[Evictable]:
    """Return the pods that might be evicted for a gang of that priority."""
    by_namespace: dict[str, list[DisruptionBudget]] = {}
    for budget in budgets:
        by_namespace.setdefault(budget.metadata.namespace, []).append(budget)
    found: list[Evictable] = []
    for pod in pods:
        if pod.spec.priority >= below or not is_mobile(pod) or TAKEN_BACK in pod.metadata.annotations:
            continue
        worth = worths.get(pod.group) if pod.group is not None else None
        priority = max(pod.spec.priority, worth.priority) if worth is not None else pod.spec.priority
        if priority < below:
            unit = str(pod.group) if worth is not None and worth.is_whole else pod.uid
            meant = (b for b in by_namespace.get(pod.metadata.namespace, ()) if _means(b, pod))
            found.append(Evictable(pod.uid, priority, unit, _started(pod), tuple(str(b.key) for b in meant)))
    return found


def _means(budget: DisruptionBudget, pod: Pod) -> bool:
    return matches_labels(budget.spec.selector, pod.metadata.labels)


def _begun(pod: Pod) -> datetime | None:
    """Return when the pod was started or, where no kubelet has told, bound."""
    return pod.status.start_time or bound_at(pod)


def _started(pod: Pod) -> int:
    begun = _begun(pod)
    return int(begun.timestamp()) if begun is not None else 0


def lower_nodes(pods: Iterable[Pod], priority: int) -> frozenset[NodeName]:
    """Return the nodes that some pod of lower priority is on.

    To hold these would make other pods' preemption evict more than it has to.
    """
    return frozenset(
        NodeName(pod.spec.node_name)
        for pod in pods
        if pod.is_bound and not pod.is_over and not pod.is_deleting and pod.spec.priority < priority
    )


def _kind_of(pod: Pod) -> tuple[object, ...]:
    return pod.metadata.namespace, shape_of(pod).demand.requests


@dataclass(slots=True)
class RunTimes:
    """How long pods ran that have ended, by namespace and what they ask for: like pods run about as long."""

    _seen: dict[tuple[object, ...], float] = field(default_factory=dict)

    def note(self, pod: Pod, now: datetime) -> None:
        """Take a pod that has left its node."""
        begun = _begun(pod)
        if begun is None:
            return
        ran = max((now - begun).total_seconds(), 0.0)
        kind = _kind_of(pod)
        known = self._seen.pop(kind, ran)
        self._seen[kind] = known + (ran - known) / 8
        if len(self._seen) > MOST_KINDS:
            del self._seen[next(iter(self._seen))]  # what has not ended for the longest time

    def end_of(self, pod: Pod) -> float | None:
        """Return when the pod is expected to end, in seconds since the epoch; None where nothing tells."""
        begun = _begun(pod)
        if begun is None:
            return None
        known = self._seen.get(_kind_of(pod))
        limit = pod.spec.active_deadline_seconds
        spans = [span for span in (known, limit) if span is not None]
        return begun.timestamp() + min(spans) if spans else None

    def in_order_of_end(self, pods: Iterable[Pod]) -> list[Uid]:
        """Return the pods that will leave their nodes, the one that is expected to end first at the front.

        Those of which nothing is known come last, the oldest first.
        """
        mobile = ((self.end_of(pod), _started(pod), pod.uid) for pod in pods if is_mobile(pod))
        known = sorted(mobile, key=lambda one: (one[0] is None, one[0] or 0.0, one[1], one[2]))
        return [uid for _, _, uid in known]
