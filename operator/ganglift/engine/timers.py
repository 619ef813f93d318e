"""Alarms, one for each key: of several wishes the soonest counts, and who is woken says anew what else it waits for.

So what is looked at a thousand times still has one alarm.
"""

import asyncio
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Timers(Generic[K]):
    """Calls `ring` with a key when its time has come."""

    def __init__(self, ring: Callable[[K], None]) -> None:
        self._ring = ring
        self._handles: dict[K, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._handles)

    def set(self, key: K, delay_s: float) -> None:
        """Ring in so many seconds at the latest."""
        loop = asyncio.get_running_loop()
        when = loop.time() + max(delay_s, 0.0)
        known = self._handles.get(key)
        if known is not None and known.when() <= when:
            return
        self.drop(key)
        self._handles[key] = loop.call_at(when, self._fire, key)

    def drop(self, key: K) -> None:
        """Do not ring for the key."""
        if (handle := self._handles.pop(key, None)) is not None:
            handle.cancel()

    def close(self) -> None:
        """Do not ring at all."""
        for key in tuple(self._handles):
            self.drop(key)

    def _fire(self, key: K) -> None:
        del self._handles[key]
        self._ring(key)
