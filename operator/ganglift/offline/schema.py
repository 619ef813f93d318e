"""Our kinds held against the schemas of their CustomResourceDefinitions, as the API server does it.

Types, limits, enumerations, what must be there, and fields that do not exist (which `kubectl apply` refuses). The rules
in CEL are not evaluated, except those that decide what is planned: they stand in `expansion`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

Schema = Mapping[str, Any]
Violation = tuple[str, str]
"""A field and what is wrong with it."""

_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {
    "object": ("an object", (dict,)),
    "array": ("a list", (list, tuple)),
    "string": ("a text", (str,)),
    "integer": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
    "boolean": ("true or false", (bool,)),
}
_LIMITS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("minimum", "is less than", lambda value, limit: value < limit),
    ("maximum", "is more than", lambda value, limit: value > limit),
)
_SIZES: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("minLength", "is shorter than", lambda value, limit: len(value) < limit),
    ("maxLength", "is longer than", lambda value, limit: len(value) > limit),
    ("minItems", "has fewer items than", lambda value, limit: len(value) < limit),
    ("maxItems", "has more items than", lambda value, limit: len(value) > limit),
)
_SHOWN = 80
_OBJECT_FIELDS = ("apiVersion", "kind", "metadata")


def read_schemas(directories: Iterable[Path]) -> dict[tuple[str, str], Schema]:
    """Return the schemas in directories of CustomResourceDefinitions, by group and kind."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = {}
    for path in sorted(path for directory in directories for path in directory.glob("*.yaml")):
        spec = yaml.load(path.read_bytes(), loader)["spec"]
        found[spec["group"], spec["names"]["kind"]] = spec["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def violations(schema: Schema, data: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield what of an object its schema does not allow."""
    inner = {name: value for name, value in data.items() if name not in _OBJECT_FIELDS}
    yield from _value(schema, inner, "")


def _value(schema: Schema, value: Any, path: str) -> Iterator[Violation]:
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, int | str):
            yield path, f"{value!r} is neither a whole number nor a text"
        return
    words, types = _TYPES.get(schema.get("type", ""), ("", (object,)))
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types and types != (object,)):
        yield path, f"{value!r} is not {words}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield path, f"{value!r} is none of {', '.join(map(str, schema['enum']))}"
    shown = f"{value!r} " if isinstance(value, str | int | float) and len(str(value)) < _SHOWN else ""
    for name, text, is_broken in _LIMITS if isinstance(value, int | float) else _SIZES:
        if name in schema and is_broken(value, schema[name]):
            yield path, f"{shown}{text} {schema[name]}"
    if isinstance(value, dict):
        yield from _object(schema, value, path)
    elif isinstance(value, list | tuple):
        yield from _list(schema, value, path)


def _object(schema: Schema, value: Mapping[str, Any], path: str) -> Iterator[Violation]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for name in schema.get("required", ()):
        if name not in value and (path or name not in _OBJECT_FIELDS):
            yield _joined(path, name), "is missing"
    for name, inner in value.items():
        if name in properties:
            yield from _value(properties[name], inner, _joined(path, name))
        elif isinstance(others, dict):
            yield from _value(others, inner, f"{path}[{name}]")
        elif properties and not schema.get("x-kubernetes-preserve-unknown-fields"):
            yield _joined(path, str(name)), "there is no such field"


def _list(schema: Schema, value: list[Any] | tuple[Any, ...], path: str) -> Iterator[Violation]:
    for number, item in enumerate(value):
        yield from _value(schema.get("items", {}), item, f"{path}[{number}]")
    keys = schema.get("x-kubernetes-list-map-keys", ())
    seen: set[tuple[str, ...]] = set()
    for number, item in enumerate(value if keys else ()):
        key = tuple(str(item.get(name)) if isinstance(item, dict) else "" for name in keys)
        if key in seen:
            yield f"{path}[{number}]", f"there is another of {keys[0]} {key[0]!r}"
        seen.add(key)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
