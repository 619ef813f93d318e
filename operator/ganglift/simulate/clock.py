"""Virtual time, and an event loop in which nothing is ever waited for."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")

START = datetime(2026, 1, 1, tzinfo=UTC)
"""When every simulation begins; any time would do, since only differences count."""


def at(second: int) -> datetime:
    """Return the wall-clock time of a second of the simulation."""
    return START + timedelta(seconds=second)


class SimulatedClock:
    """A `Clock` that is set: `second` is the time since the start of the simulation."""

    def __init__(self) -> None:
        self.second = 0

    def now(self) -> datetime:
        return at(self.second)

    def monotonic(self) -> float:
        return float(self.second)

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError("time is passed by the simulation, nobody sleeps in it")


class PromptLoop(asyncio.SelectorEventLoop):
    """What the engine does in a thread is done at once: it is the only thing to do."""

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        future: asyncio.Future[T] = self.create_future()
        future.set_result(func(*args))
        return future
