"""Writes the status of groups, and one event per transition.

A status is computed when its turn comes, so what is written is the newest, one write per group at a time. A change of
condition is written at once; counts and messages that alone have moved wait a little, so that a gang of 500 starting
costs a few writes. An unchanged status is not written (I8).
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from ganglift.api.scheduling import PodGroup, PodGroupStatus
from ganglift.base.clock import Clock
from ganglift.base.ids import Key
from ganglift.engine.backoff import Backoff
from ganglift.engine.classes import Classes
from ganglift.engine.entry import Entry
from ganglift.engine.executor import Executor, NotLeading, ref_of
from ganglift.gang.actions import Announce, Kind
from ganglift.gang.priority import priority_trouble
from ganglift.gang.reasons import ConditionType, Reason
from ganglift.gang.status import recheck_at, status_of, status_patch, transitions
from ganglift.kube.client import PatchType
from ganglift.kube.errors import Conflict, KubeError, NotFound

log = logging.getLogger(__name__)

COUNTS_EVERY_S = 0.5
"""How often counts and messages alone are written at most, for one group."""
WORDS_PER_S = 20.0
"""How many statuses are written a second because their messages alone have moved.

Whenever a pod ends, thousands that wait have other figures in their message, and what starts must not wait behind that.
"""
RETRY_S = 1.0
RETRY_MOST_S = 60.0
STAYS_S = 1.0
"""How long a number of missing members must stay the same to be worth an event."""
WRITERS = 8


@dataclass(slots=True)
class Report:
    """Status writer of all groups; `later` looks at a group again after a time."""

    executor: Executor
    clock: Clock
    classes: Classes
    later: Callable[[Entry, float], None]
    _pending: dict[Key, Entry] = field(default_factory=dict)
    _writing: set[Key] = field(default_factory=set)
    _written_at: dict[Key, float] = field(default_factory=dict)
    _failing: dict[Key, Backoff] = field(default_factory=dict)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def show(self, entry: Entry) -> None:
        """Have the group's status brought up to date soon."""
        if entry.look is not None:
            self._pending[entry.key] = entry
            self._wake.set()

    def forget(self, key: Key) -> None:
        """Drop what is known of a group that is gone."""
        self._pending.pop(key, None)
        self._written_at.pop(key, None)
        self._failing.pop(key, None)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as writers:
            while True:
                await self._wake.wait()
                self._wake.clear()
                for key in [key for key in self._pending if key not in self._writing]:
                    if len(self._writing) >= WRITERS:
                        break
                    self._start(writers, self._pending.pop(key))

    def _start(self, writers: asyncio.TaskGroup, entry: Entry) -> None:
        status = self._due(entry)
        if status is None:
            return
        self._writing.add(entry.key)
        task = writers.create_task(self._write(entry, status), name=f"status {entry.key}")
        task.add_done_callback(lambda _: self._finish(entry))

    def _finish(self, entry: Entry) -> None:
        self._writing.discard(entry.key)
        if not entry.is_dropped:
            self._written_at[entry.key] = self.clock.monotonic()
        self._wake.set()

    def _due(self, entry: Entry) -> PodGroupStatus | None:
        """Return the status to write now, None if there is nothing to write or it must wait."""
        if entry.look is None or entry.is_dropped:
            return None
        now = self.clock.now()
        status = status_of(
            entry.group,
            entry.look.state,
            entry.outcome,
            now,
            child_uid=entry.look.child.uid if entry.look.child else None,
            priority=entry.look.priority,
            priority_trouble=priority_trouble(entry.group, entry.look.membership, self.classes.values),
        )
        if (again := recheck_at(status)) is not None:
            self.later(entry, (again - now).total_seconds())
        if status == entry.group.status:
            return None
        if (wait_s := self._wait_s(entry, status)) > 0:
            self.later(entry, wait_s)
            return None
        return status

    def _wait_s(self, entry: Entry, status: PodGroupStatus) -> float:
        """Return how long a status waits: after a failure, or because counts and messages alone have moved."""
        now = self.clock.monotonic()
        failing = self._failing.get(entry.key)
        if failing is not None and failing.is_waiting(now):
            return failing.until - now
        if _says(status) != _says(entry.group.status):
            return 0.0
        every_s = COUNTS_EVERY_S
        if _without_words(status) == _without_words(entry.group.status):
            every_s = max(every_s, len(self._written_at) / WORDS_PER_S)
        return self._written_at.get(entry.key, -every_s) + every_s - now

    async def _write(self, entry: Entry, status: PodGroupStatus) -> None:
        key, group = entry.key, entry.group
        patch = status_patch(group, status)
        if patch is None:
            return
        try:
            answer = await self.executor.patch(
                ref_of(Kind.POD_GROUP, key), patch.body, PatchType(patch.type.value), subresource="status"
            )
            entry.take(PodGroup.model_validate(answer))
        except Conflict:
            await self._refresh(entry)
        except (NotFound, NotLeading):
            return
        except (KubeError, ValueError) as error:
            self._fail(entry, error)
        else:
            self._failing.pop(key, None)
            for event in transitions(group, status):
                self._announce(entry, event)

    async def _refresh(self, entry: Entry) -> None:
        """Someone else wrote to the group: read it, and compute its status anew."""
        try:
            entry.take(PodGroup.model_validate(await self.executor.read(ref_of(Kind.POD_GROUP, entry.key))))
        except NotFound:
            return
        except (KubeError, ValueError) as error:
            self._fail(entry, error)
        else:
            self.later(entry, 0.0)

    def _fail(self, entry: Entry, error: Exception) -> None:
        """Try again after a pause that grows, and say so as often."""
        if entry.is_dropped:
            return
        failing = self._failing.setdefault(entry.key, Backoff(RETRY_S, RETRY_MOST_S))
        pause_s = failing.fail(self.clock.monotonic())
        fields = {"gang": str(entry.key), "error": str(error), "pause_s": round(pause_s, 1)}
        log.warning("status not written, tried again", extra=fields)
        self.later(entry, pause_s)

    def _announce(self, entry: Entry, event: Announce) -> None:
        """Record an event; while members come one after another only a count that stays is one."""
        if event.reason != Reason.WAITING_FOR_MEMBERS:
            self.executor.announce(event)
            return

        def announce_if_so() -> None:
            condition = entry.group.condition(ConditionType.SCHEDULED)
            if not entry.is_dropped and condition is not None and condition.message == event.message:
                self.executor.announce(event)

        asyncio.get_running_loop().call_later(STAYS_S, announce_if_so)


def _says(status: PodGroupStatus) -> tuple[object, ...]:
    """What of a status people and programs wait for: all but counts and messages."""
    conditions = tuple((c.type, c.status, c.reason) for c in status.conditions)
    return (status.phase, status.need, status.child_uid, status.scheduled_time, status.observed_generation, conditions)


def _without_words(status: PodGroupStatus) -> PodGroupStatus:
    """Return the status with no messages in it."""
    silent = tuple(condition.model_copy(update={"message": ""}) for condition in status.conditions)
    return status.model_copy(update={"conditions": silent})
