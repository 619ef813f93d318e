"""The planner's answer to the same question, from what the same API server shows."""

from dataclasses import dataclass
from typing import Any

from ganglift.api.node import Node, NodeStatus
from ganglift.api.pod import Pod
from ganglift.api.storage import Claim, CsiNode, DeviceClass, Namespace, PersistentVolume, StorageClass
from ganglift.base.ids import NodeName
from ganglift.engine.cache import Cache
from ganglift.offline.kinds import BY_MODEL
from ganglift.offline.outlook import Unheard
from ganglift.plan.filters import check
from ganglift.plan.shape import Shape, shape_of
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.verdict import Cause, CauseKind
from ganglift.playground.client import ApiClient

Object = dict[str, Any]

AMONG_PODS = frozenset((CauseKind.SPREAD, CauseKind.AFFINITY, CauseKind.ANTI_AFFINITY, CauseKind.CLAIM_IN_USE))
"""Rules that count pods on other nodes too: there the planner is stricter about pods that may be bound any moment."""
_FACTS = (Claim, PersistentVolume, StorageClass, CsiNode, Namespace, DeviceClass)


@dataclass(frozen=True)
class Planner:
    """`snapshot` is of the cluster as it is; in `unstrict` nodes that are not ready are taken as if they were.

    kube-scheduler looks at taints only, so its answer is held against the latter. In `unreserved` no room is kept for
    pods that have only a nomination either.
    """

    snapshot: Snapshot
    unstrict: Snapshot
    unreserved: Snapshot

    @classmethod
    def of(cls, client: ApiClient) -> "Planner":
        """Read the cluster through the cache that the operator plans on."""
        cache = Cache(Unheard())
        for model in _FACTS:
            for item in client.get(BY_MODEL[model].resource.path())["items"]:
                cache.books.ledger.put(model.model_validate(item))
            cache.books.ledger.listed(model)
        nodes = [Node.model_validate(item) for item in client.get(BY_MODEL[Node].resource.path())["items"]]
        pods = [Pod.model_validate(item) for item in client.get(BY_MODEL[Pod].resource.path())["items"]]
        cache.replace_pods(pods)
        cache.replace_nodes(nodes)
        snapshot = cache.snapshot()
        cache.replace_nodes(node.model_copy(update={"status": _ready(node)}) for node in nodes)
        unstrict = cache.snapshot()
        cache.replace_pods(pod for pod in pods if pod.is_bound)
        return cls(snapshot, unstrict, cache.snapshot())

    def shape(self, pod: Object) -> Shape:
        return shape_of(Pod.model_validate(pod))

    def causes(self, pod: Object, node: str) -> tuple[Cause, ...]:
        """Why the node can't take the pod, readiness aside."""
        return check(self.unstrict, self.shape(pod), NodeName(node))

    def strict_causes(self, pod: Object, node: str) -> tuple[Cause, ...]:
        """Why the node can't take the pod."""
        return check(self.snapshot, self.shape(pod), NodeName(node))

    def is_refused_for_reservations(self, pod: Object, node: str) -> bool:
        """Whether the node would take the pod, were it not for rules that bear on it and pods with a nomination."""
        kinds = {cause.kind for cause in self.causes(pod, node)}
        return bool(kinds) and kinds <= AMONG_PODS and not check(self.unreserved, self.shape(pod), NodeName(node))

    def is_ready(self, node: str) -> bool:
        table = self.snapshot.table
        return table.facts[table.position[NodeName(node)]].is_ready


def _ready(node: Node) -> NodeStatus:
    return node.status.model_copy(update={"conditions": ()})
