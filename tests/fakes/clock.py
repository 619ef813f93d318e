"""Time that stands still until it is told to go on."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TypeVar

T = TypeVar("T")

_TURNS = 50
"""Turns of the event loop after which everything that can go on without time is taken to have done so."""


class VirtualClock:
    """A `Clock` whose sleepers wake in order as `advance` passes their time."""

    def __init__(self, start: datetime = datetime(2026, 11, 30, 12, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed_s = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed_s + max(0.0, seconds), next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass, each sleeper waking at its own time and acting before time goes on."""
        until = self._elapsed_s + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= until:
            due, _, future = heapq.heappop(self._sleepers)
            self._elapsed_s = max(self._elapsed_s, due)  # later already, after a jump
            if not future.done():
                future.set_result(None)
                await settle()
        self._elapsed_s = until
        await settle()

    def jump(self, seconds: float) -> None:
        """Let `seconds` pass at once and unnoticed, as for a process that was frozen."""
        self._elapsed_s += seconds

    async def run(self, awaitable: Awaitable[T], *, at_most_s: float = 3600.0) -> T:
        """Let time pass until `awaitable` is done and return its result. Raises TimeoutError if that takes longer."""
        task = asyncio.ensure_future(awaitable)
        until = self._elapsed_s + at_most_s
        await settle()
        while not task.done():
            if not self._sleepers or self._sleepers[0][0] > until:
                task.cancel()
                raise TimeoutError(f"not done within {at_most_s:g} s of virtual time")
            await self.advance(self._sleepers[0][0] - self._elapsed_s)
        return task.result()


async def settle() -> None:
    """Let every task go on until it waits for time or for the outside."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)
