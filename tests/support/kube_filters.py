"""kube-scheduler's filters once more, written from its source as plainly as can be: what the planner is held against.

One pod, one node, all objects as the API shows them; no arrays, no caches, nothing shared with the planner. Slow.
Source: pkg/scheduler/framework/plugins of Kubernetes v1.37.2 and v1.34.4 with default feature gates.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ganglift.api.node import Node, Taint
from ganglift.api.pod import Pod
from ganglift.api.selectors import LabelSelector, PodAffinityTerm, Requirement, TopologySpreadConstraint
from ganglift.base.quantity import units_of


@dataclass
class World:
    """Nodes, and pods with the node each is bound to."""

    nodes: Sequence[Node]
    bound: list[tuple[Pod, str]] = field(default_factory=list)
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def on(self, node: Node) -> list[Pod]:
        return [pod for pod, name in self.bound if name == node.name]

    def with_bound(self, pod: Pod, node: str) -> "World":
        return World(self.nodes, [*self.bound, (pod, node)], self.namespaces)


def refusals(world: World, pod: Pod, node: Node) -> list[str]:
    """Return the names of the filters that refuse the pod on the node."""
    filters = {
        "Ready": node.is_ready,
        "NodeUnschedulable": not node.spec.unschedulable or _tolerated(pod, _CORDON),
        "TaintToleration": _untolerated(pod, node) is None,
        "NodeAffinity": _affine(pod, node),
        "NodePorts": _ports_free(world, pod, node),
        "NodeResourcesFit": _has_room(world, pod, node),
        "PodTopologySpread": _spread(world, pod, node),
        "InterPodAffinity": _near(world, pod, node) and _apart(world, pod, node) and _not_repelled(world, pod, node),
    }
    return [name for name, passed in filters.items() if not passed]


_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


# Taints


def _untolerated(pod: Pod, node: Node) -> Taint | None:
    hard = (taint for taint in node.spec.taints if taint.effect in ("NoSchedule", "NoExecute"))
    return next((taint for taint in hard if not _tolerated(pod, taint)), None)


def _tolerated(pod: Pod, taint: Taint) -> bool:
    for toleration in pod.spec.tolerations:
        if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
            continue
        if toleration.operator == "Exists" or (toleration.operator == "Equal" and toleration.value == taint.value):
            return True
    return False


# Node selector and affinity


def _affine(pod: Pod, node: Node) -> bool:
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    if not affinity or affinity.required is None:
        return True
    for term in affinity.required.node_selector_terms:
        if not term.match_expressions and not term.match_fields:
            continue
        by_label = all(_meets(one, labels) for one in term.match_expressions)
        if by_label and all(_meets_field(one, node.name) for one in term.match_fields):
            return True
    return False


def _meets(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(requirement.key), requirement.values
    match requirement.operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            if value is None or not re.fullmatch(r"[+-]?\d+", value):
                return False
            return int(value) > int(values[0]) if requirement.operator == "Gt" else int(value) < int(values[0])
    raise AssertionError(requirement.operator)


def _meets_field(requirement: Requirement, name: str) -> bool:
    return (name in requirement.values) == (requirement.operator == "In")


def _selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in selector.match_labels.items()):
        return False
    return all(_meets(one, labels) for one in selector.match_expressions)


# Room and ports


def requests(pod: Pod) -> dict[str, int]:
    """Sum the requests of a pod that is not being resized, of whole-unit quantities."""
    total: dict[str, int] = defaultdict(int)
    peak: dict[str, int] = defaultdict(int)
    sidecars: dict[str, int] = defaultdict(int)
    for container in pod.spec.containers:
        for name, amount in container.resources.requests.items():
            total[name] += units_of(name, amount)
    for container in pod.spec.init_containers:
        asked = {name: units_of(name, amount) for name, amount in container.resources.requests.items()}
        if container.restart_policy == "Always":
            for name, units in asked.items():
                total[name] += units
                sidecars[name] += units
            asked = {}
        for name in {*asked, *sidecars}:
            peak[name] = max(peak[name], asked.get(name, 0) + sidecars[name])
    for name, units in peak.items():
        total[name] = max(total[name], units)
    for name, amount in pod.spec.overhead.items():
        total[name] += units_of(name, amount)
    return total


def _has_room(world: World, pod: Pod, node: Node) -> bool:
    there = world.on(node)
    offered = {name: units_of(name, amount) for name, amount in node.status.allocatable.items()}
    if len(there) + 1 > offered.get("pods", 0):
        return False
    used: dict[str, int] = defaultdict(int)
    for other in there:
        for name, units in requests(other).items():
            used[name] += units
    return all(units <= offered.get(name, 0) - used[name] for name, units in requests(pod).items() if units)


def _ports_free(world: World, pod: Pod, node: Node) -> bool:
    taken = [port for other in world.on(node) for port in _ports(other)]
    return not any(
        number == other_number and protocol == other_protocol and (ip == other_ip or "0.0.0.0" in (ip, other_ip))
        for ip, protocol, number in _ports(pod)
        for other_ip, other_protocol, other_number in taken
    )


def _ports(pod: Pod) -> Iterable[tuple[str, str, int]]:
    for container in pod.spec.containers:
        for port in container.ports:
            if port.host_port:
                yield port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port


# Topology spread


def _spread(world: World, pod: Pod, node: Node) -> bool:
    constraints = [c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]
    for constraint in constraints:
        value = node.metadata.labels.get(constraint.topology_key)
        if value is None:
            return False
        counts = _counts(world, pod, constraint, constraints)
        least = min(counts.values(), default=0)
        if len(counts) < (constraint.min_domains or 1):
            least = 0
        itself = int(_counted(pod, constraint, pod.metadata.labels))
        if counts.get(value, 0) + itself - least > constraint.max_skew:
            return False
    return True


def _counts(
    world: World, pod: Pod, constraint: TopologySpreadConstraint, constraints: Sequence[TopologySpreadConstraint]
) -> dict[str, int]:
    counts: dict[str, int] = {}
    for node in world.nodes:
        labels = node.metadata.labels
        if any(other.topology_key not in labels for other in constraints):
            continue
        if constraint.node_affinity_policy == "Honor" and not _affine(pod, node):
            continue
        if constraint.node_taints_policy == "Honor" and _untolerated(pod, node) is not None:
            continue
        value = labels[constraint.topology_key]
        counts.setdefault(value, 0)
        if _is_empty(pod, constraint):
            continue  # countPodsMatchSelector answers 0 for an empty selector
        for other in world.on(node):
            same_namespace = other.metadata.namespace == pod.metadata.namespace
            if not other.is_deleting and same_namespace and _counted(pod, constraint, other.metadata.labels):
                counts[value] += 1
    return counts


def _is_empty(pod: Pod, constraint: TopologySpreadConstraint) -> bool:
    selector = constraint.label_selector
    keys = [key for key in constraint.match_label_keys if key in pod.metadata.labels]
    return selector is not None and not selector.match_labels and not selector.match_expressions and not keys


def _counted(pod: Pod, constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> bool:
    own = pod.metadata.labels
    same = all(labels.get(key) == own[key] for key in constraint.match_label_keys if key in own)
    return _selects(constraint.label_selector, labels) and same


# Pod affinity


def _required(pod: Pod, kind: str) -> tuple[PodAffinityTerm, ...]:
    affinity = pod.spec.affinity
    side = (affinity.pod_affinity if kind == "near" else affinity.pod_anti_affinity) if affinity else None
    return side.required if side else ()


def _means(world: World, owner: Pod, term: PodAffinityTerm, other: Pod) -> bool:
    namespaces = term.namespaces
    if not namespaces and term.namespace_selector is None:
        namespaces = (owner.metadata.namespace,)
    namespace = other.metadata.namespace
    labels_of_namespace = world.namespaces.get(namespace, {"kubernetes.io/metadata.name": namespace})
    if namespace not in namespaces and not _selects(term.namespace_selector, labels_of_namespace):
        return False
    own, labels = owner.metadata.labels, other.metadata.labels
    same = all(labels.get(key) == own[key] for key in term.match_label_keys if key in own)
    different = all(labels.get(key) != own[key] for key in term.mismatch_label_keys if key in own)
    return _selects(term.label_selector, labels) and same and different


def _near(world: World, pod: Pod, node: Node) -> bool:
    terms = _required(pod, "near")
    if not terms:
        return True
    labels = node.metadata.labels
    if any(term.topology_key not in labels for term in terms):
        return False
    domains: set[tuple[str, str]] = set()
    by_name = {one.name: one.metadata.labels for one in world.nodes}
    for other, name in world.bound:
        if name in by_name and all(_means(world, pod, term, other) for term in terms):
            domains |= {
                (t.topology_key, by_name[name][t.topology_key]) for t in terms if t.topology_key in by_name[name]
            }
    if all((term.topology_key, labels[term.topology_key]) in domains for term in terms):
        return True
    return not domains and all(_means(world, pod, term, pod) for term in terms)


def _apart(world: World, pod: Pod, node: Node) -> bool:
    return not any(
        _means(world, pod, term, other) and _same_domain(world, term.topology_key, name, node)
        for term in _required(pod, "apart")
        for other, name in world.bound
    )


def _not_repelled(world: World, pod: Pod, node: Node) -> bool:
    return not any(
        _means(world, other, term, pod) and _same_domain(world, term.topology_key, name, node)
        for other, name in world.bound
        for term in _required(other, "apart")
    )


def _same_domain(world: World, key: str, name: str, node: Node) -> bool:
    there = next((one.metadata.labels for one in world.nodes if one.name == name), {})
    return key in there and there.get(key) == node.metadata.labels.get(key)
