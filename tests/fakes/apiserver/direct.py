"""The fake asked without HTTP: a transport that calls it in the same event loop.

The real client's code above the transport runs unchanged, faults strike as they do over HTTP, and waits are of the
fake's clock, so that tests and simulations with a virtual clock stay in step.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from pydantic_core import to_json
from tests.fakes.apiserver.faults import Cut, Delay, Drop, Effect, Hang, Refuse, Seen
from tests.fakes.apiserver.refusals import Refusal
from tests.fakes.apiserver.watching import CutOff

from ganglift.kube.credentials import Access, Credentials
from ganglift.kube.errors import TimedOut, Unreachable
from ganglift.kube.transport import Answer, Call, Transport

if TYPE_CHECKING:
    from tests.fakes.apiserver.core import Core


class DirectTransport(Transport):
    """A transport to a fake in this process."""

    def __init__(self, core: Core, credentials: Credentials) -> None:
        super().__init__(credentials, connect_timeout_s=1.0)
        self._core = core

    async def exchange(self, call: Call, timeout_s: float) -> Answer:
        access = await self.credentials.access()
        # Others get their turn, as they would while the network is waited for.
        await asyncio.sleep(0)
        try:
            seen, effect = self._receive(call, access)
            await self._before(call, effect, timeout_s)
            code, body = self._core.answer(seen)
        except Refusal as refusal:
            return Answer(refusal.code, _text(refusal), access, refusal.retry_after_s)
        await self._after(call, effect, timeout_s)
        return Answer(code, body, access)

    @asynccontextmanager
    async def stream(
        self, call: Call, *, open_timeout_s: float, silence_s: float
    ) -> AsyncIterator[Answer | AsyncIterator[bytes]]:
        access = await self.credentials.access()
        await asyncio.sleep(0)
        try:
            seen, effect = self._receive(call, access)
            await self._before(call, effect, open_timeout_s)
            opened = _lines(self._core, seen, effect, call, silence_s)
            await anext(opened)
        except Refusal as refusal:
            yield Answer(refusal.code, _text(refusal), access, refusal.retry_after_s)
            return
        async with aclosing(opened):
            yield opened

    async def close(self) -> None:
        """There is nothing to close."""

    def _receive(self, call: Call, access: Access) -> tuple[Seen, Effect | None]:
        headers = {"Content-Type": call.content_type, "Authorization": access.token or ""}
        return self._core.receive(
            method=call.method, path=call.path, query=call.query, headers=headers, body=call.body or b""
        )

    async def _before(self, call: Call, effect: Effect | None, timeout_s: float) -> None:
        match effect:
            case Refuse(refusal):
                raise refusal
            case Drop(performed=False):
                raise Unreachable("dropped", call.request)
            case Hang(performed=False):
                await self._hang(call, timeout_s)
            case Delay(seconds, performed=False):
                await self._wait(call, seconds, timeout_s)

    async def _after(self, call: Call, effect: Effect | None, timeout_s: float) -> None:
        match effect:
            case Drop() | Cut():
                raise Unreachable("dropped", call.request)
            case Hang():
                await self._hang(call, timeout_s)
            case Delay(seconds, performed=True):
                await self._wait(call, seconds, timeout_s)

    async def _wait(self, call: Call, seconds: float, timeout_s: float) -> None:
        if seconds >= timeout_s:
            await self._hang(call, timeout_s)
        await self._core.clock.sleep(seconds)

    async def _hang(self, call: Call, timeout_s: float) -> None:
        await self._core.clock.sleep(timeout_s)
        raise TimedOut(f"no answer within {timeout_s:g} s", call.request)


async def _lines(
    core: Core, seen: Seen, effect: Effect | None, call: Call, silence_s: float
) -> AsyncGenerator[bytes, None]:
    """First an empty line, once the watch is open; then its events."""
    watch = core.open_watch(seen, effect)
    received: asyncio.Queue[bytes | None] = asyncio.Queue()
    running = asyncio.ensure_future(watch.run(received.put, is_open=lambda: True))
    running.add_done_callback(lambda _: received.put_nowait(None))
    core.watches.add(watch)
    try:
        yield b""
        rest = b""
        while (chunk := await _receive(received, call, silence_s)) is not None:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line
        if isinstance(running.exception(), CutOff) or rest:
            raise Unreachable("the stream ended in the middle of a line", call.request)
    finally:
        core.watches.discard(watch)
        running.cancel()


async def _receive(received: asyncio.Queue[bytes | None], call: Call, silence_s: float) -> bytes | None:
    try:
        async with asyncio.timeout(silence_s):
            return await received.get()
    except TimeoutError as error:
        raise TimedOut(f"nothing within {silence_s:g} s", call.request) from error


def _text(refusal: Refusal) -> bytes:
    return to_json(refusal.status) if refusal.status["reason"] else str(refusal).encode()
