"""From the bytes of lists and watches to objects.

The API server writes events as `{"type":T,"object":O}`, so O can be cut out and decoded once, straight into its model;
anything written otherwise is decoded the long way. An object that can't be decoded must not stop the rest: it is
reported and left out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic_core import from_json, to_json

from ganglift.kube.errors import MalformedAnswer, Request

logger = logging.getLogger(__name__)

T = TypeVar("T")

_HEAD = b'{"type":"'
_JOINT = b'","object":'
_REPORT_AT_MOST = 10


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a watch, its object still JSON."""

    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK or ERROR."""
    object: bytes

    def metadata(self) -> dict[str, Any]:
        """The object's metadata, for bookmarks."""
        metadata: dict[str, Any] = from_json(self.object).get("metadata") or {}
        return metadata


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list, its items still JSON."""

    resource_version: str
    continue_token: str
    items: tuple[bytes, ...]


def split_event(line: bytes, request: Request) -> Event:
    """Raises MalformedAnswer for a line that is no event."""
    joint = line.find(_JOINT, len(_HEAD), 64)
    if joint > 0 and line.startswith(_HEAD) and line.endswith(b"}"):
        return Event(line[len(_HEAD) : joint].decode("ascii", "replace"), line[joint + len(_JOINT) : -1])
    try:
        data = from_json(line)
        return Event(str(data["type"]), to_json(data["object"]))
    except (ValueError, KeyError, TypeError) as error:
        raise MalformedAnswer(f"not a watch event: {line[:80]!r}", request) from error


def split_page(body: bytes, request: Request) -> Page:
    """Raises MalformedAnswer for what is no list."""
    try:
        data = from_json(body)
        metadata = data["metadata"]
        items = tuple(to_json(item) for item in data.get("items") or ())
        return Page(str(metadata["resourceVersion"]), str(metadata.get("continue") or ""), items)
    except (ValueError, KeyError, TypeError) as error:
        raise MalformedAnswer(f"not a list: {body[:80]!r}", request) from error


class Decoder(Generic[T]):
    """Makes objects of JSON with `parse`; what it refuses (ValueError) is counted, reported and left out."""

    def __init__(self, parse: Callable[[bytes], T], kind: str) -> None:
        self.unreadable = 0
        self._parse = parse
        self._kind = kind

    def one(self, data: bytes) -> T | None:
        try:
            return self._parse(data)
        except ValueError as error:
            self.unreadable += 1
            if self.unreadable <= _REPORT_AT_MOST:
                logger.warning("one of the %s can't be read and is left out: %s; %r...", self._kind, error, data[:200])
            return None


class Pause:
    """Gives the event loop back after `slice_s` of work."""

    def __init__(self, slice_s: float = 0.005) -> None:
        self._slice_s = slice_s
        self._since = time.perf_counter()

    async def if_due(self) -> None:
        if time.perf_counter() - self._since > self._slice_s:
            await asyncio.sleep(0)
            self._since = time.perf_counter()
