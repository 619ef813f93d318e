"""The loop: looks at the groups that something happened to, asks the planner, starts what follows.

One pass, in order:

    1. take        the groups that are due: changed or timed
    2. look        sort their pods, count, say what is missing
    3. settle      partial gangs: repair or take back; free pods that wait for no gang
    4. plan        those of them that wait for room, all that do if capacity grew, in queue order, in a worker thread
    5. admit       start reserve, confirm, lift for each that fits; release what no plan wants any more
    6. show        status and events

What takes time (steps 3 and 5) runs as one task per group, during which the group is left alone; its reservations count
in the books meanwhile. Everything is decided from the present state of the cache: an event only says that it is time to
look, and a slow sweep looks without one.
"""

import asyncio
import logging
import random
from typing import NoReturn

from ganglift.api.job import BatchJob
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.base.clock import Clock
from ganglift.base.ids import Key, Uid
from ganglift.base.settings import Settings
from ganglift.engine.backoff import Backoff
from ganglift.engine.cache import Cache
from ganglift.engine.claiming import Claiming
from ganglift.engine.claims import Claims
from ganglift.engine.classes import Classes
from ganglift.engine.distrust import Distrust
from ganglift.engine.entry import Entry
from ganglift.engine.executor import Executor
from ganglift.engine.fence import Fence
from ganglift.engine.housekeeping import Housekeeping
from ganglift.engine.jobs import Jobs
from ganglift.engine.look import look_at
from ganglift.engine.nominations import Nominations
from ganglift.engine.partial import Partial
from ganglift.engine.queue import Queue
from ganglift.engine.remarks import Remarks
from ganglift.engine.report import Report
from ganglift.engine.scheduler import SchedulerLease
from ganglift.engine.starts import Starts
from ganglift.engine.tally import Tally
from ganglift.engine.tasks import Tasks
from ganglift.engine.timers import Timers
from ganglift.engine.work import GroupWork
from ganglift.gang.outcome import Waiting
from ganglift.gang.split import base_of
from ganglift.plan.queue import Policy

log = logging.getLogger(__name__)

TROUBLE_FIRST_S, TROUBLE_LONGEST_S = 1.0, 60.0
"""Pauses after steps that the API server did not carry out."""
COALESCE_S = 0.005
"""A burst of events is one pass, at this cost in latency."""
COALESCE_MOST_S = 0.1
REST = 9.0
"""A pass is followed by a rest so many times as long, so that a big gang's events don't take the whole processor."""


class Engine:
    """Gangs of one cluster. The handlers tell it of groups and Jobs, the informers tell its cache of pods and nodes."""

    def __init__(self, settings: Settings, executor: Executor, clock: Clock, rng: random.Random | None = None) -> None:
        self.settings = settings
        self.executor = executor
        self.cache = Cache(self)
        self.fence = Fence(settings.namespace, self.cache, executor, clock)
        self.jobs = Jobs()
        self.classes = Classes()
        self.nominations = Nominations(executor)
        self.entries: dict[Key, Entry] = {}
        self.tally = Tally()
        self._clock = clock
        self._rng = rng or random.Random()
        self._distrust = Distrust(settings.node_avoid)
        self._remarks = Remarks(executor, self.classes)
        self._report = Report(executor, clock, self.classes, self._later)
        scheduler = SchedulerLease(executor)
        self._work = GroupWork(
            self.cache,
            self.jobs,
            self.nominations,
            executor,
            self.fence,
            scheduler,
            clock,
            self._look,
            self._report.show,
            self.tally,
        )
        self._parts: dict[Key, set[Key]] = {}
        """Of a group that is split by a label: the groups made for its values."""
        self._due: set[Key] = set()
        self._grew = False
        self._givers: set[Key | None] = set()
        """Whose bound pods, since the last pass, left room; None stands for other pods and for nodes."""
        self._wake = asyncio.Event()
        self._tasks = Tasks(clock, self._ended)
        self._housekeeping = Housekeeping(
            self.cache,
            self.entries,
            self.nominations,
            self._work,
            self.fence,
            self._remarks,
            clock,
            settings.sweep_interval,
            self._mark,
            self.group_changed,
        )
        self._timers: Timers[Key] = Timers(self._mark)
        self._partial = Partial(
            self.cache, self.nominations, self._distrust, self._work, self._tasks, clock, self._later
        )
        queue = Queue(Policy(settings.queue_policy), self.cache.books.ledger)
        self._starts = Starts(
            self.cache, self.entries, queue, self._distrust, self._work, self._tasks, clock, settings.max_reserved
        )
        self._claims = Claims(self.cache, self.entries, self.classes, settings, clock)
        self._claiming = Claiming(
            self.cache,
            self.entries,
            self.jobs,
            self.nominations,
            executor,
            self._work,
            scheduler,
            clock,
            self._claims.why_not_whole,
            self._later,
        )

    # What happens in the cluster

    def group_changed(self, key: Key) -> None:
        """A pod that bears the group's label, or something else its plan depends on, has changed."""
        for one in (key, *self._parts.get(key, ())):
            if (entry := self.entries.get(one)) is not None:
                entry.wants_plan = True
                self._mark(one)

    def pod_left(self, pod: Pod) -> None:
        """Learn how long pods like this one run."""
        self._claims.run_times.note(pod, self._clock.now())

    def pinned_changed(self, node: str) -> None:
        """Look at whoever has room reserved on the node before it is free."""
        for key, entry in self.entries.items():
            if entry.claim is not None and node in entry.claim.nodes:
                self._mark(key)

    def capacity_grew(self, by: Key | None = None) -> None:
        """Look again at all that wait, also at those that back off, but for the group that gave the room itself."""
        self._grew = True
        self._givers.add(by)
        self._wake.set()

    def room_returned(self) -> None:
        """Look again at all that wait. Not at who backs off: its own reservation, given back, must not wake it."""
        self._grew = True
        self._wake.set()

    def volumes_changed(self, key: Key) -> None:
        """Plan a group again, also one that backs off: its pods' volumes may be had now."""
        for one in (key, *self._parts.get(key, ())):
            if (entry := self.entries.get(one)) is not None:
                entry.backoff.wake()
        self.group_changed(key)

    def member_ends(self, pod: Pod) -> None:
        """Learn from a member that failed or has to go, before nothing shows it any more."""
        self._distrust.note(pod, self._clock.now())

    def set_group(self, group: PodGroup) -> None:
        """Take a group that was made or changed."""
        entry = self.entries.get(group.key)
        if entry is None or entry.group.uid != group.uid:
            self.drop_group(group.key)
            self.entries[group.key] = self._new_entry(group)
            if (base := base_of(group)) != group.key:
                self._parts.setdefault(base, set()).add(group.key)
        else:
            entry.take(group)
        self._mark(group.key)

    def _new_entry(self, group: PodGroup) -> Entry:
        backoff = Backoff(self.settings.backoff_base, self.settings.backoff_max, self._rng)
        return Entry(group, backoff, Backoff(TROUBLE_FIRST_S, TROUBLE_LONGEST_S, self._rng))

    def drop_group(self, key: Key) -> None:
        """Take the end of a group; what is under way for it ends at its next check."""
        if (entry := self.entries.pop(key, None)) is not None:
            entry.is_dropped = True
            self._report.forget(key)
            self._remarks.forget(entry.group.uid)
            self._timers.drop(key)
            base = base_of(entry.group)
            parts = self._parts.get(base, set()) - {key}
            self._parts |= {base: parts} if parts else {}
            if not parts:
                self._parts.pop(base, None)
            self._housekeeping.tidy_soon()
            if self._starts.queue.is_strict():
                self.room_returned()  # others may have waited behind it

    def set_job(self, job: BatchJob) -> None:
        """Take a batch/v1 Job whose pods bear a group's label."""
        for key in self.jobs.put(job):
            self.group_changed(key)

    def drop_job(self, uid: Uid) -> None:
        """Take the end of a batch/v1 Job."""
        for key in self.jobs.drop(uid):
            self.group_changed(key)

    def pods_of(self, key: Key) -> tuple[Pod, ...]:
        """Return the pods that bear a group's label."""
        return self.cache.pods_of(key)

    def set_obstacle(self, key: Key, obstacle: Waiting | None) -> None:
        """Keep a group from being planned for a reason outside its pods; None lets it go on."""
        entry = self.entries.get(key)
        if entry is not None and entry.obstacle != obstacle:
            entry.obstacle = obstacle
            self.group_changed(key)

    # The loop

    async def run(self) -> None:
        """Work until cancelled; may be run again. The cache must have its first full lists of pods and nodes."""
        self.nominations.begin()
        await self.fence.provide()
        await self._housekeeping.learn()
        try:
            async with self._tasks.running() as tasks:
                tasks.create_task(self._housekeeping.sweep(), name="sweep")
                tasks.create_task(self._housekeeping.tidy(), name="tidy")
                tasks.create_task(self._report.run(), name="report")
                tasks.create_task(self._claiming.watch(self._claims.due, self._mark), name="claims")
                await self._loop()
        finally:
            self._timers.close()
            self.cache.assume_nothing()
            await self.fence.close()

    async def _loop(self) -> NoReturn:
        rest_s = COALESCE_S
        while True:
            await self._wake.wait()
            await self._clock.sleep(rest_s)
            self._wake.clear()
            begun = self._clock.monotonic()
            await self._pass()
            rest_s = min(max(COALESCE_S, REST * (self._clock.monotonic() - begun)), COALESCE_MOST_S)

    async def _pass(self) -> None:
        due, grew = self._take()
        for entry in due:
            with self._tasks.blaming(entry):
                self._look(entry)
                self._partial.settle(entry)
        waiting = self._starts.waiting(grew)
        if waiting:
            begun = self._clock.monotonic()
            unfit = await self._starts.plan(waiting)
            self.tally.plans.note(self._clock.monotonic() - begun)
            await self._claims.consider(unfit)
        concerned = {entry.key: entry for entry in (*due, *waiting)}.values()
        self._starts.queue.show_places(concerned, self.entries.values(), self._clock.monotonic())
        for entry in concerned:
            with self._tasks.blaming(entry):
                self._finish(entry)

    def _finish(self, entry: Entry) -> None:
        """Do what is left to do for a group once all are planned."""
        self._claiming.pursue(entry, self._tasks)
        self._release(entry)
        self._partial.explain(entry)
        self._report.show(entry)
        self._remarks.about(entry)
        if (wait_s := entry.waits_s(self._clock.monotonic())) > 0:
            self._later(entry, wait_s)

    def _take(self) -> tuple[list[Entry], bool]:
        """Take the groups that are due, and whether there is more room: that ends waits, and a failed repair's."""
        grew, self._grew = self._grew, False
        givers, self._givers = self._givers, set()
        due, self._due = self._due, set()
        for key, entry in self.entries.items():
            if givers - {key}:
                entry.backoff.wake()
        if grew:
            due |= {entry.key for entry in self.entries.values() if entry.look is not None and entry.look.is_partial}
        return [self.entries[key] for key in sorted(due) if key in self.entries], grew

    def _look(self, entry: Entry) -> None:
        """Look at a group's pods now. Where gangs wait behind others, one that no longer waits lets them go on."""
        waited = entry.look is not None and entry.look.is_ready
        pods, jobs = self.cache.pods_of(base_of(entry.group)), self.jobs.of_group(entry.key)
        look = look_at(entry.group, pods, jobs, self.nominations.is_foreign, entry.obstacle)
        entry.look = look
        self.tally.follow(entry, look, self._clock.monotonic())
        if waited and not look.is_ready and self._starts.queue.is_strict():
            self.room_returned()
        if look.waiting is not None:
            entry.outcome = look.waiting
        elif look.state.is_whole:
            entry.outcome = None
            entry.backoff.reset()

    def _release(self, entry: Entry) -> None:
        """Give back room kept for gated members, unless they are about to be planned again."""
        now = self._clock.monotonic()
        if entry.is_busy or entry.look is None or entry.trouble.is_waiting(now):
            return
        is_next = entry.wants_plan and entry.is_ready and not entry.waits_s(now)
        claimed = entry.claim.places if entry.claim is not None else {}
        reserved = [pod for pod in entry.look.membership.gated if pod.nominated and self.nominations.is_ours(pod)]
        kept = [pod for pod in reserved if claimed.get(pod.uid) != pod.nominated]
        if kept and not is_next:
            self._tasks.start(entry, lambda: self._work.release(kept), "release")

    def _ended(self, entry: Entry) -> None:
        """Look again at a group whose task has ended."""
        self.group_changed(entry.key)

    def _later(self, entry: Entry, delay_s: float) -> None:
        """Look at a group again in a while."""
        if not entry.is_dropped:
            self._timers.set(entry.key, delay_s)

    def _mark(self, key: Key) -> None:
        self._due.add(key)
        self._wake.set()
