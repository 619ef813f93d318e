"""Random gangs on random small clusters, as both kinds of gang scheduling are asked for them.

Members are alike, or differ in size; they keep to a zone, spread over domains, keep off each other, or just take room.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.builders import GPU, HOST, RACK, ZONE, NodeBuilder, PodBuilder, node, pod
from tests.controlplane.oracle.worlds import as_manifest, as_node

from ganglift.api.names import GATE, GROUP_LABEL

Object = dict[str, Any]

GROUP = "gang"
_LABEL = "role"


@dataclass(frozen=True)
class Case:
    """A cluster with pods of others on it, and a gang of which `min_count` must start together."""

    nodes: tuple[Object, ...]
    others: tuple[Object, ...]
    members: tuple[PodBuilder, ...]
    min_count: int
    constraints: Object
    kind: str
    """What makes the gang's place special, in a word or two."""

    @property
    def group_spec(self) -> Object:
        """The spec of the PodGroup, which is the same in both APIs."""
        return {"schedulingPolicy": {"gang": {"minCount": self.min_count}}, **self.constraints}

    def native_pods(self) -> Iterator[Object]:
        for made in self.members:
            manifest = as_manifest(made)
            manifest["spec"]["schedulingGroup"] = {"podGroupName": GROUP}
            yield manifest

    def our_pods(self) -> Iterator[Object]:
        for made in self.members:
            manifest = as_manifest(made.label(GROUP_LABEL, GROUP))
            manifest["spec"]["schedulingGates"] = [{"name": GATE}]
            yield manifest


def random_case(rng: Random) -> Case:
    """A gang of two to eight on three to eight nodes, about as often too big as not."""
    nodes = [_node(rng, f"n{number}") for number in range(rng.randint(3, 8))]
    others = [
        pod(f"other-{number}").gpu(1).label(_LABEL, rng.choice(("worker", "other"))).on(rng.choice(nodes).made.name)
        for number in range(rng.choice((0, 0, 1, 2, 4)))
    ]
    kind = rng.choice(_KINDS)
    sizes = rng.choice(((1,), (1,), (2,), (1, 2), (1, 2, 3)))
    count = rng.randint(2, 8)
    members = [_member(rng, number, sizes, kind) for number in range(count)]
    min_count = count if rng.random() < 0.7 else rng.randint(1, count)
    topology = {ZONE: "one zone", RACK: "one rack"}
    key = next((key for key, name in topology.items() if name == kind), None)
    return Case(
        nodes=tuple(as_node(one.wire) for one in nodes),
        others=tuple(as_manifest(one) for one in others),
        members=tuple(members),
        min_count=min_count,
        constraints={"schedulingConstraints": {"topology": [{"key": key}]}} if key else {},
        kind=f"{kind}, mixed sizes" if len({member.made.spec.model_dump_json() for member in members}) > 1 else kind,
    )


_KINDS = ("room", "room", "one zone", "one rack", "spread", "apart", "together", "selected")


def _node(rng: Random, name: str) -> NodeBuilder:
    made = node(name).gpus(rng.randint(0, 4)).offers(cpu=rng.randint(2, 8))
    zone = rng.choice("ab")
    made = made.zone(zone).rack(zone + rng.choice("12"))
    return made.taint("spot") if rng.random() < 0.1 else made


def _member(rng: Random, number: int, sizes: tuple[int, ...], kind: str) -> PodBuilder:
    made = pod(f"member-{number}").label(_LABEL, "worker").asks(cpu=rng.choice((0, 1)) if len(sizes) > 1 else 1)
    made = made.resource(GPU, rng.choice(sizes))
    workers = {_LABEL: "worker"}
    match kind:
        case "spread":
            return made.spread(ZONE, 1, labelSelector={"matchLabels": workers})
        case "apart":
            return made.apart(HOST, workers)
        case "together":
            return made.near(ZONE, workers)
        case "selected":
            return made.node_selector({ZONE: "a"})
    return made
