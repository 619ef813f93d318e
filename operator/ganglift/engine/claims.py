"""Claims of gangs for which there is no room: whom to evict for one, which busy nodes to hold for another.

Claims are made, kept and given up once each pass has planned all that fits, in queue order. What stands of them in the
API are nominations of gated members, so a new process finds room reserved and asks the same questions again: pods that
leave count as gone, so nobody is evicted twice; and of a hold the group's annotation tells how long it is to last.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ganglift.api.names import HELD_UNTIL
from ganglift.api.pod import Pod
from ganglift.base.clock import Clock
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.base.settings import Settings
from ganglift.engine.cache import Cache
from ganglift.engine.claim import Claim
from ganglift.engine.classes import Classes
from ganglift.engine.entry import Entry
from ganglift.engine.occupancy import RunTimes, Worth, evictable, lower_nodes
from ganglift.gang.priority import Priorities, priorities_of
from ganglift.gang.reasons import ConditionType
from ganglift.gang.takeback import is_disrupted_as_one
from ganglift.plan.check import still_fits
from ganglift.plan.hold import Hold, hold
from ganglift.plan.preempt import Preemption, preempt
from ganglift.plan.request import GroupRequest
from ganglift.plan.snapshot import Kind, Snapshot
from ganglift.plan.vacate import slots_of, without_pods
from ganglift.plan.words import cause_words

log = logging.getLogger(__name__)

ATTEMPTS = 2
"""So many gangs are looked at anew in one pass, for preemption and for holds each: it takes time."""
AGAIN_S = 60.0
"""A hold is planned anew so often, since other nodes may have turned out to be free sooner."""
PREEMPTING_FOR = timedelta(minutes=30)
"""How long room is reserved for a preemptor whose victims do not go."""

Unfit = tuple[Entry, GroupRequest]


@dataclass(slots=True)
class Claims:
    """See the module."""

    cache: Cache
    entries: Mapping[Key, Entry]
    classes: Classes
    settings: Settings
    clock: Clock
    run_times: RunTimes = field(default_factory=RunTimes)

    # When to look

    def due(self) -> list[Entry]:
        """Return the gangs that are to be planned anew although nothing has happened, because of their claims."""
        now, monotonic = self.clock.now(), self.clock.monotonic()
        waiting = [entry for entry in self.entries.values() if entry.is_ready and not entry.is_settled]
        over = [entry for entry in waiting if entry.claim is not None and self._is_over(entry.claim)]
        free = [entry for entry in waiting if entry.claim is None and not entry.is_behind]
        asked = [e for e in free if e.is_preemption_put_off and not e.preempting.is_waiting(monotonic)]
        held = self._held_levels()
        holding = [
            entry
            for entry in free
            if entry.look is not None
            and entry.look.priority not in held
            and not entry.holding.is_waiting(monotonic)
            and self._may_hold(entry, now)
        ]
        return [*over, *_first(asked), *_first(holding)]

    def _is_over(self, claim: Claim) -> bool:
        is_old = claim.is_hold and self.clock.monotonic() >= claim.made + AGAIN_S
        return is_old or self.clock.now() >= claim.until

    def _held_levels(self) -> set[int]:
        entries = (entry for entry in self.entries.values() if entry.claim is not None and entry.claim.is_hold)
        return {entry.look.priority for entry in entries if entry.look is not None}

    def _may_hold(self, entry: Entry, now: datetime) -> bool:
        """Whether a gang has waited long enough for a hold; one that was cut short goes on."""
        look = entry.look
        if look is None or not look.membership.gated:
            return False
        if (until := held_until(entry)) is not None and until > now:
            return True
        condition = entry.group.condition(ConditionType.SCHEDULED)
        long_ago = now - timedelta(seconds=self.settings.hold_after)
        since = condition.last_transition_time if condition is not None else None
        if any(at is not None and at > long_ago for at in (until, since)):
            return False
        return all((pod.metadata.creation_timestamp or now) <= long_ago for pod in look.membership.gated)

    # The claims of a pass

    async def consider(self, unfit: Iterable[Unfit]) -> None:
        """Keep, give up and make claims of gangs for which there is no room now."""
        queue = sorted(unfit, key=lambda one: one[0].queue_order)
        for entry, request in queue:
            if entry.claim is not None:
                await self._keep(entry, request, entry.claim)
        free = [one for one in queue if one[0].claim is None and _may_claim(one[0])]
        await self._preempt(free)
        await self._hold([one for one in free if one[0].claim is None])

    async def _keep(self, entry: Entry, request: GroupRequest, claim: Claim) -> None:
        why = self._why_over(entry, request, claim) or await asyncio.to_thread(
            _why_broken, self.cache.snapshot(), request, claim, self.cache.reserved_below(request.priority)
        )
        if why:
            log.info("reserved room is given up", extra={"gang": str(entry.key), "why": why})
            entry.claim = None

    async def why_not_whole(self, entry: Entry, claim: Claim) -> str:
        """Return why the gang would not fit once all that is waited for has gone; empty if it would."""
        request = entry.look.request(self.cache.member, frozenset()) if entry.look is not None else None
        if request is None or not {place.uid for place in claim.fits.placements} <= {m.uid for m in request.members}:
            return "members have gone"
        lower = self.cache.reserved_below(request.priority)
        return await asyncio.to_thread(_why_broken, self.cache.snapshot(), request, claim, lower)

    def _why_over(self, entry: Entry, request: GroupRequest, claim: Claim) -> str:
        if self.clock.now() >= claim.until:
            if not claim.is_hold:
                entry.preempting.fail(self.clock.monotonic())
            return "its time is over"
        if self._is_over(claim):
            return "it is planned anew"
        members = {member.uid for member in request.members}
        if any(place.uid not in members for place in claim.fits.placements):
            return "members have gone"
        return "more members are needed" if len(claim.fits.placements) < request.need else ""

    def _has_allowance(self, request: GroupRequest) -> bool:
        others = len(self.cache.reserved_uids() - request.own)
        return others + request.need <= self.settings.max_reserved

    # Preemption

    async def _preempt(self, queue: Sequence[Unfit]) -> None:
        attempts = 0
        for entry, request in queue:
            entry.is_preemption_put_off = False
            if not self._may_preempt(entry) or not self._has_allowance(request):
                continue
            if attempts >= ATTEMPTS or entry.preempting.is_waiting(self.clock.monotonic()):
                entry.is_preemption_put_off = True
                continue
            attempts += 1
            found = await asyncio.to_thread(self._victims, *self._question(entry, request))
            if found is None or not (found.victims or self._has_reservations(request)):
                entry.preempting.fail(self.clock.monotonic())
            elif not entry.is_dropped:
                self._begin_preempting(entry, found)

    def _may_preempt(self, entry: Entry) -> bool:
        """Whether the gang may evict others and there is anybody of lower priority at all."""
        priorities = self._priorities(entry)
        lowest = min(self.cache.priorities, default=None)
        is_higher = priorities is not None and lowest is not None and lowest < priorities.preemptor
        return is_higher and entry.group.spec.preemption_policy != "Never"

    def _question(self, entry: Entry, request: GroupRequest) -> tuple[Snapshot, GroupRequest, int, tuple[Pod, ...]]:
        priorities = self._priorities(entry)
        preemptor = priorities.preemptor if priorities is not None else request.priority
        return self.cache.snapshot(), request, preemptor, tuple(self.cache.pods.values())

    def _victims(
        self, snapshot: Snapshot, request: GroupRequest, priority: int, pods: Sequence[Pod]
    ) -> Preemption | None:
        """Runs in a thread."""
        budgets = self.cache.books.ledger.budgets()
        pods_below = evictable(pods, self._worths(), budgets, priority)
        allowed = {str(budget.key): budget.status.disruptions_allowed for budget in budgets}
        ignoring = [pod.uid for pod in pods if pod.is_gated and pod.nominated and pod.spec.priority < request.priority]
        return preempt(snapshot, request, priority, pods_below, allowed, ignoring=ignoring)

    def _worths(self) -> dict[Key, Worth]:
        found: dict[Key, Worth] = {}
        for key, entry in tuple(self.entries.items()):
            if (priorities := self._priorities(entry)) is not None:
                found[key] = Worth(priorities.victim, is_disrupted_as_one(entry.group))
        return found

    def _priorities(self, entry: Entry) -> Priorities | None:
        if entry.look is None:
            return None
        return priorities_of(entry.group, entry.look.membership, self.classes.values)

    def _has_reservations(self, request: GroupRequest) -> bool:
        return not self.cache.reserved_uids().isdisjoint(request.own)

    def _begin_preempting(self, entry: Entry, found: Preemption) -> None:
        entry.preempting.reset()
        entry.evicting.reset()
        goes = frozenset((*found.victims, *found.leaving))
        until = self.clock.now() + PREEMPTING_FOR
        entry.claim = Claim(
            found.fits, goes, frozenset(found.victims), until, is_hold=False, made=self.clock.monotonic()
        )
        log.info("evicting for a gang", extra={"gang": str(entry.key), "victims": len(found.victims)})

    # Holds

    async def _hold(self, queue: Sequence[Unfit]) -> None:
        now, monotonic, held, attempts = self.clock.now(), self.clock.monotonic(), self._held_levels(), 0
        for entry, request in queue:
            if request.priority in held or entry.holding.is_waiting(monotonic) or not self._may_hold(entry, now):
                continue
            if attempts >= ATTEMPTS:
                break
            if not self._has_allowance(request):
                entry.holding.fail(monotonic)
                continue
            attempts += 1
            found = await asyncio.to_thread(
                self._soonest, self.cache.snapshot(), entry, request, tuple(self.cache.pods.values())
            )
            if found is None:
                entry.holding.fail(self.clock.monotonic())
            elif not entry.is_dropped:
                held.add(request.priority)
                self._begin_hold(entry, found)

    def _soonest(self, snapshot: Snapshot, entry: Entry, request: GroupRequest, pods: Sequence[Pod]) -> Hold | None:
        """Runs in a thread."""
        avoid = request.avoid | pinned_nodes(snapshot)
        if entry.group.spec.preemption_policy != "Never":
            avoid |= lower_nodes(pods, request.priority)
        ignoring = [pod.uid for pod in pods if pod.is_gated and pod.nominated and pod.spec.priority < request.priority]
        return hold(snapshot, replace(request, avoid=avoid), self.run_times.in_order_of_end(pods), ignoring)

    def _begin_hold(self, entry: Entry, found: Hold) -> None:
        entry.holding.reset()
        now = self.clock.now().replace(microsecond=0)
        known = held_until(entry)
        until = known if known is not None and known > now else now + timedelta(seconds=self.settings.hold_for)
        entry.held_until = until
        entry.claim = Claim(
            found.fits, frozenset(found.goes), frozenset(), until, is_hold=True, made=self.clock.monotonic()
        )
        log.info("room is held for a gang", extra={"gang": str(entry.key), "nodes": len(entry.claim.nodes)})


def held_until(entry: Entry) -> datetime | None:
    """Return until when the gang has a hold, or had the last one."""
    text = entry.group.metadata.annotations.get(HELD_UNTIL, "")
    try:
        noted = datetime.fromisoformat(text) if text else None
    except ValueError:
        noted = None
    if noted is not None and noted.tzinfo is None:
        noted = None
    return max(filter(None, (noted, entry.held_until)), default=None)


def pinned_nodes(snapshot: Snapshot) -> frozenset[NodeName]:
    """Return the nodes for which a pending pod waits that can go nowhere else, as a DaemonSet's does."""
    return frozenset(
        snapshot.names[standing.node] for standing in snapshot.standing.values() if standing.kind is Kind.PINNED
    )


def _first(entries: Iterable[Entry]) -> list[Entry]:
    """Return so many as are looked at in one pass, in queue order."""
    return sorted(entries, key=lambda entry: entry.queue_order)[:ATTEMPTS]


def _may_claim(entry: Entry) -> bool:
    look = entry.look
    return look is not None and not look.is_partial and not entry.is_busy and look.state.to_place > 0


def _why_broken(snapshot: Snapshot, request: GroupRequest, claim: Claim, lower: Iterable[Uid]) -> str:
    """Return why the places will not do once all that is waited for has gone; runs in a thread."""
    later = without_pods(snapshot, list(slots_of(snapshot, claim.goes).values()))
    members = {member.uid: member for member in request.members}
    assignment = [(members[place.uid], place.node) for place in claim.fits.placements]
    pins = {place.uid: place.pins for place in claim.fits.placements if place.pins}
    broken = still_fits(later, assignment, lower, pins)
    if not broken:
        return ""
    causes = ", ".join(map(cause_words, broken[0].causes)) or "it is gone"
    return f"{broken[0].node} will not do any more: {causes}"
