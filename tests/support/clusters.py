"""Random small clusters and pods, over every rule that the planner has."""

from random import Random

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
        made = made.label("size", str(rng.randint(1, 9)))
    if rng.random() < 0.25:
        made = made.taint(rng.choice(("spot", "gpu")), rng.choice(("", "a")), rng.choice(_EFFECTS))
    if rng.random() < 0.1:
        made = made.cordoned()
    return made.unready() if rng.random() < 0.07 else made


_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")


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
    for add in (_tolerating, _selecting, _spreading, _near, _apart):
        if rng.random() < rules:
            made = add(rng, made)
    return made


def _tolerating(rng: Random, made: PodBuilder) -> PodBuilder:
    key = rng.choice(("", "spot", "gpu", "node.kubernetes.io/unschedulable"))
    value = rng.choice(("", "a")) if key else ""
    return made.tolerates(key, value, rng.choice(("", "NoSchedule", "NoExecute")))


def _selecting(rng: Random, made: PodBuilder) -> PodBuilder:
    if rng.random() < 0.3:
        return made.node_selector({ZONE: rng.choice("abc")})
    if rng.random() < 0.2:
        return made.needs_node(("metadata.name", rng.choice(("In", "NotIn")), [f"n{rng.randint(0, 4)}"]), fields=True)
    for _ in range(rng.randint(1, 2)):
        operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
        key = "size" if operator in ("Gt", "Lt") else rng.choice((ZONE, RACK, "size"))
        values = {"In": ["a", "x"], "NotIn": ["b", "y"], "Gt": ["3"], "Lt": ["6"]}.get(operator, [])
        made = made.needs_node((key, operator, values))
    return made


def _spreading(rng: Random, made: PodBuilder) -> PodBuilder:
    for _ in range(rng.choice((1, 1, 2))):
        more: dict[str, object] = {"labelSelector": _selector(rng)}
        if rng.random() < 0.3:
            more["minDomains"] = rng.randint(1, 4)
        if rng.random() < 0.3:
            more["matchLabelKeys"] = ["tier"]
        if rng.random() < 0.4:
            more["nodeAffinityPolicy"] = rng.choice(("Honor", "Ignore"))
        if rng.random() < 0.4:
            more["nodeTaintsPolicy"] = rng.choice(("Honor", "Ignore"))
        made = made.spread(rng.choice((ZONE, RACK, HOST)), rng.randint(1, 2), **more)
    return made


def _near(rng: Random, made: PodBuilder) -> PodBuilder:
    for _ in range(rng.choice((1, 1, 2))):
        made = made.near(rng.choice((ZONE, RACK, HOST)), {}, **_term(rng))
    return made


def _apart(rng: Random, made: PodBuilder) -> PodBuilder:
    return made.apart(rng.choice((ZONE, RACK, HOST)), {}, **_term(rng))


def _term(rng: Random) -> dict[str, object]:
    more: dict[str, object] = {"labelSelector": _selector(rng)}
    if rng.random() < 0.2:
        more["namespaces"] = [rng.choice(NAMESPACES)]
    if rng.random() < 0.2:
        more["namespaceSelector"] = rng.choice(({}, {"matchLabels": {"team": rng.choice("ab")}}))
    if rng.random() < 0.2:
        more[rng.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["tier"]
    return more


def _selector(rng: Random) -> dict[str, object]:
    kind = rng.random()
    if kind < 0.08:
        return {}
    if kind < 0.2:
        return {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [rng.choice(APPS)]}]}
    return {"matchLabels": {"app": rng.choice(APPS)}}


def random_bound(rng: Random, nodes: list[NodeBuilder], most: int = 8) -> list[PodBuilder]:
    """Pods that are bound to the nodes, whether that was ever legal or not, some of them being deleted."""
    found = []
    for i in range(rng.randint(0, most)):
        made = random_pod(rng, f"b{i}", rules=0.15).on(rng.choice(nodes).made.name)
        found.append(made.terminating() if rng.random() < 0.15 else made)
    return found
