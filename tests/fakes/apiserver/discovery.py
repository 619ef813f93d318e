"""What the server says about itself: version, groups, resources."""

from __future__ import annotations

from collections.abc import Iterable

from tests.fakes.apiserver.kinds import Kind
from tests.fakes.apiserver.refusals import Obj

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def discover(path: str, kinds: Iterable[Kind], minor: int) -> Obj | None:
    """Return the document at `path`, or None if there is none."""
    served = list(kinds)
    document: Obj | None = None
    match path.strip("/").split("/"):
        case ["version"]:
            document = {"major": "1", "minor": str(minor), "gitVersion": f"v1.{minor}.0-fake", "platform": "fake"}
        case ["api"]:
            document = {"kind": "APIVersions", "versions": ["v1"]}
        case ["api", "v1"]:
            document = _resources("v1", [kind for kind in served if not kind.resource.group])
        case ["apis"]:
            groups = dict.fromkeys(kind.resource.group for kind in served if kind.resource.group)
            listed = [_group(group, served) for group in groups]
            document = {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
        case ["apis", group] if any(kind.resource.group == group for kind in served):
            document = {"kind": "APIGroup", "apiVersion": "v1"} | _group(group, served)
        case ["apis", group, version]:
            found = [kind for kind in served if kind.resource.api_version == f"{group}/{version}"]
            document = _resources(f"{group}/{version}", found) if found else None
    return document


def _group(group: str, kinds: list[Kind]) -> Obj:
    versions = dict.fromkeys(kind.resource.version for kind in kinds if kind.resource.group == group)
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def _resources(group_version: str, kinds: list[Kind]) -> Obj:
    listed = [entry for kind in kinds for entry in _entries(kind)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}


def _entries(kind: Kind) -> list[Obj]:
    resource = kind.resource
    common = {"singularName": resource.kind.lower(), "namespaced": resource.namespaced, "kind": resource.kind}
    entries = [common | {"name": resource.plural, "verbs": _VERBS, "shortNames": list(kind.short_names)}]
    if kind.has_status:
        entries.append(common | {"name": f"{resource.plural}/status", "verbs": ["get", "patch", "update"]})
    return entries
