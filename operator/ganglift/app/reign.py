"""What runs while this replica leads, and only then."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from ganglift.kube.lease import Elector


class Reign:
    """Runs work while leadership lasts, again each time it is won."""

    def __init__(self) -> None:
        self._idle = asyncio.Event()
        self._idle.set()

    async def ended(self) -> None:
        """Return once nothing of it runs: the Lease may be let go."""
        await self._idle.wait()

    async def run(self, elector: Elector, lead: Callable[[], Awaitable[None]]) -> None:
        """Run `lead` for each reign, until cancelled or until `lead` raises."""
        while True:
            await elector.leading()
            self._idle.clear()
            work = asyncio.ensure_future(lead())
            lost = asyncio.ensure_future(elector.lost())
            try:
                await asyncio.wait({work, lost}, return_when=asyncio.FIRST_COMPLETED)
                if work.done():
                    work.result()
            finally:
                for task in (work, lost):
                    task.cancel()
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait({task})
                self._idle.set()
