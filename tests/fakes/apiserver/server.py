"""The fake API server: `Api` behind HTTP on loopback, with faults.

    async with FakeApiServer() as server:
        server.add(pod_manifest)
        async with server.client() as client: ...

Requests go through four steps: understand (`Seen`), strike (a fault may answer, delay or spoil), perform (one verb of
`Api`), answer. `seen` keeps every request for tests of what was, and was not, written.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml
from aiohttp import web
from pydantic_core import to_json
from tests.fakes.apiserver.api import OURS, Api, Target
from tests.fakes.apiserver.deletion import Collector
from tests.fakes.apiserver.discovery import discover
from tests.fakes.apiserver.faults import Cut, Delay, Distort, Drop, Effect, Faults, Hang, Refuse, Seen
from tests.fakes.apiserver.listing import Pager
from tests.fakes.apiserver.perform import perform
from tests.fakes.apiserver.refusals import Obj, Refusal, bad_request, not_served, unauthorized
from tests.fakes.apiserver.request import understand
from tests.fakes.apiserver.selecting import selection
from tests.fakes.apiserver.watching import CutOff, Watch

from ganglift.base.clock import Clock, SystemClock
from ganglift.kube.client import Limits
from ganglift.kube.credentials import Access, Credentials
from ganglift.kube.http import DEFAULT_LIMITS, HttpClient
from ganglift.kube.resources import Resource

_JSON = {"Content-Type": "application/json"}


class FakeApiServer:
    """An API server in this process. `minor` is the Kubernetes version it behaves like."""

    def __init__(
        self,
        *,
        minor: int = 37,
        clock: Clock | None = None,
        custom: tuple[Resource, ...] = OURS,
        tokens: frozenset[str] | None = None,
        bookmark_every_s: float = 60.0,
    ) -> None:
        self.api = Api(minor=minor, clock=clock or SystemClock(), custom=custom)
        self.collector = Collector(self.api)
        self.faults = Faults()
        self.watches: set[Watch] = set()
        self.seen: list[Seen] = []
        self.tokens = tokens
        """Bearer tokens that are let in; None lets everyone in."""
        self.pager = Pager(self.api)
        self.bookmark_every_s = bookmark_every_s
        self._stopping = asyncio.Event()
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=1.0)
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def writes(self) -> list[Seen]:
        """The writes so far, dry runs aside."""
        return [seen for seen in self.seen if seen.is_write and not seen.is_dry_run]

    async def start(self, port: int = 0) -> None:
        """Listen; `port` 0 takes a free one."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """End all watches, drop all who wait, and stop listening."""
        self._stopping.set()
        for watch in self.watches:
            watch.end()
        await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    def client(self, limits: Limits = DEFAULT_LIMITS, *, clock: Clock | None = None) -> HttpClient:
        """A real client of this server."""
        token = next(iter(sorted(self.tokens)), None) if self.tokens else None
        access = Access(self.url, token=f"Bearer {token}" if token else None)
        return HttpClient(Credentials.fixed(access), limits, clock=clock)

    def write_kubeconfig(self, path: Path, *, token: str = "fake") -> Path:
        """Write a kubeconfig that leads here, for kubectl and for the operator as a process."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": self.url}}],
            "users": [{"name": "fake", "user": {"token": token}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
        }
        path.write_text(yaml.safe_dump(content))
        return path

    def add(self, *manifests: Obj) -> list[Obj]:
        """Create objects from the inside; each names its kind and, if it has one, its namespace. Returns them."""
        return [self.api.create(self._target_of(manifest), manifest).copy() for manifest in manifests]

    def end_watches(self, resource: Resource | None = None) -> None:
        """End the open watches, of one kind or of all, as the API server does now and then."""
        for watch in self.watches:
            if resource in (None, watch.resource):
                watch.end()

    def _target_of(self, manifest: Obj) -> Target:
        wanted = (manifest["apiVersion"], manifest["kind"])
        kind = next(k for r, k in self.api.kinds.items() if (r.api_version, r.kind) == wanted)
        return Target(kind, (manifest.get("metadata") or {}).get("namespace", ""))

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            seen = understand(request, await request.read(), self.api)
            self.seen.append(seen)
            self._authenticate(request)
            effect = self.faults.strike(seen)
            return await self._serve(request, seen, effect)
        except Refusal as refusal:
            return _refused(refusal)
        except CutOff:
            _hang_up(request)
            return web.Response()

    def _authenticate(self, request: web.BaseRequest) -> None:
        if self.tokens is not None:
            scheme, _, token = request.headers.get("Authorization", "").partition(" ")
            if scheme != "Bearer" or token not in self.tokens:
                raise unauthorized()

    async def _serve(self, request: web.BaseRequest, seen: Seen, effect: Effect | None) -> web.StreamResponse:
        match effect:
            case Refuse(refusal):
                raise refusal
            case Drop(performed=False):
                raise CutOff
            case Hang(performed=False):
                await self._hang(request)
            case Delay(seconds, performed=False):
                await asyncio.sleep(seconds)
        if seen.verb == "watch":
            return await self._watch(request, seen, effect if isinstance(effect, Distort) else None)
        code, body = self._answer(seen)
        match effect:
            case Drop():
                raise CutOff
            case Hang():
                await self._hang(request)
            case Delay(seconds, performed=True):
                await asyncio.sleep(seconds)
            case Cut():
                return await _half(request, code, body)
        return web.Response(status=code, body=body, headers=_JSON)

    def _answer(self, seen: Seen) -> tuple[int, bytes]:
        if seen.resource is not None:
            return perform(self.api, self.pager, seen)
        if seen.path in ("/healthz", "/livez", "/readyz"):
            return 200, b"ok"
        document = discover(seen.path, self.api.kinds.values(), self.api.minor)
        if document is None:
            raise not_served()
        return 200, to_json(document)

    async def _watch(self, request: web.BaseRequest, seen: Seen, distort: Distort | None) -> web.StreamResponse:
        assert seen.resource is not None
        self.api.target(seen.resource, seen.namespace)
        version = seen.query.get("resourceVersion", "")
        if version and not version.isdecimal():
            raise bad_request(f"Invalid value: {version!r}: invalid resource version")
        watch = Watch(
            self.api.store,
            seen.resource,
            seen.namespace,
            selection(seen.query.get("labelSelector", ""), seen.query.get("fieldSelector", "")),
            bookmark_every_s=self.bookmark_every_s if seen.query.get("allowWatchBookmarks") == "true" else None,
            duration_s=float(seen.query.get("timeoutSeconds") or 1800),
            distort=distort,
        )
        response = web.StreamResponse(headers=_JSON)
        response.enable_chunked_encoding()
        await response.prepare(request)
        self.watches.add(watch)
        try:
            initial = seen.query.get("sendInitialEvents") == "true"
            await watch.run(version, response.write, initial=initial, is_open=lambda: self._is_open(request))
            await response.write_eof()
        except ConnectionError:
            _hang_up(request)
        finally:
            self.watches.discard(watch)
        return response

    def _is_open(self, request: web.BaseRequest) -> bool:
        return request.transport is not None and not request.transport.is_closing() and not self._stopping.is_set()

    async def _hang(self, request: web.BaseRequest) -> None:
        while self._is_open(request):
            try:
                await asyncio.wait_for(self._stopping.wait(), 0.2)
            except TimeoutError:
                continue
        raise CutOff


def _refused(refusal: Refusal) -> web.Response:
    headers = {} if refusal.retry_after_s is None else {"Retry-After": str(refusal.retry_after_s)}
    if not refusal.status["reason"]:
        return web.Response(status=refusal.code, text=refusal.status["message"] + "\n", headers=headers)
    return web.Response(status=refusal.code, body=to_json(refusal.status), headers=_JSON | headers)


async def _half(request: web.BaseRequest, code: int, body: bytes) -> web.StreamResponse:
    response = web.StreamResponse(status=code, headers=_JSON | {"Content-Length": str(len(body))})
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    raise CutOff


def _hang_up(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.close()
