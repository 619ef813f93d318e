"""What the operator finds in the cluster before it starts, or makes there: our kinds, its own namespace."""

from pydantic_core import from_json

from ganglift.base.errors import GangliftError
from ganglift.kube.client import Client
from ganglift.kube.errors import AlreadyExists, Forbidden, NotFound
from ganglift.kube.resources import JOBS, NAMESPACES, POD_GROUPS, WORKLOADS


class KindsNotServed(GangliftError):
    """The CustomResourceDefinitions are not installed."""

    def __init__(self, missing: tuple[str, ...]) -> None:
        super().__init__(
            f"the cluster does not serve {', '.join(missing)}: install the CRDs first, "
            "with the chart or with `kubectl apply -f crds/`"
        )
        self.missing = missing


async def check_kinds(client: Client) -> None:
    """Raise KindsNotServed if one of our kinds is missing."""
    missing = []
    for resource in (WORKLOADS, POD_GROUPS, JOBS):
        try:
            served = from_json(await client.fetch(resource.base_path))["resources"]
        except NotFound:
            served = []
        if not any(kind["name"] == resource.plural for kind in served):
            missing.append(resource.qualified)
    if missing:
        raise KindsNotServed(tuple(missing))


class NamespaceMissing(GangliftError):
    """The operator's own namespace does not exist and can't be made."""

    def __init__(self, namespace: str) -> None:
        super().__init__(
            f"namespace {namespace!r} does not exist and the operator's account may not create it: "
            f"run `kubectl create namespace {namespace}`, or name another with --namespace"
        )
        self.namespace = namespace


async def provide_namespace(client: Client, namespace: str) -> None:
    """Make the namespace of the Lease and the fence pods if it is not there; raise NamespaceMissing if refused."""
    try:
        await client.get(NAMESPACES.ref(namespace))
    except NotFound:
        try:
            await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        except AlreadyExists:
            return
        except Forbidden as error:
            raise NamespaceMissing(namespace) from error
