"""Fake GPU nodes: the Node objects that kwok, or nobody, keeps alive."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ganglift.playground.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, ApiClient
from ganglift.playground.commands import NO_KUBELET_LABEL
from ganglift.playground.errors import PlaygroundError

GPU = "nvidia.com/gpu"
NAME_PREFIX = "gpu-"
_NODES = "/api/v1/nodes"
_CONNECTIONS = 8
_STATE_TAINTS = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
_PLATFORM = {"os": "linux", "arch": "amd64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeShape:
    """What a node offers, in Kubernetes' quantities, and how it is marked."""

    gpus: int
    cpu: str
    memory: str
    pods: int
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[str] = ()  # as kubectl writes them: key=value:Effect or key:Effect
    resources: Mapping[str, str] = field(default_factory=dict)  # more extended resources


def manifest(name: str, shape: NodeShape, kubelet_version: str, *, is_ready: bool) -> dict[str, Any]:
    """The Node to create. `is_ready` gives it a Ready condition from the start, which else is its kubelet's to set."""
    resources = {
        "cpu": shape.cpu,
        "memory": shape.memory,
        "pods": str(shape.pods),
        "ephemeral-storage": "1Ti",
        **({GPU: str(shape.gpus)} if shape.gpus else {}),
        **shape.resources,
    }
    # The beta labels too, as a kubelet sets them: else the node-lifecycle controller adds them, at 20 nodes a second.
    platform = {f"{prefix}kubernetes.io/{key}": value for key, value in _PLATFORM.items() for prefix in ("", "beta.")}
    labels = {"kubernetes.io/hostname": name, **platform}
    status: dict[str, Any] = {
        "capacity": resources,
        "allocatable": resources,
        "addresses": [{"type": "Hostname", "address": name}],
        "nodeInfo": {"kubeletVersion": kubelet_version, "operatingSystem": "linux", "architecture": "amd64"},
    }
    if is_ready:
        status["conditions"] = [_ready("True", "KubeletReady", "kubelet is posting ready status")]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels | dict(shape.labels)},
        "spec": {"taints": [_taint(each) for each in shape.taints]} if shape.taints else {},
        "status": status,
    }


def create(client: ApiClient, nodes: Sequence[dict[str, Any]], *, untaint: bool = False) -> None:
    """Create many nodes over a few connections.

    `untaint` takes off the not-ready taint that every new node is given: for many nodes at once the node-lifecycle
    controller would take minutes to do that, at its request rate.
    """

    def create_some(share: Sequence[dict[str, Any]]) -> None:
        with client.session() as session:
            for node in share:
                session.request("POST", _NODES, node)
                if untaint:
                    taints = {"spec": {"taints": node["spec"].get("taints")}}
                    session.request("PATCH", f"{_NODES}/{node['metadata']['name']}", taints, content_type=MERGE_PATCH)

    shares = [nodes[start::_CONNECTIONS] for start in range(min(_CONNECTIONS, len(nodes)))]
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        for done in [pool.submit(create_some, share) for share in shares]:
            done.result()


def usable(client: ApiClient) -> set[str]:
    """The names of the nodes that are Ready and no longer tainted for not having been so."""
    nodes = client.get(f"{_NODES}?resourceVersion=0")["items"]
    return {node["metadata"]["name"] for node in nodes if _is_ready(node) and not _is_tainted_by_its_state(node)}


def next_names(client: ApiClient, count: int) -> list[str]:
    """`count` names that continue gpu-0, gpu-1, ..."""
    names = [node["metadata"]["name"].removeprefix(NAME_PREFIX) for node in client.get(_NODES)["items"]]
    first = max((int(name) for name in names if name.isdigit()), default=-1) + 1
    return [f"{NAME_PREFIX}{number}" for number in range(first, first + count)]


def delete(client: ApiClient, name: str) -> None:
    """Delete a node; its pods are left to the controllers, as in a real cluster."""
    client.delete(f"{_NODES}/{name}")


def stop_kubelet(client: ApiClient, name: str) -> None:
    """Take the node's kubelet away and say what the node-lifecycle controller would say of it 50 s later."""
    client.patch(f"{_NODES}/{name}", {"metadata": {"labels": {NO_KUBELET_LABEL: "true"}}})
    condition = _ready("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    client.patch(f"{_NODES}/{name}/status", {"status": {"conditions": [condition]}}, content_type=STRATEGIC_MERGE_PATCH)


def start_kubelet(client: ApiClient, name: str) -> None:
    """Give the node its kubelet back, which makes it Ready."""
    client.patch(f"{_NODES}/{name}", {"metadata": {"labels": {NO_KUBELET_LABEL: None}}})


def _ready(status: str, reason: str, message: str) -> dict[str, str]:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def _taint(text: str) -> dict[str, str]:
    pair, colon, effect = text.rpartition(":")
    key, equals, value = pair.partition("=")
    if not colon or not key:
        raise PlaygroundError(f"a taint is written key=value:Effect or key:Effect, not {text!r}")
    return {"key": key, "effect": effect} | ({"value": value} if equals else {})


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _is_tainted_by_its_state(node: dict[str, Any]) -> bool:
    return any(each["key"] in _STATE_TAINTS for each in node["spec"].get("taints") or [])
