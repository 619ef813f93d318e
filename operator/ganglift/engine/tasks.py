"""What takes time, one thing at a time for each group.

However it ends, also if it is cancelled before it began, the group is then looked at again. What the API server did not
carry out is tried again after a pause that grows; a fault in our own logic is reported, and costs the group a pause
too: it must not end the work on all others.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from ganglift.base.clock import Clock
from ganglift.engine.entry import Entry
from ganglift.engine.executor import NotLeading
from ganglift.kube.errors import KubeError

log = logging.getLogger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]


class Tasks:
    """Runs work for groups while `running` is entered. `ended` is told of each group whose work is done."""

    def __init__(self, clock: Clock, ended: Callable[[Entry], None]) -> None:
        self._clock = clock
        self._ended = ended
        self._group: asyncio.TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.TaskGroup]:
        """Own all tasks until the end, which cancels them."""
        async with asyncio.TaskGroup() as self._group:
            yield self._group

    def start(self, entry: Entry, work: Work, name: str) -> None:
        """Run this for the group, which is busy meanwhile."""
        assert self._group is not None, "nothing is started before the loop runs"
        task = self._group.create_task(self._carry_out(entry, work), name=f"{name} {entry.key}")
        entry.task = task
        task.add_done_callback(lambda _: self._finish(entry))

    @contextmanager
    def blaming(self, entry: Entry) -> Iterator[None]:
        """Put faults of what is done for a group down to it."""
        try:
            yield
        except Exception:
            log.exception("a group could not be dealt with", extra={"gang": str(entry.key)})
            entry.trouble.fail(self._clock.monotonic())

    async def _carry_out(self, entry: Entry, work: Work) -> None:
        with self.blaming(entry):
            try:
                await work()
            except NotLeading:
                return  # whoever leads by now goes on from what the API shows
            except KubeError as error:
                pause_s = entry.trouble.fail(self._clock.monotonic())
                fields = {"gang": str(entry.key), "error": str(error), "pause_s": round(pause_s, 1)}
                log.warning("a step failed and is tried again", extra=fields)
            else:
                entry.trouble.reset()

    def _finish(self, entry: Entry) -> None:
        entry.task = None
        self._ended(entry)
