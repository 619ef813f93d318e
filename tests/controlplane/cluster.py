"""A cluster as tests see it: objects in, objects out, and a clean slate before each test."""

import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from tests.support.kubectl import Kubectl
from tests.support.polling import eventually

from ganglift.api.names import GATE, GROUP_LABEL
from ganglift.playground.errors import RequestFailed
from ganglift.playground.playground import Playground

Object = dict[str, Any]

PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
GANG_JOBS = "/apis/batch.ganglift.dev/v1/namespaces/default/jobs"
POD_GROUPS = "/apis/scheduling.ganglift.dev/v1beta1/namespaces/default/podgroups"
WORKLOADS = "/apis/scheduling.ganglift.dev/v1beta1/namespaces/default/workloads"
EVENTS = "/api/v1/namespaces/default/events"
NODES = "/api/v1/nodes"
PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_CLEANED = (GANG_JOBS, WORKLOADS, POD_GROUPS, JOBS, PODS)
_CONNECTIONS = 8


@dataclass(frozen=True)
class Cluster:
    """The default namespace of a playground, and its nodes."""

    playground: Playground

    @cached_property
    def kubectl(self) -> Kubectl:
        return Kubectl(self.playground.kubeconfig)

    # What is there

    def get(self, path: str) -> Object:
        found: Object = self.playground.client.get(path)
        return found

    def exists(self, path: str) -> bool:
        try:
            self.get(path)
        except RequestFailed as error:
            if error.status != 404:
                raise
            return False
        return True

    def items(self, path: str) -> list[Object]:
        found: list[Object] = self.get(path)["items"]
        return found

    def pods(self, group: str | None = None) -> list[Object]:
        """All pods of the namespace, or those that bear the group's label."""
        query = f"?labelSelector={GROUP_LABEL}%3D{group}" if group else ""
        return self.items(PODS + query)

    def bound(self, group: str | None = None) -> dict[str, str]:
        """Node by pod name, of bound pods that live."""
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.pods(group)
            if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]
        }

    def group(self, name: str) -> Object:
        return self.get(f"{POD_GROUPS}/{name}")

    def job(self, name: str) -> Object:
        return self.get(f"{GANG_JOBS}/{name}")

    def condition(self, name: str, kind: str = "Scheduled") -> Object:
        """That condition of a group; empty before there is one."""
        try:
            conditions = self.group(name).get("status", {}).get("conditions", [])
        except RequestFailed:
            return {}
        return next((condition for condition in conditions if condition["type"] == kind), {})

    def events(self, name: str) -> list[Object]:
        """Events about an object of that name, oldest first."""
        found = self.items(f"{EVENTS}?fieldSelector=involvedObject.name%3D{name}")
        return sorted(found, key=lambda event: int(event["metadata"]["resourceVersion"]))

    # What is made of it

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        made: Object = self.playground.client.post(path, body)
        return made

    def create_all(self, path: str, bodies: Sequence[Mapping[str, Any]], *, per_s: float | None = None) -> None:
        """Create many objects over a few connections, in about that order; at most `per_s` a second if given."""
        begun, turn, lock = time.monotonic(), iter(enumerate(bodies)), threading.Lock()

        def create_some(_: int) -> None:
            with self.playground.client.session() as session:
                while True:
                    with lock:
                        number, body = next(turn, (0, None))
                    if body is None:
                        return
                    if per_s is not None:
                        time.sleep(max(0.0, begun + number / per_s - time.monotonic()))
                    session.request("POST", path, body)

        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            for done in [pool.submit(create_some, n) for n in range(_CONNECTIONS)]:
                done.result()

    def ensure(self, path: str, body: Mapping[str, Any]) -> None:
        """Create what tests share and leave behind, such as a PriorityClass, unless it is there."""
        try:
            self.create(path, body)
        except RequestFailed as error:
            if error.status != 409:
                raise

    def ensure_priority_class(self, name: str, value: int, **fields: Any) -> None:
        """Make sure of a class of that name; tests that use a name must agree on its value."""
        self.ensure(PRIORITY_CLASSES, priority_class(name, value, **fields))

    def merge(self, path: str, body: Mapping[str, Any]) -> Object:
        patched: Object = self.playground.client.patch(path, body)
        return patched

    def refusal(self, method: str, path: str, body: Mapping[str, Any], **content: str) -> str:
        """Ask, and return the words in which the API server refuses; empty if it does as asked."""
        with self.playground.client.session() as session:
            try:
                session.request(method, path, body, **content)
            except RequestFailed as error:
                return str(error)
        return ""

    def delete(self, path: str) -> None:
        """Delete with the dependents in the background, as kubectl does."""
        separator = "&" if "?" in path else "?"
        self.playground.client.delete(f"{path}{separator}propagationPolicy=Background")

    def set_min_count(self, group: str, count: int) -> None:
        self.merge(f"{POD_GROUPS}/{group}", {"spec": {"schedulingPolicy": {"gang": {"minCount": count}}}})

    def add_gpu_nodes(self, count: int, *, gpus: int = 1) -> list[str]:
        """Add nodes and return their names once pods can run there."""
        names = [f"gpu-{gpus}x-{number}" for number in range(len(self.items(NODES)), len(self.items(NODES)) + count)]
        for name in names:
            self.playground.add_node(name, gpus=gpus, wait=False)
        for name in names:
            eventually(partial(self.get, f"{NODES}/{name}"), _is_usable, within_s=30)
        return names

    # Waiting

    def await_bound(self, count: int, group: str | None = None, *, within_s: float = 15) -> dict[str, str]:
        """Wait for exactly so many pods to be bound; return node by pod name."""
        return eventually(lambda: self.bound(group), lambda bound: len(bound) == count, within_s=within_s)

    def await_reason(self, group: str, *reasons: str, within_s: float = 15) -> Object:
        """Wait for the group's Scheduled condition to have one of these reasons; return it."""
        return eventually(lambda: self.condition(group), lambda c: c.get("reason") in reasons, within_s=within_s)

    # The clean slate

    def reset(self) -> None:
        """Remove everything that tests make: our kinds, Jobs, pods, nodes, and what was said of them."""
        for path in _CLEANED:
            self.playground.client.delete(f"{path}?propagationPolicy=Background&gracePeriodSeconds=0")
        eventually(self._force_pods_out, lambda left: left == 0, within_s=60)
        for path in _CLEANED:
            eventually(partial(self.items, path), lambda items: not items, within_s=60)
        self.playground.client.delete(EVENTS)
        names = [node["metadata"]["name"] for node in self.items(NODES)]
        for name in names:
            self.playground.client.delete(f"{NODES}/{name}")

    def _force_pods_out(self) -> int:
        pods = self.pods()
        for pod in pods:
            path = f"{PODS}/{pod['metadata']['name']}"
            try:
                if pod["metadata"].get("finalizers"):
                    self.merge(path, {"metadata": {"finalizers": None}})
                self.playground.client.delete(f"{path}?gracePeriodSeconds=0")
            except RequestFailed as error:
                if error.status != 404:
                    raise
        return len(pods)


def _is_usable(node: Object) -> bool:
    conditions = node.get("status", {}).get("conditions") or []
    is_ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return is_ready and not node["spec"].get("taints")


# Manifests


def pod(
    name: str,
    *,
    gpus: int = 1,
    group: str | None = None,
    is_gated: bool | None = None,
    priority_class: str | None = None,
    gates: Iterable[str] = (),
    **spec: Any,
) -> Object:
    """A pod of so many GPUs; with a group it bears the label and, unless told otherwise, the gate."""
    labels = {GROUP_LABEL: group} if group else {}
    names = [*([GATE] if (is_gated if is_gated is not None else group is not None) else []), *gates]
    body: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "main",
                    "image": "example.invalid/main",
                    "resources": {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {},
                }
            ],
            **({"schedulingGates": [{"name": gate} for gate in names]} if names else {}),
            **({"priorityClassName": priority_class} if priority_class else {}),
            **spec,
        },
    }
    return body


def pod_group(name: str, min_count: int, **spec: Any) -> Object:
    """A PodGroup with a gang policy."""
    return {
        "apiVersion": "scheduling.ganglift.dev/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}, **spec},
    }


def gang_job(
    name: str, parallelism: int, *, min_count: int | None = None, gpus: int = 1, scheduling: Any = None, **spec: Any
) -> Object:
    """One of our Jobs, of one-GPU workers."""
    gang = {} if min_count is None else {"minCount": min_count}
    template = pod("x", gpus=gpus)["spec"]
    return {
        "apiVersion": "batch.ganglift.dev/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "parallelism": parallelism,
            "completions": parallelism,
            "scheduling": {"schedulingPolicy": {"gang": gang}, **(scheduling or {})},
            "template": {"spec": template},
            **spec,
        },
    }


def priority_class(name: str, value: int, **fields: Any) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **fields,
    }


def dump(objects: Any) -> str:
    """Return objects as text for the message of a failed assertion."""
    return json.dumps(objects, indent=1, default=str)
