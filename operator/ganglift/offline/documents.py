"""From the bytes of a file to the objects in it.

A snapshot of ours (one object a line) and what `kubectl get ... -o json` prints (objects at a fixed indent) are cut
into objects without being decoded as a whole: then each goes straight into its model, at a tenth of the memory. Any
other JSON or YAML, and whatever is not exactly as expected, is decoded the long way, which also finds what is wrong
with it. JSON strings hold no line breaks, so lines can be told apart without decoding.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import yaml
from pydantic import Field, ValidationError
from pydantic_core import from_json

from ganglift.api.model import Model
from ganglift.offline.problems import Place, invalid

SNAPSHOT_API = "snapshot.ganglift.dev/v1"
SNAPSHOT_KIND = "ClusterSnapshot"

Data = dict[str, Any]

_SNAPSHOT_START = b'{"apiVersion":"snapshot.ganglift.dev/'
_SNAPSHOT_ITEMS = b'"items":[\n'
_SNAPSHOT_END = b"\n]}\n"
_LIST_START = b'{\n    "apiVersion": "v1",\n    "items": [\n        {\n'
_LIST_JOINT = b"\n        },\n        {\n"
_LIST_END = b"\n        }\n    ],\n"
_TYPE = re.compile(rb'[{\s]*"apiVersion": ?"([^"\\]+)",\s*"kind": ?"([^"\\]+)"')
_MOST_VALUES = 1_000_000
"""In one object: etcd takes 1.5 MB, and YAML aliases to aliases can stand for more than any memory holds."""


class HeadMetadata(Model):
    taken_at: datetime | None = None
    kubernetes: str = ""
    ganglift: str = ""


class Head(Model):
    """What a snapshot says of itself. `listed` are kinds that were read in full, `counts` how many of each follow."""

    api_version: str
    kind: str
    metadata: HeadMetadata = HeadMetadata()
    listed: tuple[str, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)


@dataclass(slots=True)
class Document:
    """An object of a file, still JSON or decoded."""

    place: Place
    api_version: str
    kind: str
    json: bytes = b""
    _data: Data | None = None

    @property
    def data(self) -> Data:
        """The object, decoded, unset fields left out."""
        if self._data is None:
            self._data = _without_nulls(from_json(self.json), [_MOST_VALUES])
        return self._data


@dataclass(slots=True)
class Content:
    """What a file holds. `documents` can be gone through once."""

    file: str
    documents: Iterator[Document]
    head: Head | None = None
    data: bytes = field(default=b"", repr=False)

    def check_syntax(self) -> None:
        """Raise InvalidInput if the file as a whole is not JSON, with the line at which it stops to be."""
        _decode(self.file, self.data)


def read(file: str, data: bytes) -> Content:
    """Return what the file of that name and content holds; raise InvalidInput where that can't be told."""
    data = _unpacked(file, data).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not data:
        raise invalid(Place(file), "the file is empty")
    if data[:1] not in (b"{", b"["):
        return Content(file, _from_yaml(file, data))
    cut = _cut_snapshot(file, data) if data.startswith(_SNAPSHOT_START) else _cut_list(file, data)
    return cut or _from_decoded(file, _decode(file, data))


def _unpacked(file: str, data: bytes) -> bytes:
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise invalid(Place(file), f"the compressed file was cut short or damaged: {error}") from error


# Cut without decoding


def _cut_snapshot(file: str, data: bytes) -> Content | None:
    start = data.find(_SNAPSHOT_ITEMS)
    end = len(data.rstrip()) - len(_SNAPSHOT_END.strip(b"\n")) - 1
    if start < 0 or data[end:].strip() != _SNAPSHOT_END.strip():
        return None
    head = _head(file, from_json(data[:start] + b'"items":[]}'))
    pieces = _pieces(data, start + len(_SNAPSHOT_ITEMS), b",\n", end)
    return Content(file, _documents(file, pieces), head, data)


def _cut_list(file: str, data: bytes) -> Content | None:
    end = data.rfind(_LIST_END)
    if not data.startswith(_LIST_START) or end < 0:
        return None
    try:
        rest = from_json(b"{" + data[end + len(_LIST_END) :])
    except ValueError:
        return None
    _check_page(file, rest)
    pieces = (b"{" + piece + b"}" for piece in _pieces(data, len(_LIST_START), _LIST_JOINT, end))
    return Content(file, _documents(file, pieces), data=data)


def _pieces(data: bytes, start: int, joint: bytes, end: int) -> Iterator[bytes]:
    while start < end:
        at = data.find(joint, start, end)
        yield data[start : at if at >= 0 else end]
        start = at + len(joint) if at >= 0 else end


def _documents(file: str, pieces: Iterator[bytes]) -> Iterator[Document]:
    for number, piece in enumerate(pieces, 1):
        place = Place(file, f"object {number}")
        if (found := _TYPE.match(piece)) is not None:
            yield Document(place, found[1].decode(), found[2].decode(), piece)
        else:
            yield _document(place, _decode(file, piece))


# Decoded as a whole


def _decode(file: str, data: bytes) -> Any:
    try:
        return from_json(data)
    except ValueError as error:
        words = str(error)
        if "EOF while parsing" in words:
            at = words.partition(" at ")[2]
            raise invalid(Place(file), f"the file was cut short: it ends at {at} in the middle of a value") from error
        raise invalid(Place(file), f"the file is not JSON: {words}") from error


def _from_decoded(file: str, data: Any) -> Content:
    if isinstance(data, dict) and data.get("kind") == SNAPSHOT_KIND:
        return Content(file, _items(file, data), _head(file, data))
    return Content(file, _flattened(file, Place(file, "object 1"), data))


def _from_yaml(file: str, data: bytes) -> Iterator[Document]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for number, document in enumerate(yaml.load_all(data, loader), 1):
            if document is not None:
                yield from _flattened(file, Place(file, f"document {number}"), document)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        raise invalid(Place(file), f"the file is neither JSON nor YAML: {problem}{at}") from error
    except RecursionError as error:
        raise invalid(Place(file), "the file is nested too deeply") from error


def _flattened(file: str, place: Place, data: Any) -> Iterator[Document]:
    """Yield an object, or the items of a list."""
    if isinstance(data, dict) and "items" in data and not data.get("kind"):
        raise invalid(place, "this is a list without its kind: was the file cut short?")
    if isinstance(data, dict) and str(data.get("kind", "")).endswith("List") and "items" in data:
        _check_page(file, data)
        yield from _items(file, data)
    else:
        yield _document(place, data)


def _items(file: str, data: Data) -> Iterator[Document]:
    items = data.get("items") or ()
    kind = str(data.get("kind", "")).removesuffix("List")
    given = {"apiVersion": data.get("apiVersion"), "kind": kind} if kind and kind != SNAPSHOT_KIND else {}
    for number, item in enumerate(items, 1):
        place = Place(file, f"object {number}")
        yield _document(place, given | item if isinstance(item, dict) else item)


def _document(place: Place, data: Any) -> Document:
    if not isinstance(data, dict):
        raise invalid(place, f"this is {_named(data)}, not an object with apiVersion and kind")
    for name in ("apiVersion", "kind"):
        if not isinstance(data.get(name), str):
            raise invalid(place, "is missing: this is no Kubernetes object", name)
    try:
        return Document(place, data["apiVersion"], data["kind"], _data=_without_nulls(data, [_MOST_VALUES]))
    except RecursionError as error:
        raise invalid(place, "the object is nested too deeply, or contains itself") from error


def _named(data: Any) -> str:
    return {list: "a list", str: "a text", int: "a number", float: "a number", bool: "true or false"}.get(
        type(data), "nothing"
    )


def _without_nulls(value: Any, budget: list[int]) -> Any:
    """Return a copy without null fields: to the API server a field that is null is one that is not there."""
    budget[0] -= 1
    if budget[0] < 0:
        raise RecursionError
    if isinstance(value, dict):
        return {name: _without_nulls(one, budget) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_nulls(one, budget) for one in value]
    return value


def _check_page(file: str, data: Data) -> None:
    metadata = data.get("metadata")
    if isinstance(metadata, dict) and metadata.get("continue"):
        raise invalid(Place(file), "this is one page of a longer list: get all of it", "metadata.continue")


def _head(file: str, data: Data) -> Head:
    version = str(data.get("apiVersion"))
    if version != SNAPSHOT_API:
        raise invalid(
            Place(file),
            f"the snapshot is of version {version}, this ganglift reads {SNAPSHOT_API}: take it again, "
            "or use the ganglift that took it",
            "apiVersion",
        )
    try:
        return Head.model_validate({**data, "items": ()})
    except ValidationError as error:
        raise invalid(Place(file), f"the head of the snapshot can't be read: {error.errors()[0]['msg']}") from error
