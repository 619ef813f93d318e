"""What the operator must be allowed to do, and the question to the API server whether it is.

The same table stands in the chart's roles and in docs/operations.md; a test keeps the three equal.
"""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic_core import from_json

from ganglift.api.names import BATCH_GROUP, SCHEDULING_GROUP
from ganglift.base.errors import GangliftError
from ganglift.kube.client import Client
from ganglift.kube.resources import ACCESS_REVIEWS

log = logging.getLogger(__name__)

_READ = ("get", "list", "watch")
_EVERYWHERE: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("", "pods", (*_READ, "patch", "delete")),
    ("", "pods/status", ("patch",)),
    ("", "pods/eviction", ("create",)),
    ("", "nodes", _READ),
    ("", "namespaces", ("get",)),
    ("", "events", ("get", "list")),
    ("events.k8s.io", "events", ("create", "patch")),
    ("scheduling.k8s.io", "priorityclasses", _READ),
    ("batch", "jobs", (*_READ, "create", "patch")),
    (SCHEDULING_GROUP, "workloads", (*_READ, "create", "patch")),
    (SCHEDULING_GROUP, "podgroups", (*_READ, "create", "patch")),
    (SCHEDULING_GROUP, "workloads/status", ("patch",)),
    (SCHEDULING_GROUP, "podgroups/status", ("patch",)),
    (BATCH_GROUP, "jobs", (*_READ, "delete")),
    (BATCH_GROUP, "jobs/status", ("patch",)),
)
_FOLLOW = ("list", "watch")
_DISPENSABLE: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("", "namespaces", _FOLLOW),
    ("", "persistentvolumes", _FOLLOW),
    ("", "persistentvolumeclaims", _FOLLOW),
    ("storage.k8s.io", "storageclasses", _FOLLOW),
    ("storage.k8s.io", "csinodes", _FOLLOW),
    ("resource.k8s.io", "deviceclasses", _FOLLOW),
    ("policy", "poddisruptionbudgets", _FOLLOW),
)
"""What goes without: what depends on these kinds is then told as not judged."""
_OWN_NAMESPACE: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("", "pods", ("create",)),
    ("coordination.k8s.io", "leases", ("create",)),
)
LEASE_VERBS = ("get", "update", "patch")


@dataclass(frozen=True, slots=True, order=True)
class Permission:
    """One verb on one resource. `namespace` is empty for all namespaces, `name` for all names."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        kind = f"{self.resource}.{self.group}" if self.group else self.resource
        named = f" {self.name!r}" if self.name else ""
        return f"{self.verb} {kind}{named}" + (f" in namespace {self.namespace!r}" if self.namespace else "")


class MissingPermissions(GangliftError):
    """Rights that the operator lacks, all of them at once."""

    def __init__(self, missing: Iterable[Permission]) -> None:
        self.missing = tuple(sorted(missing))
        lines = "\n".join(f"  {permission}" for permission in self.missing)
        super().__init__(f"the operator's account may not:\n{lines}\ngrant these, for example with the chart's roles")


def needed(namespace: str, lease: str) -> Iterator[Permission]:
    """Yield every permission that the operator can't do without, for its own namespace and the name of its Lease."""
    for group, resource, verbs in _EVERYWHERE:
        yield from (Permission(verb, group, resource) for verb in verbs)
    for group, resource, verbs in _OWN_NAMESPACE:
        yield from (Permission(verb, group, resource, namespace) for verb in verbs)
    yield from (Permission(verb, "coordination.k8s.io", "leases", namespace, lease) for verb in LEASE_VERBS)


def wished() -> Iterator[Permission]:
    """Yield every permission that the operator uses and can do without."""
    for group, resource, verbs in _DISPENSABLE:
        yield from (Permission(verb, group, resource) for verb in verbs)


async def check_permissions(client: Client, namespace: str, lease: str) -> None:
    """Raise MissingPermissions, naming each verb on each resource, if the API server would refuse any that is needed.

    One that is only wished for is logged.
    """
    missing = await _missing(client, needed(namespace, lease))
    if missing:
        raise MissingPermissions(missing)
    for permission in await _missing(client, wished()):
        log.warning("not allowed, what depends on it is not judged", extra={"permission": str(permission)})


async def _missing(client: Client, wanted: Iterable[Permission]) -> list[Permission]:
    asked = tuple(wanted)
    allowed = await asyncio.gather(*(_is_allowed(client, permission) for permission in asked))
    return [permission for permission, is_allowed in zip(asked, allowed, strict=True) if not is_allowed]


async def _is_allowed(client: Client, permission: Permission) -> bool:
    resource, _, subresource = permission.resource.partition("/")
    attributes = {
        "verb": permission.verb,
        "group": permission.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": permission.namespace,
        "name": permission.name,
    }
    review = {
        "apiVersion": ACCESS_REVIEWS.api_version,
        "kind": ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": attributes},
    }
    return bool(from_json(await client.create(ACCESS_REVIEWS, review))["status"]["allowed"])
