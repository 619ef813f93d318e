"""Time as a dependency: the real clock in the operator, a virtual one in tests and in the simulation."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the operator asks of time."""

    def now(self) -> datetime:
        """Wall-clock time, aware, UTC: for what is written into the API."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start that never go back: for durations and deadlines."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after so many seconds of this clock."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
