"""A cache with three nodes, and a listener that remembers what it was told."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.builders import GPU, PodBuilder, node

from ganglift.api.pod import Pod
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.engine.cache import Cache
from ganglift.plan.snapshot import Kind


@dataclass
class Told:
    """What a listener was told."""

    changed: list[Key] = field(default_factory=list)
    grew: list[Key | None] = field(default_factory=list)
    returned: int = 0
    ended: list[str] = field(default_factory=list)
    bound: list[Key] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    pinned: list[str] = field(default_factory=list)

    def group_changed(self, key: Key) -> None:
        self.changed.append(key)

    def member_ends(self, pod: Pod) -> None:
        self.ended.append(pod.name)

    def pod_left(self, pod: Pod) -> None:
        self.left.append(pod.name)

    def pinned_changed(self, node: str) -> None:
        self.pinned.append(node)

    def capacity_grew(self, by: Key | None = None) -> None:
        self.grew.append(by)

    def room_returned(self) -> None:
        self.returned += 1

    def volumes_changed(self, key: Key) -> None:
        self.bound.append(key)


class KeptCache(Cache):
    """A cache with nodes n1 to n3 of one GPU each, whose listener has forgotten how it was filled."""

    def __init__(self) -> None:
        self.told = Told()
        super().__init__(self.told)
        for number in (1, 2, 3):
            self.upsert_node(node(f"n{number}").gpus(1).made)
        self.quiet()

    def quiet(self) -> None:
        self.told.changed, self.told.grew, self.told.returned, self.told.bound = [], [], 0, []

    def show(self, *builders: PodBuilder) -> None:
        for builder in builders:
            self.upsert_pod(builder.made)

    def used(self, name: str) -> int:
        snapshot = self.snapshot()
        if GPU not in snapshot.columns:
            return 0
        used: int = snapshot.used[snapshot.table.position[NodeName(name)]][snapshot.columns[GPU]]
        return int(used)

    def kind(self, name: str) -> Kind | None:
        return self.books.kind_of(Uid(f"uid-{name}"))
