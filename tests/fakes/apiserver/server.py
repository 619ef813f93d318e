"""The fake API server: `Core` behind HTTP on loopback, with faults.

    async with FakeApiServer() as server:
        server.add(pod_manifest)
        async with server.client() as client: ...

Requests go through four steps: understand (`Seen`), strike (a fault may answer, delay or spoil), perform (one verb of
`Api`), answer. `seen` keeps every request, for tests of what was, and was not, written.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml
from aiohttp import web
from pydantic_core import to_json
from tests.fakes.apiserver.core import Core
from tests.fakes.apiserver.direct import DirectTransport
from tests.fakes.apiserver.faults import Cut, Delay, Drop, Effect, Hang, Refuse, Seen
from tests.fakes.apiserver.refusals import Refusal
from tests.fakes.apiserver.watching import CutOff

from ganglift.base.clock import Clock
from ganglift.kube.client import Limits
from ganglift.kube.credentials import Access, Credentials
from ganglift.kube.http import DEFAULT_LIMITS, HttpClient

_JSON = {"Content-Type": "application/json"}


class FakeApiServer(Core):
    """An API server in this process, listening on loopback while it is entered."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._stopping = asyncio.Event()
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=1.0)
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

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

    @property
    def access(self) -> Access:
        """How to reach this server, with the first of the tokens that it lets in."""
        token = min(self.tokens) if self.tokens else None
        return Access(self.url, token=f"Bearer {token}" if token else None)

    def client(self, limits: Limits = DEFAULT_LIMITS, *, clock: Clock | None = None) -> HttpClient:
        """A client of this server, over HTTP."""
        return HttpClient(Credentials.fixed(self.access), limits, clock=clock or self.clock)

    def direct_client(self, limits: Limits = DEFAULT_LIMITS) -> HttpClient:
        """The same without HTTP: ten times as fast, and in step with a virtual clock."""
        transport = DirectTransport(self, Credentials.fixed(self.access))
        return HttpClient(transport.credentials, limits, clock=self.clock, transport=transport)

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

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            seen, effect = self.receive(
                method=request.method,
                path=request.path,
                query=dict(request.query),
                headers=request.headers,
                body=await request.read(),
            )
            return await self._serve(request, seen, effect)
        except Refusal as refusal:
            return _refused(refusal)
        except CutOff:
            _hang_up(request)
            return web.Response()

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
            return await self._watch(request, seen, effect)
        code, body = self.answer(seen)
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

    async def _watch(self, request: web.BaseRequest, seen: Seen, effect: Effect | None) -> web.StreamResponse:
        watch = self.open_watch(seen, effect)
        response = web.StreamResponse(headers=_JSON)
        response.enable_chunked_encoding()
        await response.prepare(request)
        self.watches.add(watch)
        try:
            await watch.run(response.write, is_open=lambda: self._is_open(request))
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
