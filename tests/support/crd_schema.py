"""CRDs and OpenAPI documents as flat tables of fields, so that they can be compared line by line.

A path steps into a field with `.`, into the items of a list with `[]` and into the values of a map with `{}`:
`spec.podGroupTemplates[].name`. A `Field` has what a client can rely on: JSON type, format, list type and map keys.
Descriptions, defaults and limits are looked at through `node`, which gives the schema at a path as it is written.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
CRD_FILES = {
    "Workload": ROOT / "crds" / "scheduling.ganglift.dev_workloads.yaml",
    "PodGroup": ROOT / "crds" / "scheduling.ganglift.dev_podgroups.yaml",
    "Job": ROOT / "crds" / "batch.ganglift.dev_jobs.yaml",
}

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an API, as far as two APIs can be compared."""

    type: str
    format: str = ""
    list_type: str = ""
    list_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """One entry of crds/upstream-differences.toml."""

    kind: str
    path: str
    reason: str

    def covers(self, path: str) -> bool:
        """Whether the field at `path` is this difference or lies below it."""
        if self.path.endswith(".*"):
            return path.startswith(self.path[:-1])
        return path == self.path or path.startswith((f"{self.path}.", f"{self.path}[]", f"{self.path}{{}}"))


@functools.cache
def crd(kind: str) -> dict[str, Any]:
    """The CustomResourceDefinition of a kind, as read from its file, not to be changed."""
    loaded: dict[str, Any] = yaml.safe_load(CRD_FILES[kind].read_text(encoding="utf-8"))
    return loaded


def version(kind: str) -> dict[str, Any]:
    """The only version of a kind's CRD."""
    (only,) = crd(kind)["spec"]["versions"]
    return dict(only)


def root_schema(kind: str) -> Schema:
    """The OpenAPI schema of a kind."""
    schema: Schema = version(kind)["schema"]["openAPIV3Schema"]
    return schema


def node(kind: str, path: str) -> Schema:
    """The schema at a path of a kind; KeyError where there is none."""
    schema = root_schema(kind)
    for step in path.replace("[]", ".[]").replace("{}", ".{}").split("."):
        if step == "[]":
            schema = schema["items"]
        elif step == "{}":
            schema = schema["additionalProperties"]
        else:
            schema = schema["properties"][step]
    return schema


def differences(table: str) -> tuple[Difference, ...]:
    """The entries of one table (`left-out`, `added` or `changed`) of the file of differences."""
    text = (ROOT / "crds" / "upstream-differences.toml").read_text(encoding="utf-8")
    return tuple(Difference(entry["kind"], entry["path"], entry["reason"]) for entry in tomllib.loads(text)[table])


def fields(schema: Schema, components: Schema | None = None) -> dict[str, Field]:
    """All fields below a schema by path, without `metadata`, whose form is the API machinery's.

    `components` resolves the references of a full OpenAPI document. A type that contains itself is followed once.
    """
    return dict(_walk(schema, "", components or {}, ()))


def _walk(schema: Schema, path: str, components: Schema, above: tuple[str, ...]) -> Iterator[tuple[str, Field]]:
    for name, raw in schema.get("properties", {}).items():
        if path or name not in {"apiVersion", "kind", "metadata"}:
            yield from _field(raw, f"{path}.{name}" if path else name, components, above)


def _field(raw: Schema, path: str, components: Schema, above: tuple[str, ...]) -> Iterator[tuple[str, Field]]:
    schema, reference = _resolve(raw, components)
    yield path, _summary(schema)
    if reference and reference in above:
        return
    inside = (*above, reference) if reference else above
    if "items" in schema:
        yield from _field(schema["items"], f"{path}[]", components, inside)
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from _field(schema["additionalProperties"], f"{path}{{}}", components, inside)
    yield from _walk(schema, path, components, inside)


def _resolve(raw: Schema, components: Schema) -> tuple[Schema, str]:
    """A schema with its reference, if any, replaced by what it names."""
    reference = raw.get("$ref") or next((part["$ref"] for part in raw.get("allOf", ()) if "$ref" in part), "")
    if not reference:
        return raw, ""
    return components[reference.rsplit("/", 1)[-1]], reference


def _summary(schema: Schema) -> Field:
    return Field(
        # An OpenAPI object without fields, such as `basic: {}`, may leave out that it is one.
        type=schema.get("type", "object"),
        format=schema.get("format", ""),
        list_type=schema.get("x-kubernetes-list-type", ""),
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
    )
