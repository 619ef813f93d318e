"""Where the informers of pods and nodes push what they see: into the cache."""

from collections.abc import Sequence
from dataclasses import dataclass

from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.engine.cache import Cache


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
