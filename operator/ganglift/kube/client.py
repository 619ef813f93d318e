"""The one seam between ganglift and the API server.

Everything above this layer talks to a `Client`; the real one is `ganglift.kube.http.HttpClient`. It is close to the
API on purpose: bytes out, dicts or bytes in, no models, no cache. What it promises beyond HTTP:

- every call ends: with the answer's body, or with a `KubeError` that says whether a write may have happened;
- the content type of a patch is named by the caller, never guessed;
- a delete is `Background` unless told otherwise (a bare delete of a Job orphans its pods);
- writes obey a request rate, and all calls a number in flight; a 429 is waited out inside the call's time;
- nothing else is repeated: an answer such as 409 or 422 is for the caller to decide on.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from ganglift.kube.resources import Ref, Resource

Body = Mapping[str, Any] | Sequence[Mapping[str, Any]] | bytes
"""An object or a patch to send; bytes are sent as they are. A JSON patch is a sequence of operations."""


class PatchType(StrEnum):
    """How the API server reads a patch: its content type."""

    MERGE = "application/merge-patch+json"
    """RFC 7396: maps are merged, lists replaced, null removes."""
    STRATEGIC = "application/strategic-merge-patch+json"
    """As merge, with lists that have a key merged by it. Built-in kinds only: 415 on custom resources."""
    JSON = "application/json-patch+json"
    """RFC 6902: a list of operations, among them `test`."""
    APPLY = "application/apply-patch+yaml"
    """Server-side apply as field manager `ganglift`; makes the object if it is not there."""


class Propagation(StrEnum):
    """What becomes of the objects that the deleted one owns."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard the API server may be asked.

    Writes drain a bucket that fills at `qps`: a gang of 512 costs 1,024 writes (nominate, lift) and must not wait for
    the rate, yet a mistake that writes for ever is held to `qps`. Reads are bounded by `max_in_flight` alone.
    """

    qps: float = 200.0
    """Writes per second in the long run."""
    burst: int | None = None
    """Writes that may go at once after a quiet time; as many as `qps` gives in ten seconds if None."""
    max_in_flight: int = 48
    """Requests, watches aside, that wait for an answer at the same time."""
    connect_timeout_s: float = 5.0
    request_timeout_s: float = 30.0
    """For one call from the moment its turn has come to the last byte of the answer, waits for a 429 included."""

    def __post_init__(self) -> None:
        if min(self.qps, self.bucket, self.max_in_flight, self.connect_timeout_s, self.request_timeout_s) <= 0:
            raise ValueError(f"limits must be above zero: {self}")

    @property
    def bucket(self) -> int:
        """Size of the bucket, in writes."""
        return max(1, math.ceil(10 * self.qps)) if self.burst is None else self.burst


@dataclass(frozen=True, slots=True)
class Selector:
    """Which objects of a kind a list or watch is about, in the API's own syntax; empty means all."""

    labels: str = ""
    fields: str = ""


EVERYTHING = Selector()

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""Annotation of the bookmark that closes the present objects at the beginning of a watch."""


class Client(Protocol):
    """Calls to one API server.

    Each returns the body of the answer (JSON, not decoded) and raises a `KubeError`. `timeout_s` overrides
    `Limits.request_timeout_s`. With `dry_run` the server answers as it would and changes nothing.
    """

    async def get(self, ref: Ref, *, subresource: str | None = None, timeout_s: float | None = None) -> bytes:
        """Return the object."""
        ...

    async def list_page(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        selector: Selector = EVERYTHING,
        limit: int = 500,
        continue_token: str = "",
        timeout_s: float | None = None,
    ) -> bytes:
        """Return one page of at most `limit` objects at the newest resourceVersion; see `listing` for all of them.

        Raises Gone when `continue_token` is too old: start again.
        """
        ...

    async def create(
        self,
        resource: Resource,
        body: Body,
        *,
        namespace: str | None = None,
        strict: bool = False,
        dry_run: bool = False,
        timeout_s: float | None = None,
    ) -> bytes:
        """Make an object and return it. Raises AlreadyExists.

        With `strict`, raises BadRequest for a field that the server does not know instead of dropping it.
        """
        ...

    async def replace(
        self,
        ref: Ref,
        body: Body,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        timeout_s: float | None = None,
    ) -> bytes:
        """Put `body` in the place of the object and return it. Raises Conflict if its resourceVersion is old."""
        ...

    async def patch(
        self,
        ref: Ref,
        body: Body,
        *,
        patch_type: PatchType,
        subresource: str | None = None,
        dry_run: bool = False,
        force: bool = False,
        timeout_s: float | None = None,
    ) -> bytes:
        """Change the object and return it. `force` (apply only) takes fields over from other managers.

        A `metadata.uid` in the patch that is not the object's is Invalid on a merge, Conflict on an apply, and a
        `metadata.resourceVersion` that is not the newest is Conflict: name them, and no other incarnation is changed.
        """
        ...

    async def delete(
        self,
        ref: Ref,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation = Propagation.BACKGROUND,
        grace_period_s: int | None = None,
        dry_run: bool = False,
        timeout_s: float | None = None,
    ) -> bytes:
        """Delete the object; return it, or a Status. Raises Conflict if `uid` or `resource_version` is another's."""
        ...

    async def post(
        self,
        ref: Ref,
        subresource: str,
        body: Body,
        *,
        dry_run: bool = False,
        timeout_s: float | None = None,
    ) -> bytes:
        """Create a subresource: `binding`, `eviction`, a service account's `token`."""
        ...

    async def evict(
        self,
        ref: Ref,
        *,
        uid: str | None = None,
        grace_period_s: int | None = None,
        dry_run: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        """Ask for the pod's eviction.

        Raises TooManyRequests, at once, while a disruption budget forbids it, and Conflict if `uid` is not the pod's.
        """
        ...

    def watch(
        self,
        resource: Resource,
        *,
        resource_version: str | None,
        namespace: str | None = None,
        selector: Selector = EVERYTHING,
        duration_s: float = 300.0,
        silence_s: float = 90.0,
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Open a watch with bookmarks from just after `resource_version`; the iterator gives events, a JSON line each.

        With None it begins with every present object as ADDED, as of now, closed by a bookmark that bears the
        annotation `INITIAL_EVENTS_END` (KEP-3157, served from 1.34 on); Invalid is raised where that is switched off.

        It ends when the server ends the watch, which it does at the latest after `duration_s` and often earlier.
        Raises Gone when opened too late, Unreachable when the stream breaks, TimedOut after `silence_s` without a byte
        (a bookmark is due about once a minute). An event of type ERROR is passed on: the caller reads its Status.
        """
        ...

    async def fetch(self, path: str, *, timeout_s: float | None = None) -> bytes:
        """GET any path, with its query: `/version`, `/openapi/v3`, `/apis/scheduling.ganglift.dev/v1beta1`."""
        ...
