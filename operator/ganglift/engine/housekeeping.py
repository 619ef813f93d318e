"""What backs up every event: a slow sweep over all groups, and the giving back of room that is kept for nobody."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NoReturn

from ganglift.base.clock import Clock
from ganglift.base.ids import Key
from ganglift.engine.cache import Cache
from ganglift.engine.entry import Entry
from ganglift.engine.executor import NotLeading
from ganglift.engine.fence import Fence
from ganglift.engine.nominations import Nominations
from ganglift.engine.remarks import Remarks
from ganglift.engine.work import GroupWork
from ganglift.kube.errors import KubeError

log = logging.getLogger(__name__)

TIDY_AFTER_S = 0.5
"""Groups often go many at a time, with their pods."""


@dataclass(frozen=True, slots=True)
class Housekeeping:
    """`look` has a group looked at, `changed` planned anew as well."""

    cache: Cache
    entries: Mapping[Key, Entry]
    nominations: Nominations
    work: GroupWork
    fence: Fence
    remarks: Remarks
    clock: Clock
    interval_s: float
    look: Callable[[Key], None]
    changed: Callable[[Key], None]
    _untidy: asyncio.Event = field(default_factory=asyncio.Event)

    async def sweep(self) -> NoReturn:
        """Look at everything once in a while, until cancelled."""
        while True:
            for key in self.entries:
                self.look(key)
            self.nominations.retain(self.cache.pods.keys())
            await self.learn()
            self.tidy_soon()
            await self.fence.sweep()
            await self.remarks.about_lost(self.cache, self.entries, self.clock.now())
            await self.clock.sleep(self.interval_s)

    async def learn(self) -> None:
        """Find out who wrote the nominations that are not known to be ours: an earlier process may have."""
        if await self.nominations.learn(self.cache.pods.values()):
            for key in self.entries:
                self.changed(key)

    def tidy_soon(self) -> None:
        """A group has gone, or it is time."""
        self._untidy.set()

    async def tidy(self) -> NoReturn:
        """Give back room that we keep for pods which are nobody's members any more, until cancelled."""
        while True:
            await self._untidy.wait()
            await self.clock.sleep(TIDY_AFTER_S)
            self._untidy.clear()
            await self._release_orphans()

    async def _release_orphans(self) -> None:
        looks = [entry.look for entry in self.entries.values() if entry.look is not None]
        members = {pod.uid for look in looks for pod in look.membership.gated}
        kept = [self.cache.pods[uid] for uid in self.cache.reserved_uids() - members]
        orphans = [pod for pod in kept if pod.nominated and self.nominations.is_ours(pod)]
        with suppress(NotLeading):
            try:
                await self.work.release(orphans)
            except KubeError as error:
                log.warning("room that is kept for nobody is given back later", extra={"error": str(error)})
