"""Decides as the operator does, with the operator's own parts: cache, look, queue, planner, preemption, holds, waits.

A pass is the engine's, without what takes no time here: who is planned and started is up to `Starts`, who evicts or
holds what to `Claims`. What they decide is carried out at once: nominations show, gates are off, members are bound.
"""

import math
import random
from collections.abc import Coroutine
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from ganglift.api.pod import Pod
from ganglift.base.ids import Key, NodeName
from ganglift.base.settings import Settings
from ganglift.engine.backoff import Backoff
from ganglift.engine.cache import Cache
from ganglift.engine.claim import Claim
from ganglift.engine.claims import AGAIN_S, Claims, held_until
from ganglift.engine.classes import Classes
from ganglift.engine.distrust import Distrust
from ganglift.engine.entry import Entry
from ganglift.engine.look import look_at
from ganglift.engine.queue import Queue
from ganglift.engine.starts import Starts
from ganglift.engine.tasks import Work
from ganglift.plan.queue import Policy
from ganglift.plan.verdict import Fits
from ganglift.simulate.clock import START
from ganglift.simulate.gangs import bound, group_of, leaving, member_of, node_of, nominated, once_scheduled
from ganglift.simulate.scenario import Pool
from ganglift.simulate.world import Life, Member, World

MOST_PASSES = 1000
"""So many passes at one moment mean that decisions go round in circles."""


class Circles(AssertionError):
    """The decisions of one moment never come to an end, which is a fault of ours."""


class Gangwise:
    """See the module. Listens to its cache as the engine does."""

    def __init__(self, world: World, settings: Settings, rng: random.Random) -> None:
        self.cache = Cache(self)
        self.entries: dict[Key, Entry] = {}
        self.held_for: set[Key] = set()
        """Gangs that have had a hold."""
        self._world = world
        self._settings = settings
        self._rng = rng
        self._lives: dict[Key, Life] = {}
        self._distrust = Distrust(settings.node_avoid)
        self._claims = Claims(self.cache, self.entries, Classes(), settings, world.clock)
        queue = Queue(Policy(settings.queue_policy), self.cache.books.ledger)
        self.starts = Starts(
            self.cache, self.entries, queue, self._distrust, self, self, world.clock, settings.max_reserved
        )
        self._due: set[Key] = set()
        self._grew = False
        self._work: list[Work] = []
        self._held_on: dict[Key, int] = {}
        """Of gangs that have a hold: on which version of the books it was planned."""
        self._asked: set[Key] = set()
        """Gangs that were due because of a claim the last time, if nothing came of it: it would be so again."""

    # What the cache tells

    def group_changed(self, key: Key) -> None:
        if (entry := self.entries.get(key)) is not None:
            entry.wants_plan = True
            self._due.add(key)

    def member_ends(self, pod: Pod) -> None:
        self._distrust.note(pod, self._world.clock.now())

    def pod_left(self, pod: Pod) -> None:
        self._claims.run_times.note(pod, self._world.clock.now())

    def pinned_changed(self, node: str) -> None:
        """No pod of a simulation is pinned to a node."""

    def capacity_grew(self, by: Key | None = None) -> None:
        self._grew = True

    def room_returned(self) -> None:
        self._grew = True

    def volumes_changed(self, key: Key) -> None:
        """No pod of a simulation has volumes."""

    # What the world tells

    def node_joined(self, pool: Pool, node: NodeName) -> None:
        self.cache.upsert_node(node_of(pool, node))

    def node_left(self, node: NodeName) -> None:
        self.cache.books.remove_node(node)
        self._grew = True

    def gang_came(self, life: Life) -> None:
        key = life.gang.key
        entry = Entry(group_of(life.gang), self._backoff(), self._backoff())
        for backoff in (entry.preempting, entry.holding, entry.evicting):
            backoff.rng = self._rng
        self.entries[key], self._lives[key] = entry, life
        self.group_changed(key)

    def _backoff(self) -> Backoff:
        return Backoff(self._settings.backoff_base, self._settings.backoff_max, self._rng)

    def member_made(self, life: Life, member: Member) -> None:
        self.cache.upsert_pod(member_of(life.gang, member.uid, member.made))

    def member_leaves(self, life: Life, member: Member) -> None:
        self.cache.upsert_pod(leaving(self.cache.pods[member.uid], self._world.now))

    def member_gone(self, life: Life, member: Member) -> None:
        self.cache.delete_pod(self.cache.pods[member.uid])

    def gang_ended(self, life: Life) -> None:
        del self.entries[life.gang.key], self._lives[life.gang.key]
        self._held_on.pop(life.gang.key, None)
        if self.starts.queue.is_strict():
            self.room_returned()

    # Deciding

    async def decide(self) -> None:
        due, version = self._claims.due(), self.cache.books.version
        for entry in due:
            if not self._would_stay(entry):
                self.group_changed(entry.key)
        passes = 0
        while self._due or self._grew:
            await self._pass()
            passes += 1
            if passes > MOST_PASSES:
                raise Circles(f"no end of decisions at second {self._world.now}")
        self._asked = {entry.key for entry in due} if version == self.cache.books.version else set()

    def _would_stay(self, entry: Entry) -> bool:
        """Whether a hold that is planned anew only since time has gone on would be the same; then it is."""
        claim, now = entry.claim, self._world.clock
        if claim is None or not claim.is_hold or now.now() >= claim.until:
            return False
        if self._held_on.get(entry.key) != self.cache.books.version:
            return False
        entry.claim = replace(claim, made=now.monotonic())
        return True

    async def _pass(self) -> None:
        due, self._due = self._due, set()
        grew, self._grew = self._grew, False
        concerned = {key: self.entries[key] for key in sorted(due) if key in self.entries}
        for entry in concerned.values():
            self._look(entry)
        waiting = self.starts.waiting(grew)
        if waiting:
            concerned |= {entry.key: entry for entry in waiting}
            await self._plan(waiting)
        work, self._work = self._work, []
        for carry_out in work:
            await carry_out()
        for entry in concerned.values():
            await self._pursue(entry)
        if work:
            # What was put off since too much was reserved may go on by now.
            self._due |= {entry.key for entry in waiting if entry.wants_plan and entry.is_ready}

    async def _plan(self, waiting: list[Entry]) -> None:
        claims = {entry.key: entry.claim for entry in waiting}
        unfit = await self.starts.plan(waiting)
        version = self.cache.books.version
        await self._claims.consider(unfit)
        for entry in waiting:
            if entry.claim is not None and entry.claim is not claims[entry.key]:
                self._held_on[entry.key] = version

    def _look(self, entry: Entry) -> None:
        entry.look = look_at(entry.group, self.cache.pods_of(entry.key), (), lambda _: False)

    # Carrying out

    def blaming(self, entry: Entry) -> AbstractContextManager[None]:
        """Let faults through: in a simulation nothing has to go on in spite of them."""
        return nullcontext()

    def start(self, entry: Entry, work: Work, name: str) -> None:
        """Do it once all decisions of the pass are made."""
        self._work.append(work)

    def admit(self, entry: Entry, fits: Fits) -> Coroutine[Any, Any, None]:
        return self._admit(entry, fits)

    async def _admit(self, entry: Entry, fits: Fits) -> None:
        life = self._lives[entry.key]
        for place in fits.placements:
            self._world.place(life, place.uid, place.node)
            self.cache.upsert_pod(bound(self.cache.pods[place.uid], place.node, self._world.now))
        self.cache.forget(place.uid for place in fits.placements)
        if life.is_whole and entry.group.status.scheduled_time is None:
            entry.group = once_scheduled(entry.group, self._world.now)

    async def _pursue(self, entry: Entry) -> None:
        """Reserve what the gang claims and nothing else, then evict who is in the way."""
        if self.entries.get(entry.key) is not entry:
            return
        self._look(entry)
        if entry.claim is not None and not (entry.is_ready and entry.look and entry.look.state.to_place):
            entry.claim = None
        claim = entry.claim
        if claim is not None and claim.is_hold:
            self.held_for.add(entry.key)
        places = claim.places if claim is not None else {}
        for pod in entry.look.membership.gated if entry.look is not None else ():
            if pod.nominated != (node := places.get(pod.uid, "")):
                self.cache.upsert_pod(nominated(pod, node))
        if claim is not None and (victims := self._victims(claim)):
            if await self._claims.why_not_whole(entry, claim):
                entry.claim = None
                self.group_changed(entry.key)
            else:
                self._evict(victims)

    def _victims(self, claim: Claim) -> list[Pod]:
        known = (self.cache.pods.get(uid) for uid in sorted(claim.victims))
        return [pod for pod in known if pod is not None and not pod.is_deleting]

    def _evict(self, victims: list[Pod]) -> None:
        for pod in victims:
            if pod.group is not None:
                self._world.evict(self._lives[pod.group], pod.uid)

    # What the simulation asks

    def held(self) -> int:
        by_node: dict[NodeName, int] = {}
        for uid in self.cache.reserved_uids():
            pod = self.cache.pods[uid]
            if pod.group is not None:
                node = NodeName(pod.nominated)
                by_node[node] = by_node.get(node, 0) + self._lives[pod.group].gang.units
        offers, used = self._world.nodes, self._world.used
        return sum(min(units, offers[node] - used[node]) for node, units in by_node.items() if node in offers)

    def wake_at(self) -> int | None:
        """Return when the engine's watch over claims, which looks once a second, may find something."""
        now = self._world.now
        if not {entry.key for entry in self._claims.due()} <= self._asked:
            return now + 1
        times = [time for entry in self.entries.values() for time in self._times(entry)]
        return min((math.ceil(time) for time in times if time > now), default=None)

    def _times(self, entry: Entry) -> list[float]:
        """Return seconds from which on the gang may be due because of a claim, its own or one that it wants."""
        if not entry.is_ready or entry.is_settled or entry.look is None:
            return []
        if (claim := entry.claim) is not None:
            until = (claim.until - START).total_seconds()
            return [until, claim.made + AGAIN_S] if claim.is_hold else [until]
        gated = (pod.metadata.creation_timestamp for pod in entry.look.membership.gated)
        since = max(filter(None, (*gated, held_until(entry))), default=START)
        may_hold = (since - START).total_seconds() + self._settings.hold_after
        return [max(may_hold, entry.holding.until), entry.preempting.until]
