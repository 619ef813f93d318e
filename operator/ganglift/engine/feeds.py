"""Where informers push what they see: into the cache; and the informers of what planning knows beside nodes and pods.

Those kinds are of use where pods have claims or look at namespaces, so nothing waits for ever for them: one that may
not be listed is not known, and what depends on it is told as not judged, until the permission comes. One that the
cluster does not serve (device classes before Kubernetes 1.34) has no objects.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ganglift.api.model import Object
from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.api.policy import DisruptionBudget
from ganglift.api.storage import Claim, CsiNode, DeviceClass, Namespace, PersistentVolume, StorageClass
from ganglift.base.clock import Clock
from ganglift.engine.cache import Cache
from ganglift.engine.facts import Facts
from ganglift.kube.client import Client
from ganglift.kube.errors import Forbidden, KubeError, NotFound
from ganglift.kube.informer import Informer
from ganglift.kube.resources import (
    CSI_NODES,
    DEVICE_CLASSES,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    STORAGE_CLASSES,
    Resource,
)

T = TypeVar("T", bound=Object)

LEDGER_RESOURCES: tuple[tuple[Resource, type[Object]], ...] = (
    (PERSISTENT_VOLUME_CLAIMS, Claim),
    (PERSISTENT_VOLUMES, PersistentVolume),
    (STORAGE_CLASSES, StorageClass),
    (CSI_NODES, CsiNode),
    (NAMESPACES, Namespace),
    (DEVICE_CLASSES, DeviceClass),
    (POD_DISRUPTION_BUDGETS, DisruptionBudget),
)


@dataclass(frozen=True, slots=True)
class PodFeed:
    """Sink of the pods' informer."""

    cache: Cache

    def replace(self, objects: Sequence[Pod], resource_version: str) -> None:
        self.cache.replace_pods(objects)

    def upsert(self, obj: Pod) -> None:
        self.cache.upsert_pod(obj)

    def delete(self, obj: Pod) -> None:
        self.cache.delete_pod(obj)


@dataclass(frozen=True, slots=True)
class NodeFeed:
    """Sink of the nodes' informer."""

    cache: Cache

    def replace(self, objects: Sequence[Node], resource_version: str) -> None:
        self.cache.replace_nodes(objects)

    def upsert(self, obj: Node) -> None:
        self.cache.upsert_node(obj)

    def delete(self, obj: Node) -> None:
        self.cache.delete_node(obj)


@dataclass(slots=True)
class LedgerFeed(Generic[T]):
    """Sink of the informer of another kind. `settled` once it is known, or known that it can't be."""

    facts: Facts
    kind: type[T]
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    _is_filled: bool = False

    def replace(self, objects: Sequence[T], resource_version: str) -> None:
        self._is_filled = True
        self.facts.replace(self.kind, objects)
        self.settled.set()

    def upsert(self, obj: T) -> None:
        self.facts.put(obj)

    def delete(self, obj: T) -> None:
        self.facts.drop(obj)

    def parse(self, data: bytes) -> T:
        """Make an object of its JSON. Raises ValueError."""
        return self.kind.model_validate_json(data)

    def troubled(self, error: KubeError | None) -> None:
        """Take what keeps the informer from its work; None when it works again."""
        match error:
            case Forbidden(request=request):
                self.facts.lose(self.kind, f"the operator may not {request.verb} {request.resource}")
                self.settled.set()
            case NotFound(request=request) if self._is_filled:
                self.facts.lose(self.kind, f"the cluster does not serve {request.resource} any more")
            case NotFound():
                self.facts.replace(self.kind, ())
                self.settled.set()
            case None if self._is_filled:
                self.facts.regain(self.kind)


def ledger_informers(client: Client, facts: Facts, clock: Clock) -> list[tuple[Informer[Any], LedgerFeed[Any]]]:
    """Return an informer with its sink for each kind of the ledger."""
    feeds = [(resource, LedgerFeed(facts, kind)) for resource, kind in LEDGER_RESOURCES]
    return [
        (Informer(client, resource, feed.parse, feed, clock=clock, troubled=feed.troubled), feed)
        for resource, feed in feeds
    ]
