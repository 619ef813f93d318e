"""Wait in a coroutine for what comes by itself, never longer than needed and never for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

_POLL_S = 0.005


async def until(holds: Callable[[], bool] | Callable[[], Awaitable[bool]], within_s: float = 20.0) -> None:
    """Return once the condition, plain or async, is true; TimeoutError when time is up."""
    async with asyncio.timeout(within_s):
        while True:
            answer = holds()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(_POLL_S)
