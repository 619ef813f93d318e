"""The server under contract, and short ways to make and look at objects on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from ganglift.kube.errors import NotFound
from ganglift.kube.http import HttpClient
from ganglift.kube.resources import LEASES, NAMESPACES, PODS, SERVICE_ACCOUNTS, Ref, Resource

Obj = dict[str, Any]

GATE = "scheduling.ganglift.dev/gang"


@dataclass(frozen=True)
class Server:
    """A client, a namespace of the test's own, and which minor version of Kubernetes it is."""

    client: HttpClient
    namespace: str
    minor: int

    async def make(self, resource: Resource, body: Obj) -> Obj:
        """Create in the test's namespace."""
        namespace = self.namespace if resource.namespaced else None
        return load(await self.client.create(resource, body, namespace=namespace))

    async def make_pod(self, name: str = "w-0", *, gates: tuple[str, ...] = (GATE,), **spec: Any) -> Obj:
        return await self.make(PODS, pod(name, gates=gates, **spec))

    async def make_lease(self, name: str = "one", **metadata: Any) -> Obj:
        """The simplest kind of all: what is true of it is true of every kind."""
        return await self.make(LEASES, {"metadata": {"name": name, **metadata}})

    def ref(self, resource: Resource, name: str) -> Ref:
        return resource.ref(name, self.namespace if resource.namespaced else None)

    async def get(self, resource: Resource, name: str) -> Obj:
        return load(await self.client.get(self.ref(resource, name)))

    async def exists(self, resource: Resource, name: str) -> bool:
        try:
            await self.get(resource, name)
        except NotFound:
            return False
        return True

    async def bind(self, name: str, node: str = "n1") -> None:
        """Do kube-scheduler's part."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": self.namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self.client.post(self.ref(PODS, name), "binding", body)


async def open_namespace(client: HttpClient, minor: int) -> Server:
    """Make a namespace in which pods can be made."""
    made = load(await client.create(NAMESPACES, {"metadata": {"generateName": "contract-"}}))
    namespace = made["metadata"]["name"]
    account = {"metadata": {"name": "default"}}
    try:
        await client.get(SERVICE_ACCOUNTS.ref("default", namespace))
    except NotFound:
        await client.create(SERVICE_ACCOUNTS, account | {"metadata": {"generateName": "sa-"}}, namespace=namespace)
    return Server(client, namespace, minor)


def pod(name: str, *, gates: tuple[str, ...] = (), **spec: Any) -> Obj:
    """A pod that no scheduler looks for."""
    body: Obj = {
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "nobody",
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "i"}],
            **spec,
        },
    }
    if gates:
        body["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
    return body


def load(body: bytes) -> Obj:
    loaded: Obj = from_json(body)
    return loaded
