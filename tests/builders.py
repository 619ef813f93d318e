"""Objects for tests in one line each, as the API would show them.

    pod("w-0").gang("g").gpu(1).gated().made
    node("n1").gpus(8).label("zone", "a").made

Each step returns a new builder; `made` is the parsed model, `wire` the JSON object. Names stand for uids: pod `w-0` has
uid `uid-w-0`. Pods ask for nothing but what is said; nodes offer 64 cpu, 256Gi of memory and 110 pods.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from ganglift.api.names import GATE, GROUP_LABEL
from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.plan.books import Books, Kind
from ganglift.plan.request import GroupRequest, Member
from ganglift.plan.shape import shape_of

GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
RACK = "topology.kubernetes.io/rack"
HOST = "kubernetes.io/hostname"


@dataclass(frozen=True)
class _Builder:
    """`wire` is the object as JSON; `_with` copies it, so that builders can be shared."""

    wire: dict[str, Any] = field(default_factory=dict)

    def _with(self, *path: str, value: Any) -> Self:
        wire = deepcopy(self.wire)
        at = wire
        for step in path[:-1]:
            at = at.setdefault(step, {})
        at[path[-1]] = value
        return type(self)(wire)

    def _adding(self, *path: str, item: Any) -> Self:
        at: Any = self.wire
        for step in path:
            at = at.get(step, {})
        return self._with(*path, value=[*(at or []), item])

    def label(self, key: str, value: str) -> Self:
        return self._with("metadata", "labels", key, value=value)

    def annotation(self, key: str, value: str) -> Self:
        return self._with("metadata", "annotations", key, value=value)

    def condition(self, kind: str, status: str, reason: str = "") -> Self:
        """Set the condition of that type; there is one of each."""
        others = [each for each in self.wire.get("status", {}).get("conditions", []) if each["type"] != kind]
        return self._with("status", "conditions", value=[*others, {"type": kind, "status": status, "reason": reason}])


class PodBuilder(_Builder):
    @cached_property
    def made(self) -> Pod:
        return Pod.model_validate(self.wire)

    def member(self, created: int = 0) -> Member:
        """The pod as the planner is asked for it."""
        return Member(self.made.uid, self.made.name, shape_of(self.made), created)

    def gang(self, name: str) -> Self:
        return self.label(GROUP_LABEL, name)

    def gated(self, *foreign: str) -> Self:
        """With our gate, and with others."""
        return self._with("spec", "schedulingGates", value=[{"name": name} for name in (GATE, *foreign)])

    def on(self, node: str, phase: str = "Running") -> Self:
        """Bound to the node."""
        return self._with("spec", "nodeName", value=node)._with("status", "phase", value=phase)

    def nominated(self, node: str) -> Self:
        return self._with("status", "nominatedNodeName", value=node)

    def terminating(self) -> Self:
        return self._with("metadata", "deletionTimestamp", value="2026-11-30T12:00:00Z")

    def phase(self, phase: str) -> Self:
        return self._with("status", "phase", value=phase)

    def uid(self, uid: str) -> Self:
        return self._with("metadata", "uid", value=uid)

    def namespace(self, namespace: str) -> Self:
        return self._with("metadata", "namespace", value=namespace)

    def created(self, second: int) -> Self:
        stamp = f"2026-11-30T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"
        return self._with("metadata", "creationTimestamp", value=stamp)

    def owner(self, kind: str, name: str, uid: str, api_version: str = "batch/v1") -> Self:
        reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}
        return self._adding("metadata", "ownerReferences", item=reference)

    def priority(self, priority: int, preempts: bool = True) -> Self:
        policy = "PreemptLowerPriority" if preempts else "Never"
        return self._with("spec", "priority", value=priority)._with("spec", "preemptionPolicy", value=policy)

    def scheduler(self, name: str) -> Self:
        return self._with("spec", "schedulerName", value=name)

    def asks(self, **requests: str | int) -> Self:
        """Requests of its first container by name; `_` stands for `-`: `asks(cpu=1, ephemeral_storage="1Gi")`."""
        builder = self
        for name, amount in requests.items():
            builder = builder.resource(name.replace("_", "-"), amount)
        return builder

    def resource(self, name: str, amount: str | int) -> Self:
        containers = deepcopy(self.wire["spec"]["containers"])
        containers[0].setdefault("resources", {}).setdefault("requests", {})[name] = str(amount)
        return self._with("spec", "containers", value=containers)

    def gpu(self, count: int) -> Self:
        return self.resource(GPU, count)

    def container(self, name: str, **requests: str | int) -> Self:
        """A further container."""
        return self._adding("spec", "containers", item=_container(name, requests))

    def init(self, name: str, *, sidecar: bool = False, **requests: str | int) -> Self:
        container = _container(name, requests) | ({"restartPolicy": "Always"} if sidecar else {})
        return self._adding("spec", "initContainers", item=container)

    def overhead(self, **amounts: str | int) -> Self:
        return self._with("spec", "overhead", value={name: str(amount) for name, amount in amounts.items()})

    def pod_level(self, **requests: str | int) -> Self:
        """Requests of the pod as a whole."""
        builder = self
        for name, amount in requests.items():
            builder = builder._with("spec", "resources", "requests", name, value=str(amount))
        return builder

    def host_port(self, port: int, protocol: str = "TCP", ip: str = "", *, of: str = "containers") -> Self:
        """A port of the first container, or of the first of `initContainers`."""
        containers = deepcopy(self.wire["spec"][of])
        containers[0].setdefault("ports", []).append({"hostPort": port, "protocol": protocol, "hostIP": ip})
        return self._with("spec", of, value=containers)

    def selects(self, **labels: str) -> Self:
        return self._with("spec", "nodeSelector", value=labels)

    def node_selector(self, labels: dict[str, str]) -> Self:
        return self._with("spec", "nodeSelector", value=labels)

    def needs_node(self, *expressions: tuple[str, str, list[str]], fields: bool = False) -> Self:
        """A further term of the required node affinity; `needs_node(("metadata.name", "In", ["n1"]), fields=True)`."""
        requirements = [{"key": key, "operator": op, "values": values} for key, op, values in expressions]
        return self.node_term({"matchFields" if fields else "matchExpressions": requirements})

    def node_term(self, term: dict[str, Any]) -> Self:
        """A further term of the required node affinity, as the API has it."""
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        return self._adding("spec", "affinity", "nodeAffinity", required, "nodeSelectorTerms", item=term)

    def tolerates(self, key: str = "", value: str = "", effect: str = "", operator: str = "") -> Self:
        """Tolerates `key=value`, or any value of the key where none is given."""
        operator = operator or ("Equal" if value else "Exists")
        toleration = {"key": key, "value": value, "effect": effect, "operator": operator}
        return self._adding("spec", "tolerations", item=toleration)

    def spread(self, key: str, max_skew: int = 1, when: str = "DoNotSchedule", **more: Any) -> Self:
        """A spread constraint over the pods of its own gang, unless `labelSelector` says otherwise."""
        selector = {"matchLabels": {GROUP_LABEL: self.wire["metadata"].get("labels", {}).get(GROUP_LABEL, "")}}
        constraint = {"maxSkew": max_skew, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}
        return self._adding("spec", "topologySpreadConstraints", item=constraint | more)

    def near(self, key: str, selector: dict[str, str], **more: Any) -> Self:
        """Required affinity to pods with these labels."""
        return self._pod_term("podAffinity", key, selector, more)

    def apart(self, key: str, selector: dict[str, str], **more: Any) -> Self:
        """Required anti-affinity to pods with these labels."""
        return self._pod_term("podAntiAffinity", key, selector, more)

    def _pod_term(self, kind: str, key: str, selector: dict[str, str], more: dict[str, Any]) -> Self:
        term = {"topologyKey": key, "labelSelector": {"matchLabels": selector}} | more
        return self._adding("spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution", item=term)

    def on_host_network(self) -> Self:
        return self._with("spec", "hostNetwork", value=True)

    def claim(self, name: str) -> Self:
        return self.volume(name, persistentVolumeClaim={"claimName": name})

    def volume(self, name: str, **source: Any) -> Self:
        return self._adding("spec", "volumes", item={"name": name, **source})

    def resource_claim(self, name: str) -> Self:
        return self._adding("spec", "resourceClaims", item={"name": name})


class NodeBuilder(_Builder):
    @cached_property
    def made(self) -> Node:
        return Node.model_validate(self.wire)

    def offers(self, **amounts: str | int) -> Self:
        builder = self
        for name, amount in amounts.items():
            builder = builder.resource(name.replace("_", "-"), amount)
        return builder

    def resource(self, name: str, amount: str | int) -> Self:
        return self._with("status", "allocatable", name, value=str(amount))

    def gpus(self, count: int) -> Self:
        return self.resource(GPU, count)

    def zone(self, zone: str) -> Self:
        return self.label(ZONE, zone)

    def rack(self, rack: str) -> Self:
        return self.label(RACK, rack)

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> Self:
        return self._adding("spec", "taints", item={"key": key, "value": value, "effect": effect})

    def unready(self) -> Self:
        return self.condition("Ready", "False")

    def ready(self) -> Self:
        return self._with("status", "conditions", value=[{"type": "Ready", "status": "True"}])

    def cordoned(self) -> Self:
        return self._with("spec", "unschedulable", value=True)


def pod(name: str) -> PodBuilder:
    """A pending pod of the default scheduler in namespace `default` that asks for nothing."""
    return PodBuilder(
        {
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
            "spec": {"containers": [{"name": "main"}]},
            "status": {"phase": "Pending"},
        }
    )


def node(name: str) -> NodeBuilder:
    """A ready node with room for plain pods and its hostname label."""
    return NodeBuilder(
        {
            "metadata": {"name": name, "uid": f"uid-{name}", "labels": {HOST: name}},
            "status": {
                "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    )


def members(count: int, like: PodBuilder, prefix: str = "") -> tuple[Member, ...]:
    """So many members like that pod, named PREFIX-0 and on."""
    prefix = prefix or like.made.name
    named = (
        like._with("metadata", "name", value=f"{prefix}-{i}")._with("metadata", "uid", value=f"uid-{prefix}-{i}")
        for i in range(count)
    )
    return tuple(builder.member(i) for i, builder in enumerate(named))


def gang(name: str, members: tuple[Member, ...], need: int | None = None, **more: Any) -> GroupRequest:
    """A group that waits for `need` of the members, all of them where it is not said."""
    need = len(members) if need is None else need
    return GroupRequest(Key("default", name), Uid(f"uid-{name}"), need, members, **more)


def books(nodes: list[NodeBuilder], pods: list[PodBuilder] | None = None) -> Books:
    """Books with these nodes, and these pods where they are bound, nominated or pinned."""
    kept = Books()
    for one in nodes:
        kept.set_node(one.made)
    for one_pod in pods or []:
        made = one_pod.made
        if made.is_over:
            continue
        if made.is_bound:
            kept.place(made, made.spec.node_name, Kind.TERMINATING if made.is_deleting else Kind.BOUND)
        elif made.nominated:
            kept.place(made, made.nominated, Kind.RESERVED if made.is_gated else Kind.LIFTED)
    return kept


def node_names(*names: str) -> tuple[NodeName, ...]:
    return tuple(NodeName(name) for name in names)


def _container(name: str, requests: dict[str, str | int]) -> dict[str, Any]:
    asked = {key.replace("_", "-"): str(value) for key, value in requests.items()}
    return {"name": name, "resources": {"requests": asked}}
