"""Manifests as users write them, for the fake cluster, and what their pods show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.fakes.apiserver.refusals import Obj

from ganglift.api.names import GATE, GROUP_LABEL
from ganglift.kube.resources import JOBS, POD_GROUPS

GPU = "nvidia.com/gpu"


def is_gated(pod: Obj) -> bool:
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates", ()))


def node_of(pod: Obj) -> str:
    return str(pod["spec"].get("nodeName", ""))


def nominated(pod: Obj) -> str:
    return str(pod["status"].get("nominatedNodeName", ""))


def node(name: str, gpus: int = 1, **labels: str) -> Obj:
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110", GPU: str(gpus)}
    status = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name} | labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def pod(name: str, group: str = "", *, gpus: int = 1, gates: Iterable[str] = (), **spec: Any) -> Obj:
    """A pod, a gated member where a group is named; `spec` are more fields, in the API's spelling."""
    resources = {"requests": {GPU: str(gpus)}, "limits": {GPU: str(gpus)}} if gpus else {}
    gate_names = [*([GATE] if group else []), *gates]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {GROUP_LABEL: group} if group else {}},
        "spec": {
            "containers": [{"name": "main", "image": "busybox", "resources": resources}],
            "schedulingGates": [{"name": gate} for gate in gate_names],
            **spec,
        },
    }


def pods(group: str, count: int, *, first: int = 0, **more: Any) -> list[Obj]:
    """Members GROUP-0 and so on."""
    return [pod(f"{group}-{number}", group, **more) for number in range(first, first + count)]


def podgroup(name: str, min_count: int | None, **spec: Any) -> Obj:
    """A gang, or a basic group where no count is given."""
    policy: Obj = {"basic": {}} if min_count is None else {"gang": {"minCount": min_count}}
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def job(
    name: str, parallelism: int, *, gpus: int = 1, gang: Obj | None = None, pod_spec: Obj | None = None, **spec: Any
) -> Obj:
    """One of our Jobs, whose pods run until they are ended; all of them are the gang unless `gang` says otherwise."""
    resources = {"requests": {GPU: str(gpus)}, "limits": {GPU: str(gpus)}}
    container = {"name": "main", "image": "busybox", "resources": resources}
    template = {"spec": {"restartPolicy": "Never", "containers": [container], **(pod_spec or {})}}
    scheduling: Obj = {"schedulingPolicy": {"gang": gang or {}}}
    timeout = spec.pop("scheduleTimeoutSeconds", None)
    scheduling |= {"scheduleTimeoutSeconds": timeout} if timeout else {}
    defaults = {"parallelism": parallelism, "completions": parallelism, "completionMode": "NonIndexed"}
    return {
        "apiVersion": JOBS.api_version,
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**defaults, "suspend": False, "template": template, "scheduling": scheduling, **spec},
    }
