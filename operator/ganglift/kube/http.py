"""The real `Client`: the API's verbs over `Transport`.

A call passes four stations: the request rate (writes), a place in flight, the exchange, and its judgement. Only two
answers lead to a repeat, both certain to have changed nothing: 401, once, if newer credentials were found, and 429
whose Retry-After still lies within the call's time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

from aiolimiter import AsyncLimiter
from pydantic_core import to_json

from ganglift.api.names import FIELD_MANAGER
from ganglift.base.clock import Clock, SystemClock
from ganglift.kube.client import EVERYTHING, Body, Limits, PatchType, Propagation, Selector
from ganglift.kube.credentials import Credentials
from ganglift.kube.errors import KubeError, Request, StatusError, TooManyRequests, Unauthorized, error_for
from ganglift.kube.resources import Ref, Resource
from ganglift.kube.transport import Answer, Call, Transport

DEFAULT_LIMITS = Limits()


class HttpClient:
    """A `Client` of the API server that `credentials` lead to. Use it as an async context manager, or `close` it."""

    def __init__(
        self,
        credentials: Credentials,
        limits: Limits = DEFAULT_LIMITS,
        *,
        clock: Clock | None = None,
        transport: Transport | None = None,
        results: Counter[tuple[str, str, str]] | None = None,
    ) -> None:
        self.results: Counter[tuple[str, str, str]] = Counter() if results is None else results
        """Writes by verb, resource and result, which is OK or the error's name; also those of `with_limits`."""
        self.waits = 0
        """How many writes of this very client had to wait for its rate."""
        self.waited_s = 0.0
        """How long they waited, all together."""
        self.credentials = credentials
        self.limits = limits
        self._clock = clock or SystemClock()
        self._transport = transport or Transport(credentials, connect_timeout_s=limits.connect_timeout_s)
        self._rate = AsyncLimiter(limits.bucket, limits.bucket / limits.qps)
        self._in_flight = asyncio.Semaphore(limits.max_in_flight)

    def with_limits(self, limits: Limits) -> HttpClient:
        """A client with the same connections and a rate and places of its own.

        For calls that must not queue behind a gang's, such as the renewal of the leader's lease.
        """
        return HttpClient(self.credentials, limits, clock=self._clock, transport=self._transport, results=self.results)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, also those of clients made by `with_limits`."""
        await self._transport.close()

    async def get(self, ref: Ref, *, subresource: str | None = None, timeout_s: float | None = None) -> bytes:
        return await self._read(Call("GET", ref.path(subresource), _asked("get", ref, subresource)), timeout_s)

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
        query = _selection(selector) | {"limit": str(limit)}
        if continue_token:
            query["continue"] = continue_token
        asked = Request("list", resource.qualified, namespace)
        return await self._read(Call("GET", resource.path(namespace), asked, query), timeout_s)

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
        query = _writing(dry_run) | ({"fieldValidation": "Strict"} if strict else {})
        asked = Request("create", resource.qualified, namespace, _name_of(body))
        return await self._write(Call("POST", resource.path(namespace), asked, query, _encode(body)), timeout_s)

    async def replace(
        self,
        ref: Ref,
        body: Body,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
        timeout_s: float | None = None,
    ) -> bytes:
        asked = _asked("update", ref, subresource)
        return await self._write(Call("PUT", ref.path(subresource), asked, _writing(dry_run), _encode(body)), timeout_s)

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
        query = _writing(dry_run) | ({"force": "true"} if force else {})
        asked = _asked("patch", ref, subresource)
        call = Call("PATCH", ref.path(subresource), asked, query, _encode(body), patch_type.value)
        return await self._write(call, timeout_s)

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
        options = _delete_options(uid, resource_version, grace_period_s, dry_run=dry_run)
        options["propagationPolicy"] = propagation.value
        return await self._write(Call("DELETE", ref.path(), _asked("delete", ref), body=to_json(options)), timeout_s)

    async def post(
        self,
        ref: Ref,
        subresource: str,
        body: Body,
        *,
        dry_run: bool = False,
        timeout_s: float | None = None,
    ) -> bytes:
        asked = _asked("create", ref, subresource)
        return await self._write(
            Call("POST", ref.path(subresource), asked, _writing(dry_run), _encode(body)), timeout_s
        )

    async def evict(
        self,
        ref: Ref,
        *,
        uid: str | None = None,
        grace_period_s: int | None = None,
        dry_run: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": ref.name, "namespace": ref.namespace},
            "deleteOptions": _delete_options(uid, None, grace_period_s, dry_run=dry_run),
        }
        await self.post(ref, "eviction", eviction, dry_run=dry_run, timeout_s=timeout_s)

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        *,
        resource_version: str | None,
        namespace: str | None = None,
        selector: Selector = EVERYTHING,
        duration_s: float = 300.0,
        silence_s: float = 90.0,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        query = _selection(selector) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(1, int(duration_s))),
        }
        if resource_version is None:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            query["resourceVersion"] = resource_version
        call = Call("GET", resource.path(namespace), Request("watch", resource.qualified, namespace), query)
        for attempt in range(2):
            async with self._transport.stream(
                call, open_timeout_s=self.limits.request_timeout_s, silence_s=silence_s
            ) as opened:
                if not isinstance(opened, Answer):
                    yield opened
                    return
            if not (attempt == 0 and await self._has_newer_credentials(opened)):
                raise error_for(opened.status, call.request)

    async def fetch(self, path: str, *, timeout_s: float | None = None) -> bytes:
        return await self._read(Call("GET", path, Request("get", path)), timeout_s)

    async def _read(self, call: Call, timeout_s: float | None) -> bytes:
        async with self._in_flight:
            return await self._finish(call, timeout_s)

    async def _write(self, call: Call, timeout_s: float | None) -> bytes:
        await self._take_turn()
        try:
            async with self._in_flight:
                answer = await self._finish(call, timeout_s)
        except KubeError as error:
            self._count(call.request, type(error).__name__)
            raise
        self._count(call.request, "OK")
        return answer

    async def _take_turn(self) -> None:
        begun, must_wait = self._clock.monotonic(), not self._rate.has_capacity()
        await self._rate.acquire()
        if must_wait:
            self.waits += 1
            self.waited_s += self._clock.monotonic() - begun

    def _count(self, request: Request, result: str) -> None:
        self.results[request.verb, request.resource, result] += 1

    async def _finish(self, call: Call, timeout_s: float | None) -> bytes:
        """Exchange until there is an answer for the caller, within the call's time."""
        deadline = self._clock.monotonic() + (self.limits.request_timeout_s if timeout_s is None else timeout_s)
        may_renew = True
        while True:
            answer = await self._transport.exchange(call, deadline - self._clock.monotonic())
            if answer.is_success:
                return answer.body
            error = error_for(answer.status, call.request)
            if may_renew and isinstance(error, Unauthorized) and await self._has_newer_credentials(answer):
                may_renew = False
                continue
            wait_s = _busy_for_s(error)
            if wait_s is None or self._clock.monotonic() + wait_s >= deadline:
                raise error
            await self._clock.sleep(wait_s)

    async def _has_newer_credentials(self, answer: Answer) -> bool:
        return answer.code == 401 and await self.credentials.renew(answer.access)


def _busy_for_s(error: StatusError) -> float | None:
    """How long to wait before the same request may pass, or None if it is for the caller to decide."""
    if not isinstance(error, TooManyRequests):
        return None
    # A disruption budget's answer wears the same code; it is about the pod, not about the server's load.
    if any(cause.reason == "DisruptionBudget" for cause in error.status.causes):
        return None
    return error.retry_after_s


def _asked(verb: str, ref: Ref, subresource: str | None = None) -> Request:
    resource = ref.resource.qualified if subresource is None else f"{ref.resource.qualified}/{subresource}"
    return Request(verb, resource, ref.namespace, ref.name)


def _encode(body: Body) -> bytes:
    return body if isinstance(body, bytes) else to_json(body)


def _name_of(body: Body) -> str | None:
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    return metadata.get("name") if isinstance(metadata, Mapping) else None


def _selection(selector: Selector) -> dict[str, str]:
    query = {"labelSelector": selector.labels, "fieldSelector": selector.fields}
    return {key: value for key, value in query.items() if value}


def _writing(dry_run: bool) -> dict[str, str]:
    query = {"fieldManager": FIELD_MANAGER}
    return query | {"dryRun": "All"} if dry_run else query


def _delete_options(
    uid: str | None, resource_version: str | None, grace_period_s: int | None, *, dry_run: bool
) -> dict[str, Any]:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    conditions = {"uid": uid, "resourceVersion": resource_version}
    if preconditions := {key: value for key, value in conditions.items() if value is not None}:
        options["preconditions"] = preconditions
    if grace_period_s is not None:
        options["gracePeriodSeconds"] = grace_period_s
    if dry_run:
        options["dryRun"] = ["All"]
    return options
