"""What a case is, and builders for its manifests, one line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.support.kubectl import Manifest

NATIVE_GROUPS = {"scheduling.ganglift.dev/v1beta1": "scheduling.k8s.io/v1beta1", "batch.ganglift.dev/v1": "batch/v1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One manifest, or a manifest and its change, and the verdict. `refused` are words of the refusal; empty: taken."""

    name: str
    first: Manifest
    then: Manifest | None = None
    refused: str = ""
    differs: str = ""


def native(manifest: Manifest) -> Manifest:
    """The same manifest with the one line changed that makes it a native object."""
    return {**manifest, "apiVersion": NATIVE_GROUPS[manifest["apiVersion"]]}


def named(manifest: Manifest, name: str) -> Manifest:
    """The manifest under this name, where it has none of its own."""
    return {**manifest, "metadata": {"name": name, **manifest.get("metadata", {})}}


def gang(min_count: int) -> dict[str, Any]:
    return {"gang": {"minCount": min_count}}


BASIC: dict[str, Any] = {"basic": {}}
RACK = {"key": "topology.kubernetes.io/rack"}
ZONE = {"key": "topology.kubernetes.io/zone"}
CLAIM = {"name": "nic", "resourceClaimName": "shared-nic"}


def template(name: str, policy: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "schedulingPolicy": gang(2) if policy is None else policy, **more}


def workload(*templates: dict[str, Any], **spec: Any) -> Manifest:
    return {
        "apiVersion": "scheduling.ganglift.dev/v1beta1",
        "kind": "Workload",
        "spec": {"podGroupTemplates": list(templates), **spec},
    }


def pod_group(policy: dict[str, Any] | None = None, **spec: Any) -> Manifest:
    return {
        "apiVersion": "scheduling.ganglift.dev/v1beta1",
        "kind": "PodGroup",
        "spec": {"schedulingPolicy": gang(2) if policy is None else policy, **spec},
    }


def job(pod: dict[str, Any] | None = None, **spec: Any) -> Manifest:
    """A Job; `pod` is laid over the pod template's spec, and a value of None takes the field out."""
    pod_spec: dict[str, Any] = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    pod_spec = {key: value for key, value in {**pod_spec, **(pod or {})}.items() if value is not None}
    return {"apiVersion": "batch.ganglift.dev/v1", "kind": "Job", "spec": {"template": {"spec": pod_spec}, **spec}}


def gang_job(min_count: int | None = None, **spec: Any) -> Manifest:
    policy = {"gang": {} if min_count is None else {"minCount": min_count}}
    return job(scheduling={"schedulingPolicy": policy}, **spec)


def indexed(**spec: Any) -> Manifest:
    return job(**{"completionMode": "Indexed", "completions": 8, "parallelism": 8, **spec})


def failure_rule(rule: dict[str, Any], **spec: Any) -> Manifest:
    return job(podFailurePolicy={"rules": [rule]}, **spec)


EXIT_42 = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
