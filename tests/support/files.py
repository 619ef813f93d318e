"""Objects as files: what kubectl prints, what users write."""

import json
from typing import Any, Protocol

import yaml
from tests.builders import NodeBuilder, PodBuilder
from tests.kinds import BatchJobBuilder, GangJobBuilder, PodGroupBuilder, WorkloadBuilder

from ganglift.api.names import BATCH_API, SCHEDULING_API

Object = dict[str, Any]

_WRITTEN = ("name", "namespace", "labels", "annotations")


class Builder(Protocol):
    """Any of the builders of tests."""

    wire: Object


_TYPES: dict[type, tuple[str, str]] = {
    NodeBuilder: ("v1", "Node"),
    PodBuilder: ("v1", "Pod"),
    PodGroupBuilder: (SCHEDULING_API, "PodGroup"),
    WorkloadBuilder: (SCHEDULING_API, "Workload"),
    GangJobBuilder: (BATCH_API, "Job"),
    BatchJobBuilder: ("batch/v1", "Job"),
}


def typed(builder: Builder) -> Object:
    """The object with its apiVersion and kind."""
    api_version, kind = _TYPES[type(builder)]
    return {"apiVersion": api_version, "kind": kind, **builder.wire}


def objects(*things: Builder | Object) -> list[Object]:
    return [thing if isinstance(thing, dict) else typed(thing) for thing in things]


def kubectl_list(*things: Builder | Object) -> bytes:
    """What `kubectl get ... --output json` prints for these."""
    items = [dict(sorted(thing.items())) for thing in objects(*things)]
    whole = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}
    return json.dumps(whole, indent=4).encode()


def manifests(*things: Builder | Object) -> bytes:
    """A YAML file with these, as a user writes it: without what the API server adds."""
    return yaml.safe_dump_all([as_written(thing) for thing in objects(*things)]).encode()


def as_written(thing: Object) -> Object:
    kept = {name: thing["metadata"][name] for name in _WRITTEN if name in thing["metadata"]}
    written = {name: value for name, value in thing.items() if name != "status" or thing["kind"] == "Node"}
    return written | {"metadata": kept}


def object_of(api_version: str, kind: str, name: str, spec: Any = None, uid: str = "", **more: Any) -> Object:
    """An object of a kind for which there is no builder."""
    metadata = {"name": name} | ({"uid": uid} if uid else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **({"spec": spec} if spec else {}), **more}
