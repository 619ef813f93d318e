"""Carries claims out: reserves their room, gives way to pods that can go nowhere else, evicts who has to go.

What is to be done is worked out from the present state each time, so whatever failed is done the next time. Nobody is
evicted before the watch has shown all reservations and the whole gang still fits once the victims are gone.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NoReturn

from ganglift.api.names import HELD_UNTIL, REASSERTED
from ganglift.api.pod import Pod
from ganglift.base.clock import Clock
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.base.wording import counted
from ganglift.engine.admit import SEEN_TIMEOUT_S
from ganglift.engine.cache import Cache
from ganglift.engine.claim import Claim
from ganglift.engine.claims import pinned_nodes
from ganglift.engine.entry import Entry
from ganglift.engine.executor import Executor, NotLeading, ref_of
from ganglift.engine.jobs import Jobs
from ganglift.engine.nominations import Nominations
from ganglift.engine.scheduler import SchedulerLease
from ganglift.engine.tasks import Tasks
from ganglift.engine.work import GroupWork
from ganglift.engine.writes import nominate, rfc3339
from ganglift.gang.actions import Announce, Evict, Kind
from ganglift.gang.outcome import Held, Outcome, Preempting, Unschedulable
from ganglift.gang.reasons import Reason
from ganglift.gang.takeback import evict
from ganglift.kube.client import PatchType
from ganglift.kube.errors import Conflict, Invalid, KubeError, NotFound

log = logging.getLogger(__name__)

EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Todo:
    """What of a claim is not so yet."""

    nominate: Mapping[Uid, NodeName]
    release: tuple[Pod, ...]
    evict: tuple[Pod, ...]
    is_noted: bool

    @property
    def is_nothing(self) -> bool:
        return self.is_noted and not (self.nominate or self.release or self.evict)


@dataclass(slots=True)
class Claiming:
    """See the module. `later` looks at a group again after a time."""

    cache: Cache
    entries: Mapping[Key, Entry]
    jobs: Jobs
    nominations: Nominations
    executor: Executor
    work: GroupWork
    scheduler: SchedulerLease
    clock: Clock
    still_whole: Callable[[Entry, Claim], Awaitable[str]]
    later: Callable[[Entry, float], None]
    _watched: SchedulerLease = field(init=False)
    _holder: str | None = None
    _told: set[Uid] = field(default_factory=set)
    """Members whose reservation was written while the present holder of the Lease led."""

    def __post_init__(self) -> None:
        self._watched = SchedulerLease(self.executor)

    async def watch(self, due: Callable[[], Iterable[Entry]], mark: Callable[[Key], None]) -> NoReturn:
        """Plan anew what time has come for, and keep reservations known to kube-scheduler, until cancelled."""
        while True:
            await self.clock.sleep(EVERY_S)
            for entry in due():
                entry.wants_plan = True
                mark(entry.key)
            with suppress(KubeError, NotLeading):
                await self.reassert()

    def pursue(self, entry: Entry, tasks: Tasks) -> None:
        """Go on with the room that is reserved for a group before it is free, or drop what it has no use for."""
        claim, look = entry.claim, entry.look
        if claim is None or entry.is_busy:
            return
        if look is None or not look.is_ready or not look.state.to_place:
            entry.claim = None
            return
        if entry.outcome is None or isinstance(entry.outcome, Unschedulable | Held | Preempting):
            entry.outcome = self.outcome(entry, claim)
        if not entry.trouble.is_waiting(self.clock.monotonic()):
            todo = self.todo(entry, claim)
            if not todo.is_nothing:
                tasks.start(entry, lambda: self.carry_out(entry, claim, todo), "claim")

    def todo(self, entry: Entry, claim: Claim) -> Todo:
        """Return what is to be done for the claim now."""
        yields = pinned_nodes(self.cache.snapshot())
        nominate_: dict[Uid, NodeName] = {}
        release: list[Pod] = []
        for uid, node in claim.places.items():
            pod = self.cache.pods.get(uid)
            if pod is None or not pod.has_gate or pod.is_deleting:
                continue
            if node in yields:
                release += [pod] if pod.nominated and self.nominations.is_ours(pod) else []
            elif pod.nominated != node:
                nominate_[uid] = node
        victims = (self.cache.pods.get(uid) for uid in sorted(claim.victims))
        leave = [pod for pod in victims if pod is not None and not pod.is_deleting and not pod.is_over]
        if entry.evicting.is_waiting(self.clock.monotonic()):
            leave = []
        noted = entry.group.metadata.annotations.get(HELD_UNTIL, "")
        return Todo(nominate_, tuple(release), tuple(leave), not claim.is_hold or noted == rfc3339(claim.until))

    def outcome(self, entry: Entry, claim: Claim) -> Outcome:
        """Return what the group's status says of the claim."""
        present = (self.cache.pods.get(uid) for uid in claim.goes)
        left = sum(1 for pod in present if pod is not None and not pod.is_over)
        if claim.is_hold:
            pods = f"{counted(left, 'pod')} there to end"
            return Held(claim.nodes, claim.until, pods if left else "")
        return Preempting(left, claim.nodes, entry.eviction_trouble)

    async def carry_out(self, entry: Entry, claim: Claim, todo: Todo) -> None:
        """Do it."""
        for uid, node in todo.nominate.items():
            self.cache.assume(uid, node)
        try:
            if not todo.is_noted:
                await self._note(entry, claim)
            await self.work.release(todo.release)
            await self._nominate(todo.nominate)
        finally:
            self.cache.forget(todo.nominate)
        if todo.evict and self._is_reserved(claim) and not (why := await self.still_whole(entry, claim)):
            await self._evict(entry, todo.evict)
        elif todo.evict and self._is_reserved(claim):
            log.info("reserved room is given up", extra={"gang": str(entry.key), "why": why})
            entry.claim = None

    async def _note(self, entry: Entry, claim: Claim) -> None:
        """Write down until when the hold lasts, for whoever leads next."""
        metadata = {"uid": entry.group.uid, "annotations": {HELD_UNTIL: rfc3339(claim.until)}}
        answer = await self.executor.patch(ref_of(Kind.POD_GROUP, entry.key), {"metadata": metadata}, PatchType.MERGE)
        entry.take(type(entry.group).model_validate(answer))

    async def _nominate(self, places: Mapping[Uid, NodeName]) -> None:
        if places and self._holder is None:
            self._holder = await self._watched.read()
        seen = self.cache.expect(places, lambda pod: pod.nominated == places[pod.uid])

        async def one(pod: Pod) -> None:
            self.nominations.write(pod.uid, places[pod.uid])
            body = nominate(pod, places[pod.uid])
            await self.executor.patch(ref_of(Kind.POD, pod.key), body, PatchType.MERGE, subresource="status")
            self._told.add(pod.uid)

        pods = [pod for uid in places if (pod := self.cache.pods.get(uid)) is not None]
        answers = await asyncio.gather(*map(one, pods), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, Conflict | Invalid | NotFound):
                raise answer
        if not any(answers):
            await seen.wait(SEEN_TIMEOUT_S)

    def _is_reserved(self, claim: Claim) -> bool:
        """Whether the watch shows all of the claim's nominations."""
        places = claim.places
        shown = (self.cache.pods.get(uid) for uid in places)
        return all(pod is not None and pod.nominated == places[pod.uid] for pod in shown)

    async def _evict(self, entry: Entry, victims: Iterable[Pod]) -> None:
        """Have the victims leave, none of them while a disruption budget forbids one: it would be in vain."""
        why = f"evicted so that gang {entry.key} of priority {entry.look.priority if entry.look else 0} fits"
        pods = tuple(victims)
        troubles = await self._each(pods, self._try)
        if not troubles:
            troubles = await self._each(pods, lambda pod: self._evict_one(pod, why))
        entry.eviction_trouble = troubles[0] if troubles else ""
        if troubles:
            self.later(entry, entry.evicting.fail(self.clock.monotonic()))

    async def _each(self, pods: Iterable[Pod], act: Callable[[Pod], Awaitable[None]]) -> list[str]:
        """Do this for each; return what went wrong. A pod that is gone, or has been replaced, is none to evict."""
        told = tuple(pods)
        answers = await asyncio.gather(*map(act, told), return_exceptions=True)
        troubles = []
        for pod, answer in zip(told, answers, strict=True):
            if isinstance(answer, KubeError) and not isinstance(answer, NotFound | Conflict):
                troubles.append(f"{pod.key} can't be evicted: {answer}")
            elif isinstance(answer, BaseException) and not isinstance(answer, KubeError):
                raise answer
        return troubles

    async def _try(self, pod: Pod) -> None:
        if any(budget.metadata.namespace == pod.metadata.namespace for budget in self.cache.books.ledger.budgets()):
            await self.executor.perform(Evict(pod.key, pod.uid, is_trial=True))

    async def _evict_one(self, pod: Pod, why: str) -> None:
        await self.executor.carry_out(evict(pod, self.jobs.by_uid, why))
        self.work.tally.evictions += 1
        self.executor.announce(
            Announce(Kind.POD, pod.key, pod.uid, Reason.PREEMPTED.value, why, Reason.PREEMPTED.is_warning)
        )

    # A new kube-scheduler

    async def reassert(self) -> None:
        """Tell kube-scheduler of reservations that it may not know: 1.34 forgets those from before its start.

        It takes note of a gated pod when that changes in any way. So do reservations that an earlier process made, for
        nobody knows which kube-scheduler led then.
        """
        claimed = {uid for entry in self.entries.values() if entry.claim is not None for uid in entry.claim.places}
        self._told &= claimed
        if not claimed:
            self._holder = None
            return
        holder = await self._watched.read()
        if holder != self._holder:
            self._holder = holder
            self._told.clear()
        untold = [pod for uid in claimed - self._told if (pod := self.cache.pods.get(uid)) is not None]
        reserved = [pod for pod in untold if pod.nominated]
        if reserved:
            log.info("reservations are told to kube-scheduler again", extra={"members": len(reserved)})
            await asyncio.gather(*(self._touch(pod, holder) for pod in reserved))
            await self.scheduler.read()

    async def _touch(self, pod: Pod, holder: str) -> None:
        body = {"metadata": {"uid": pod.uid, "annotations": {REASSERTED: holder}}}
        try:
            await self.executor.patch(ref_of(Kind.POD, pod.key), body, PatchType.MERGE)
        except KubeError as error:
            log.warning("a reservation is not told again", extra={"pod": str(pod.key), "error": str(error)})
        else:
            self._told.add(pod.uid)
