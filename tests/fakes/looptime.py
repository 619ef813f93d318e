"""An event loop in which hours pass in milliseconds: time goes on only when nothing is left to do, and then at once.

`loop.time`, `asyncio.sleep`, timeouts and timers all follow it, so whole programs run in step without being told of a
clock. What would run in a thread runs at once and gives its answer `thread_s` later, since meanwhile the world moves.
Sockets are not for this loop.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")

_STUCK_AFTER_S = 10.0
"""Real seconds after which a loop that waits for nothing is taken to be stuck for good."""


class _Leap(selectors.DefaultSelector):
    """Instead of waiting for files, lets the loop's time pass."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(_STUCK_AFTER_S if timeout is None else 0)
        if not ready and timeout is None:
            raise RuntimeError("every task waits for something that nothing will bring about")
        if not ready and timeout is not None:
            self.now_s += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """See the module."""

    def __init__(self, thread_s: float = 0.001) -> None:
        self._leap = _Leap()
        self._thread_s = thread_s
        super().__init__(self._leap)

    def time(self) -> float:
        return self._leap.now_s

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        future: asyncio.Future[T] = self.create_future()
        try:
            self.call_later(self._thread_s, _give, future.set_result, future, func(*args))
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to who waits
            self.call_later(self._thread_s, _give, future.set_exception, future, error)
        return future


def _give(how: Callable[[Any], None], future: asyncio.Future[Any], what: Any) -> None:
    if not future.done():
        how(what)


class LoopClock:
    """The `Clock` that shows the running loop's time."""

    def __init__(self, start: datetime = datetime(2026, 11, 30, 12, tzinfo=UTC)) -> None:
        self._start = start

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
