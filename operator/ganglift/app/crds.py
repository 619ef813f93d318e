"""Whether the cluster serves our kinds."""

from pydantic_core import from_json

from ganglift.base.errors import GangliftError
from ganglift.kube.client import Client
from ganglift.kube.errors import NotFound
from ganglift.kube.resources import JOBS, POD_GROUPS, WORKLOADS


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
