"""The operator in this process, on the fake API server: its engine, its handlers, its watches, and a death of its own.

All is real but for three things: no HTTP lies between it and the fake (unless it is given a `server`), its watches of
the low-volume kinds are read without kopf, and its events are kept instead of written. It can be killed at any write:
from then on nothing that it asks for happens, and its tasks are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, NoReturn

from pydantic_core import from_json
from tests.fakes.apiserver.core import Core
from tests.fakes.apiserver.direct import DirectTransport
from tests.fakes.apiserver.faults import Effect, Seen
from tests.fakes.apiserver.server import FakeApiServer

from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.base.ids import Key, Uid
from ganglift.base.settings import Settings
from ganglift.engine.engine import Engine
from ganglift.engine.executor import RESOURCES, Executor
from ganglift.engine.feeds import NodeFeed, PodFeed, ledger_informers
from ganglift.gang.actions import Kind
from ganglift.handlers.lifecycle import KINDS, Kinds
from ganglift.kube.client import Limits
from ganglift.kube.credentials import Access, Credentials
from ganglift.kube.errors import KubeError
from ganglift.kube.http import HttpClient
from ganglift.kube.informer import Informer
from ganglift.kube.resources import NODES, PODS, Resource
from ganglift.kube.transport import Answer, Call

NAMESPACE = "ganglift-system"
LATENCY_S = 0.002
NO_LIMITS = Limits(qps=1_000_000, burst=1_000_000)
"""The client's own rate is tried elsewhere, and in real time."""


class _Dead(BaseException):
    """The process is gone: what was asked for does not happen."""


@dataclass
class Fate:
    """When the process dies: `before` its write number `at`, or `after` it. Writes count from 1, dry runs don't."""

    at: int | None = None
    when: Literal["before", "after"] = "before"
    writes: int = 0
    died: asyncio.Event = field(default_factory=asyncio.Event)

    def receive(self, *, is_write: bool) -> None:
        """Called with each request as it reaches the API server. Raises _Dead."""
        if self.died.is_set():
            raise _Dead
        if is_write:
            self.writes += 1
            if self.writes == self.at and self.when == "before":
                self.died.set()
                raise _Dead

    def answer(self) -> None:
        """Called with each answer before it is heard. Raises _Dead."""
        if self.writes == self.at and self.when == "after":
            self.died.set()
        if self.died.is_set():
            raise _Dead


class _Line(DirectTransport):
    """The connection of one process. Requests and answers take a moment each, some longer than others."""

    def __init__(self, core: Core, credentials: Credentials, fate: Fate) -> None:
        super().__init__(core, credentials)
        self._fate = fate
        self._rng = Random(0)

    async def exchange(self, call: Call, timeout_s: float) -> Answer:
        try:
            await asyncio.sleep(self._rng.random() * LATENCY_S)
            answer = await super().exchange(call, timeout_s)
            await asyncio.sleep(self._rng.random() * LATENCY_S)
        except _Dead:
            return await _forever()
        else:
            return answer

    @asynccontextmanager
    async def stream(
        self, call: Call, *, open_timeout_s: float, silence_s: float
    ) -> AsyncIterator[Answer | AsyncIterator[bytes]]:
        try:
            async with super().stream(call, open_timeout_s=open_timeout_s, silence_s=silence_s) as opened:
                yield opened
        except _Dead:
            await _forever()

    def _receive(self, call: Call, access: Access) -> tuple[Seen, Effect | None]:
        self._fate.receive(is_write=call.method != "GET" and not _is_dry_run(call))
        return super()._receive(call, access)

    async def _after(self, call: Call, effect: Effect | None, timeout_s: float) -> None:
        self._fate.answer()
        await super()._after(call, effect, timeout_s)


async def _end(task: asyncio.Task[None]) -> None:
    """Cancel a task and take what it ended with."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error


async def _forever() -> NoReturn:
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nobody answers for a process that is gone")


def _is_dry_run(call: Call) -> bool:
    return "dryRun" in call.query


@dataclass
class Leadership:
    is_leading: bool = True


@dataclass
class Announcer:
    """Keeps what was announced."""

    said: list[tuple[str, str, str]] = field(default_factory=list)
    """Name of the object, reason, message."""

    def announce(self, resource: Resource, key: Key, uid: Uid, *, reason: str, message: str, is_warning: bool) -> None:
        self.said.append((key.name, reason, message))

    def reasons(self, name: str) -> list[str]:
        return [reason for about, reason, _ in self.said if about == name]


class Operator:
    """One process of the operator. One that `stands_by` watches, and begins to work with `lead`."""

    def __init__(
        self,
        core: Core,
        *,
        settings: Settings | None = None,
        fate: Fate | None = None,
        limits: Limits | None = None,
        stands_by: bool = False,
        server: FakeApiServer | None = None,
    ) -> None:
        self.fate = fate or Fate()
        self.leadership = Leadership()
        self.announcer = Announcer()
        transport = _Line(core, Credentials.fixed(Access("http://fake")), self.fate)
        in_process = HttpClient(transport.credentials, limits or NO_LIMITS, clock=core.clock, transport=transport)
        self.client = in_process if server is None else server.client(limits or NO_LIMITS)
        executor = Executor(self.client, self.leadership, self.announcer)
        settings = settings or Settings(namespace=NAMESPACE)
        self.engine = Engine(settings, executor, core.clock, rng=Random(0))
        self.kinds = Kinds(self.client, executor, self.engine, core.clock)
        cache = self.engine.cache
        self.pods = Informer(
            self.client,
            PODS,
            Pod.model_validate_json,
            PodFeed(cache),
            clock=core.clock,
            rng=Random(0),
            disordered=cache.disordered,
        )
        self.nodes = Informer(
            self.client, NODES, Node.model_validate_json, NodeFeed(cache), clock=core.clock, rng=Random(0)
        )
        self.others = ledger_informers(self.client, cache.facts, core.clock)
        self._stands_by = stands_by
        self._task: asyncio.Task[None] | None = None
        self._reign: asyncio.Task[None] | None = None

    @property
    def has_ended(self) -> bool:
        return self._task is None or self._task.done()

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="operator")

    async def stop(self) -> None:
        """End it in order."""
        for task in (self._reign, self._task):
            if task is not None:
                await _end(task)

    async def kill(self) -> None:
        """End it at once: nothing that it still asks for happens."""
        self.fate.died.set()
        for task in (self._reign, self._task):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
                if not task.cancelled():
                    task.exception()  # what a killed process ran into is of no interest
        await self.client.close()

    async def synced(self) -> None:
        """Return once the first lists are read."""
        await asyncio.gather(self.pods.synced(), self.nodes.synced(), self.kinds.synced())
        await asyncio.gather(*(feed.settled.wait() for _, feed in self.others))

    def lead(self) -> asyncio.Task[None]:
        """Begin to work, as one who has won the Lease."""
        self.leadership.is_leading = True
        self._reign = asyncio.create_task(self._lead(), name="reign")
        return self._reign

    async def lose(self, *, notices_late_s: float = 0.0) -> None:
        """Lose the Lease: nothing may be written any more, and what is under way is ended once that is noticed."""
        assert self._reign is not None
        self.leadership.is_leading = False
        if notices_late_s:
            await asyncio.sleep(notices_late_s)
        await _end(self._reign)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.nodes.run())
            tasks.create_task(self.pods.run())
            for informer, _ in self.others:
                tasks.create_task(informer.run())
            for kind in KINDS:
                tasks.create_task(self._tell(kind))
            await self.synced()
            if not self._stands_by:
                tasks.create_task(self._lead())

    async def _lead(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.engine.run())
            tasks.create_task(self.kinds.run())

    async def _tell(self, kind: Kind) -> None:
        """Tell the handlers of every event of a kind, as kopf does."""
        while True:
            try:
                async with self.client.watch(RESOURCES[kind], resource_version=None) as lines:
                    async for line in lines:
                        event: dict[str, Any] = from_json(line)
                        if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                            self.kinds.see(kind, event["type"], event["object"])
            except KubeError:
                await asyncio.sleep(1)
