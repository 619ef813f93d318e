"""Random small clusters and pods, over every rule that the planner has."""

from random import Random
from typing import Any

from tests.builders import HOST, RACK, ZONE, NodeBuilder, PodBuilder, node, pod

APPS = ("web", "db", "gpu")
NAMESPACES = ("default", "other")
NAMESPACE_LABELS = {"default": {"team": "a"}, "other": {"team": "b"}}


def random_nodes(rng: Random, most: int = 7) -> list[NodeBuilder]:
    """Up to `most` nodes: some in zones and racks, some tainted, cordoned or not ready, some with GPUs."""
    return [_node(rng, f"n{i}") for i in range(rng.randint(1, most))]


def _node(rng: Random, name: str) -> NodeBuilder:
    made = node(name).offers(cpu=rng.randint(1, 8), pods=rng.choice((1, 3, 10)))
    if rng.random() < 0.8:
        made = made.gpus(rng.randint(0, 4))
    if rng.random() < 0.85:
        made = made.zone(rng.choice("abc"))
    if rng.random() < 0.7:
        made = made.rack(rng.choice("xy"))
    if rng.random() < 0.5:
        made = made.label("size", rng.choice(_SIZES))
    if rng.random() < 0.25:
        for key in rng.sample(TAINTS, rng.choice((1, 1, 2))):
            made = made.taint(key, rng.choice(("", "a")), rng.choice(_EFFECTS))
    if rng.random() < 0.1:
        made = made.cordoned()
    return made.unready() if rng.random() < 0.07 else made


TAINTS = ("spot", "gpu")
_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_SIZES = (*"123456789", "08", "large")


def random_pod(rng: Random, name: str, rules: float = 0.25) -> PodBuilder:
    """A pod with each kind of rule at that probability."""
    made = pod(name).label("app", rng.choice(APPS)).label("tier", rng.choice("12")).asks(cpu=rng.randint(0, 3))
    if rng.random() < 0.4:
        made = made.gpu(rng.randint(0, 2))
    if rng.random() < 0.15:
        made = made.namespace("other")
    if rng.random() < rules:
        made = made.host_port(
            rng.choice((80, 81)), rng.choice(("TCP", "UDP")), rng.choice(("", "10.0.0.1", "10.0.0.2"))
        )
    if rng.random() < rules / 2:
        made = made.init("i", sidecar=rng.random() < 0.5, cpu=rng.randint(0, 4))
    if rng.random() < rules / 2:
        made = made.overhead(cpu=1)
    for add in (tolerating, selecting, spreading, near, apart):
        if rng.random() < rules:
            made = add(rng, made)
    return made


def tolerating(rng: Random, made: PodBuilder) -> PodBuilder:
    """Add a toleration: of a key or all, of a value or any, of an effect or all."""
    key = rng.choice(("", *TAINTS, *TAINTS, "node.kubernetes.io/unschedulable"))
    operator = rng.choice(("Equal", "Exists")) if key else "Exists"
    value = rng.choice(("", "a")) if operator == "Equal" else ""
    return made.tolerates(key, value, rng.choice(("", "", *_EFFECTS)), operator)


def selecting(rng: Random, made: PodBuilder) -> PodBuilder:
    """Add a node selector, or one or two terms of a required node affinity."""
    if rng.random() < 0.25:
        return made.node_selector({ZONE: rng.choice("abc")} | ({RACK: "x"} if rng.random() < 0.2 else {}))
    for _ in range(rng.randint(1, 2)):
        fields = [_field(rng)] if rng.random() < 0.25 else []
        expressions = [_expression(rng) for _ in range(rng.choice((0, 1, 2)) if fields else rng.choice((1, 1, 1, 2)))]
        made = made.node_term({} if rng.random() < 0.05 else {"matchExpressions": expressions, "matchFields": fields})
    return made


def _field(rng: Random) -> dict[str, object]:
    return {"key": "metadata.name", "operator": rng.choice(("In", "NotIn")), "values": [f"n{rng.randint(0, 4)}"]}


def _expression(rng: Random) -> dict[str, object]:
    operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    key = "size" if operator in ("Gt", "Lt") else rng.choice((ZONE, RACK, "size"))
    values = {"In": ["a", "x", "5"], "NotIn": ["b", "y"], "Gt": [rng.choice("37")], "Lt": [rng.choice("36")]}
    return {"key": key, "operator": operator, "values": values.get(operator, [])}


def spreading(rng: Random, made: PodBuilder) -> PodBuilder:
    """Add one or two spread constraints."""
    for key in rng.sample((ZONE, RACK, HOST), rng.choice((1, 1, 2))):
        more: dict[str, Any] = {"labelSelector": _selector(rng)}
        if rng.random() < 0.3:
            more["minDomains"] = rng.randint(1, 4)
        if rng.random() < 0.3 and more["labelSelector"] is not None:
            more["matchLabelKeys"] = ["tier"]
        if rng.random() < 0.4:
            more["nodeAffinityPolicy"] = rng.choice(("Honor", "Ignore"))
        if rng.random() < 0.4:
            more["nodeTaintsPolicy"] = rng.choice(("Honor", "Ignore"))
        made = made.spread(key, rng.randint(1, 2), **more)
    return made


def near(rng: Random, made: PodBuilder) -> PodBuilder:
    """Add one or two terms of a required affinity to pods."""
    for _ in range(rng.choice((1, 1, 2))):
        made = made.near(rng.choice((ZONE, RACK, HOST)), {}, **_term(rng))
    return made


def apart(rng: Random, made: PodBuilder) -> PodBuilder:
    """Add a term of a required anti-affinity to pods."""
    return made.apart(rng.choice((ZONE, RACK, HOST)), {}, **_term(rng))


def _term(rng: Random) -> dict[str, Any]:
    more: dict[str, Any] = {"labelSelector": _selector(rng)}
    if rng.random() < 0.2:
        more["namespaces"] = [rng.choice(NAMESPACES)]
    if rng.random() < 0.2:
        more["namespaceSelector"] = rng.choice(({}, {"matchLabels": {"team": rng.choice("ab")}}))
    if rng.random() < 0.2 and more["labelSelector"] is not None:
        more[rng.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["tier"]
    return more


def _selector(rng: Random) -> dict[str, object] | None:
    """Who is meant: all, nobody, or pods by their labels."""
    kind = rng.random()
    if kind < 0.08:
        return {} if kind < 0.05 else None
    if kind < 0.3:
        operator = rng.choice(("NotIn", "In", "Exists", "DoesNotExist"))
        values = rng.sample(APPS, 2) if operator in ("In", "NotIn") else []
        return {"matchExpressions": [{"key": "app", "operator": operator, "values": values}]}
    return {"matchLabels": {"app": rng.choice(APPS)}}


def random_bound(rng: Random, nodes: list[NodeBuilder], most: int = 8) -> list[PodBuilder]:
    """Pods that are bound to the nodes, whether that was ever legal or not, some of them being deleted."""
    found = []
    for i in range(rng.randint(0, most)):
        made = random_pod(rng, f"b{i}", rules=0.15).on(rng.choice(nodes).made.name)
        found.append(made.terminating() if rng.random() < 0.15 else made)
    return found
