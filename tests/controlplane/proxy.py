"""A reverse proxy on loopback, between the operator and the API server: what passes can be seen, held back or lost.

    with Proxy(cluster.playground) as proxy:
        lifts = proxy.hold(Request.is_lift)          # no lift passes from now on
        operator = start_operator(cluster, through=proxy)
        lifts.wait()                                 # one has come: everything is reserved, nothing lifted
        ...
        lifts.release()

A request held back has had no effect yet. `drop` makes sure that it never will: the API server does not see it.
"""

import asyncio
import json
import math
import re
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import aiohttp
import yaml
from aiohttp import web
from tests.support.polling import eventually
from yarl import URL

from ganglift.playground.playground import Playground

T = TypeVar("T")

_GATE = "scheduling.ganglift.dev/gang"
_POD = re.compile(r"/api/v1/namespaces/[^/]+/pods/[^/]+(?P<subresource>/[a-z]+)?")
_OF_ONE_CONNECTION = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked of the API server; `at` is when it came, on the monotonic clock."""

    at: float
    method: str
    path: str
    query: Mapping[str, str]
    body: bytes

    @property
    def content(self) -> Any:
        return json.loads(self.body) if self.body else {}

    def is_write(self) -> bool:
        """Whether it changes something that lasts: no dry run, no question about permissions, not the Lease."""
        is_question = "dryRun" in self.query or "/authorization.k8s.io/" in self.path
        return self.method != "GET" and not is_question and not self.is_of_lease()

    def is_of_lease(self) -> bool:
        return "/coordination.k8s.io/" in self.path

    def is_nomination(self) -> bool:
        """Whether it keeps room for a pod."""
        return self._patches_pod("/status") and bool(self.content.get("status", {}).get("nominatedNodeName"))

    def is_lift(self) -> bool:
        """Whether it takes our gate off a pod."""
        return self._removes_gate() and "dryRun" not in self.query

    def is_dry_lift(self) -> bool:
        """Whether it asks if it might take our gate off a pod."""
        return self._removes_gate() and "dryRun" in self.query

    def _removes_gate(self) -> bool:
        gates = self.content.get("spec", {}).get("schedulingGates", ()) if self._patches_pod(None) else ()
        return {"$patch": "delete", "name": _GATE} in gates

    def _patches_pod(self, subresource: str | None) -> bool:
        pod = _POD.fullmatch(self.path)
        return self.method == "PATCH" and pod is not None and pod["subresource"] == subresource


Match = Callable[[Request], bool]


class Hold:
    """Requests that match wait here, but for the first `after` of them, until they are released or dropped."""

    def __init__(self, match: Match, after: int) -> None:
        self.passed = 0
        self.held = 0
        self._match = match
        self._after = after
        self._verdict: asyncio.Future[bool] = asyncio.Future()

    def wait(self, count: int = 1, *, within_s: float = 15) -> None:
        """Return when so many requests are held back at the same time."""
        eventually(lambda: self.held, lambda held: held >= count, within_s=within_s)

    def release(self) -> None:
        """Let those that wait go on, and all that come later."""
        self._decide(True)

    def drop(self) -> None:
        """Lose those that wait: they never reach the API server. Those that come later pass."""
        self._decide(False)

    async def admit(self, request: Request) -> bool:
        """Return, now or after a while, whether the request may go on."""
        if self._verdict.done() or not self._match(request):
            return True
        if self.passed < self._after:
            self.passed += 1
            return True
        self.held += 1
        try:
            return await asyncio.shield(self._verdict)
        finally:
            self.held -= 1

    def end(self, may_go_on: bool = False) -> None:
        """Decide, in the proxy's own thread."""
        if not self._verdict.done():
            self._verdict.set_result(may_go_on)

    def _decide(self, may_go_on: bool) -> None:
        self._verdict.get_loop().call_soon_threadsafe(self.end, may_go_on)
        eventually(lambda: self.held, lambda held: not held, within_s=5)


class Proxy:
    """Serves from `with` on, in a thread of its own and under the API server's certificate, since the host is the same.

    Passes on who asks, so that RBAC is as without it.
    """

    def __init__(self, playground: Playground) -> None:
        self.requests: list[Request] = []
        """All that came, in order, held back or not; watches and lists too."""
        self.held_lifts: list[tuple[float, float]] = []
        """From when to when a lift was held back; infinity where it still is."""
        self._client = playground.client
        self._holds: list[Hold] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._in_loop(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._in_loop(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def writes(self) -> list[Request]:
        """The writes that came, in order."""
        return [request for request in tuple(self.requests) if request.is_write()]

    def kubeconfig(self, like: Path) -> Path:
        """Write a kubeconfig for the same user that leads here; return its path."""
        config = yaml.safe_load(like.read_text())
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self._port}"
        path = like.with_name(f"through-{self._port}-{like.name}")
        path.write_text(yaml.safe_dump(config))
        return path

    def hold(self, match: Match, *, after: int = 0) -> Hold:
        """Hold back the requests that match, from the one after the first `after` on."""

        async def add() -> Hold:
            hold = Hold(match, after)
            self._holds.append(hold)
            return hold

        return self._in_loop(add())

    # Internals

    def _in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(15)

    async def _start(self) -> None:
        context = ssl.create_default_context(cafile=str(self._client.certificate))
        self._upstream = aiohttp.ClientSession(
            f"https://127.0.0.1:{self._client.port}",
            connector=aiohttp.TCPConnector(limit=0, ssl=context),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
        )
        application = web.Application(client_max_size=2**26)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(self._client.certificate, self._client.certificate.with_suffix(".key"))
        await web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=serving).start()
        self._port = self._runner.addresses[0][1]

    async def _stop(self) -> None:
        for hold in self._holds:
            hold.end()
        await self._runner.cleanup()
        await self._upstream.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _handle(self, asked: web.Request) -> web.StreamResponse:
        request = Request(time.monotonic(), asked.method, asked.path, asked.query, await asked.read())
        self.requests.append(request)
        for hold in tuple(self._holds):
            if not await self._admit(hold, request):
                if asked.transport is not None:  # who asked may be gone by now, killed perhaps
                    asked.transport.abort()
                return web.Response(status=503)
        return await self._pass_on(asked, request)

    async def _admit(self, hold: Hold, request: Request) -> bool:
        if not request.is_lift():
            return await hold.admit(request)
        number = len(self.held_lifts)
        self.held_lifts.append((request.at, math.inf))
        try:
            return await hold.admit(request)
        finally:
            self.held_lifts[number] = (request.at, time.monotonic())

    async def _pass_on(self, asked: web.Request, request: Request) -> web.StreamResponse:
        url = URL(asked.raw_path, encoded=True)
        headers = _end_to_end(asked.headers)
        async with self._upstream.request(request.method, url, data=request.body or None, headers=headers) as answer:
            response = web.StreamResponse(status=answer.status, headers=_end_to_end(answer.headers))
            try:
                await response.prepare(asked)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
            except ConnectionError:
                pass  # who asked is gone, killed perhaps
            return response


def _end_to_end(headers: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in headers.items() if key.lower() not in _OF_ONE_CONNECTION}
