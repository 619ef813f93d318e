"""The kinds that the fake serves, and what sets each apart.

`Rules` is a kind's own behaviour: what is filled in, what is refused. A kind without any of its own (custom resources,
for which no schema is enforced here) has the plain `Rules`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.fakes.apiserver.jobs import JobRules
from tests.fakes.apiserver.pods import PodRules
from tests.fakes.apiserver.rules import AccessReviewRules, EventRules, NodeRules, Rules

from ganglift.kube import resources
from ganglift.kube.resources import Resource


@dataclass(frozen=True)
class Kind:
    """A served kind."""

    resource: Resource
    rules: Rules
    has_status: bool = False
    is_custom: bool = False
    has_generation: bool = True
    needs_version_to_replace: bool = False
    """Whether a PUT without resourceVersion is refused."""
    orphans_by_default: bool = False
    """Whether a delete that names no propagation policy leaves the dependents behind."""
    is_stored: bool = True
    """Whether a create leaves an object behind; reviews are only answered."""
    short_names: tuple[str, ...] = ()


_USERS = (
    Resource("", "v1", "services", "Service"),
    Resource("", "v1", "configmaps", "ConfigMap"),
    Resource("", "v1", "secrets", "Secret"),
    Resource("apps", "v1", "daemonsets", "DaemonSet"),
)
"""Kinds that ganglift does not touch, and that users' manifests hold."""


def builtin_kinds(minor: int) -> list[Kind]:
    """The kinds that Kubernetes 1.`minor` serves itself, as far as ganglift meets them."""

    def kind(resource: Resource, rules: Rules | None = None, **traits: Any) -> Kind:
        return Kind(resource, rules or Rules(), **traits)

    return [
        kind(resources.PODS, PodRules(minor), has_status=True, short_names=("po",)),
        kind(resources.NODES, NodeRules(), has_status=True, short_names=("no",)),
        kind(resources.NAMESPACES, has_status=True, short_names=("ns",)),
        kind(resources.SERVICE_ACCOUNTS, has_generation=False, short_names=("sa",)),
        kind(resources.PERSISTENT_VOLUMES, has_status=True, short_names=("pv",)),
        kind(resources.PERSISTENT_VOLUME_CLAIMS, has_status=True, short_names=("pvc",)),
        kind(resources.RESOURCE_QUOTAS, has_status=True, short_names=("quota",)),
        kind(resources.CORE_EVENTS, has_generation=False),
        kind(resources.EVENTS, EventRules(), has_generation=False, short_names=("ev",)),
        kind(resources.BATCH_JOBS, JobRules(minor), has_status=True, orphans_by_default=True),
        kind(resources.CRON_JOBS, has_status=True, short_names=("cj",)),
        kind(resources.STATEFUL_SETS, has_status=True, short_names=("sts",)),
        kind(resources.REPLICA_SETS, has_status=True, short_names=("rs",)),
        kind(resources.DEPLOYMENTS, has_status=True, short_names=("deploy",)),
        kind(resources.LEASES, has_generation=False, needs_version_to_replace=True),
        kind(resources.PRIORITY_CLASSES, short_names=("pc",)),
        kind(resources.POD_DISRUPTION_BUDGETS, has_status=True, short_names=("pdb",)),
        kind(resources.STORAGE_CLASSES, short_names=("sc",)),
        kind(resources.CSI_NODES, has_generation=False),
        kind(resources.DEVICE_CLASSES),
        kind(resources.RUNTIME_CLASSES, has_generation=False),
        kind(resources.CRDS, has_status=True, short_names=("crd",)),
        *(kind(resource, has_generation=False) for resource in _USERS),
        kind(resources.ACCESS_REVIEWS, AccessReviewRules(), has_generation=False, is_stored=False),
    ]


def custom_kind(resource: Resource, *, has_status: bool = True, short_names: tuple[str, ...] = ()) -> Kind:
    """A kind that a CustomResourceDefinition brings."""
    return Kind(
        resource, Rules(), has_status=has_status, is_custom=True, needs_version_to_replace=True, short_names=short_names
    )
