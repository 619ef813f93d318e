"""Which objects to look at: each at most once at a time, however much happened to it meanwhile.

The rules are those of client-go's work queue, but for one. A key that is added while it is being worked on is worked on
again afterwards; one that failed comes back after a pause that doubles from failure to failure. Here a pause is kept
whatever happens around the key, since showing a refusal is itself an event: only something urgent ends it.
"""

import asyncio
import random
from typing import Generic, TypeVar

K = TypeVar("K")


class Queue(Generic[K]):
    """Keys in order of arrival. Pauses after failures are `base_s`, 2 `base_s`, ... up to `longest_s`, jittered."""

    def __init__(self, *, base_s: float = 0.5, longest_s: float = 60.0, rng: random.Random | None = None) -> None:
        self._base_s = base_s
        self._longest_s = longest_s
        self._rng = rng or random.Random()
        self._waiting: dict[K, None] = {}
        self._working: set[K] = set()
        self._again: dict[K, bool] = {}
        """Keys added while they are worked on, and whether that is urgent."""
        self._failures: dict[K, int] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._resting: set[K] = set()
        self._arrived = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether no key waits or is being worked on; pauses may be running."""
        return not self._waiting and not self._working

    def add(self, key: K, *, is_urgent: bool = False) -> None:
        """Have the key looked at soon, or, if it has just failed, at the end of its pause, unless this is urgent."""
        if key in self._working:
            self._again[key] = is_urgent or self._again.get(key, False)
        elif is_urgent or key not in self._resting:
            self._resting.discard(key)
            self._waiting[key] = None
            self._arrived.set()

    def add_later(self, key: K, delay_s: float) -> None:
        """Have the key looked at in a while. Of several such wishes for one key the soonest counts."""
        loop = asyncio.get_running_loop()
        when = loop.time() + max(delay_s, 0.0)
        if (timer := self._timers.get(key)) is not None:
            if timer.when() <= when:
                return
            timer.cancel()
        self._timers[key] = loop.call_at(when, self._ring, key)

    async def take(self) -> K:
        """Return the next key; say `done` or `failed` afterwards."""
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        key = next(iter(self._waiting))
        del self._waiting[key]
        self._working.add(key)
        return key

    def done(self, key: K) -> None:
        """The key was looked at and nothing is left to be tried again."""
        self._failures.pop(key, None)
        self._working.discard(key)
        if key in self._again:
            del self._again[key]
            self.add(key)

    def failed(self, key: K) -> None:
        """What the key needs could not be done: it rests for a while and comes back."""
        self._working.discard(key)
        if self._again.pop(key, False):
            self._failures.pop(key, None)
            self.add(key)
            return
        count = self._failures[key] = self._failures.get(key, 0) + 1
        pause_s = min(self._longest_s, self._base_s * 2 ** min(count - 1, 30)) * (1 + self._rng.random() / 10)
        self._resting.add(key)
        self.add_later(key, pause_s)

    def close(self) -> None:
        """Forget all that is waited for."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._resting.clear()

    def _ring(self, key: K) -> None:
        del self._timers[key]
        self._resting.discard(key)
        self.add(key)
