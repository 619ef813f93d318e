"""Who might take nominated room: pods that kube-scheduler was already free to place when it read the nominations."""

from collections.abc import Sequence
from dataclasses import dataclass

from ganglift.api.names import FENCE_LABEL, LIFTED_AT
from ganglift.api.pod import Pod
from ganglift.base.ids import Key
from ganglift.base.wording import noun
from ganglift.engine.cache import Cache
from ganglift.plan.check import could_use
from ganglift.plan.shape import Demand, shape_of
from ganglift.plan.verdict import Placement


@dataclass(frozen=True, slots=True)
class Rival:
    """A pod that could be placed on planned room, and how many more there are."""

    key: Key
    others: int

    def __str__(self) -> str:
        return f"{self.key} and {self.others} more {noun(self.others, 'pod')}" if self.others else str(self.key)


def rival_of(cache: Cache, placements: Sequence[Placement], since: int) -> Rival | None:
    """Return the competition for these placements, None if there is none.

    `since` is the number of the event that showed the last nomination: kube-scheduler reads the same ordered stream,
    so pods that became schedulable later find the nominations in its books. Members that we lifted ourselves onto
    standing nominations, and fences, compete for nothing.
    """
    snapshot = cache.snapshot()
    nodes = sorted({placement.node for placement in placements})
    judged: dict[Demand, bool] = {}
    rivals: list[Pod] = []
    for pod, schedulable_since in cache.loose():
        if schedulable_since > since or _is_ours(pod):
            continue
        shape = shape_of(pod)
        if shape.demand not in judged:
            judged[shape.demand] = could_use(snapshot, shape, nodes)
        if judged[shape.demand]:
            rivals.append(pod)
    if not rivals:
        return None
    first = min(rivals, key=lambda pod: (pod.key, pod.uid))
    return Rival(first.key, len(rivals) - 1)


def adrift_on(cache: Cache, placements: Sequence[Placement]) -> Pod | None:
    """Return a pod that kube-scheduler is binding, nothing shows to which node, and it may be to one of these places.

    No fence answers for it: it may stay so for minutes while its volumes are bound. Room that the placements hold
    themselves counts as free, since the pod may have been given it before.
    """
    snapshot = cache.snapshot()
    nodes = sorted({placement.node for placement in placements})
    own = [placement.uid for placement in placements]
    found = (pod for pod in cache.adrift() if could_use(snapshot, shape_of(pod), nodes, own))
    return min(found, key=lambda pod: (pod.key, pod.uid), default=None)


def _is_ours(pod: Pod) -> bool:
    is_lifted = LIFTED_AT in pod.metadata.annotations and pod.group is not None
    return (is_lifted and bool(pod.nominated)) or FENCE_LABEL in pod.metadata.labels
