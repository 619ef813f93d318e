"""When is a component ready? Each answers in its own way; none is taken to be ready because time has passed."""

import http.client
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ganglift.playground.client import UNREACHABLE, ApiClient
from ganglift.playground.errors import RequestFailed
from ganglift.playground.options import Component
from ganglift.playground.state import Ports

_LEASES = "/apis/coordination.k8s.io/v1/namespaces"
_LEADERS = (Component.CONTROLLER_MANAGER, Component.SCHEDULER)


def is_ready(component: Component, ports: Ports, client: ApiClient) -> bool:
    """Whether the component does its work; `client` speaks to the API server."""
    probes: Mapping[Component, Callable[[], bool]] = {
        Component.ETCD: lambda: _etcd_is_healthy(ports.etcd),
        Component.APISERVER: lambda: bool(client.get("/readyz") == "ok"),
        Component.CONTROLLER_MANAGER: lambda: _runs_controllers(replace(client, port=ports.controller_manager)),
        Component.SCHEDULER: lambda: _schedules(replace(client, port=ports.scheduler), client),
        Component.KWOK: lambda: _answers(ports.kwok, "/healthz") is not None,
    }
    try:
        return probes[component]()
    except (RequestFailed, *UNREACHABLE):
        return False


def release_leases(component: Component, client: ApiClient) -> None:
    """Give up what a dead process of this component still holds, as it would have done itself had it ended in order.

    Without this a successor waits for the leases to run out: 15 s for a leader, 40 s for a node's. Raises RequestFailed
    or one of UNREACHABLE.
    """
    if component is Component.KWOK:
        client.delete(f"{_LEASES}/kube-node-lease/leases")
    elif component in _LEADERS:
        release = {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}
        client.patch(f"{_LEASES}/kube-system/leases/{component}", release)


def _runs_controllers(client: ApiClient) -> bool:
    """Its health names a controller only after all have been built, which is after it has become the leader."""
    return "[+]job-controller ok" in client.get("/healthz?verbose")


def _schedules(scheduler: ApiClient, apiserver: ApiClient) -> bool:
    """It says that it is ready while it still waits for the lease, so the lease is looked at too."""
    if scheduler.get("/readyz") != "ok":
        return False
    lease = apiserver.get(f"{_LEASES}/kube-system/leases/{Component.SCHEDULER}")
    return bool(lease["spec"].get("holderIdentity"))


def _etcd_is_healthy(port: int) -> bool:
    answer = _answers(port, "/health")
    health: Any = json.loads(answer) if answer else {}
    return bool(health.get("health") == "true")


def _answers(port: int, path: str) -> bytes | None:
    """The body of a 200 answer over plain HTTP, else None."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        return body if response.status == http.client.OK else None
    finally:
        connection.close()
