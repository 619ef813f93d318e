"""Which groups are planned in a pass, and the start of those that fit."""

from collections.abc import Coroutine, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from ganglift.base.clock import Clock
from ganglift.base.ids import Key
from ganglift.engine.cache import Cache
from ganglift.engine.claims import Unfit
from ganglift.engine.distrust import Distrust
from ganglift.engine.entry import Entry
from ganglift.engine.planning import ask
from ganglift.engine.queue import Queue
from ganglift.engine.tasks import Work
from ganglift.plan.request import GroupRequest
from ganglift.plan.verdict import Behind, DoesNotFit, Fits, Placement, PlanResult


class Admits(Protocol):
    """Takes a plan through reserve, confirm and lift."""

    def admit(self, entry: Entry, fits: Fits) -> Coroutine[Any, Any, None]: ...


class Runs(Protocol):
    """Runs work for groups, and puts faults of what is done for a group down to it."""

    def start(self, entry: Entry, work: Work, name: str) -> None: ...

    def blaming(self, entry: Entry) -> AbstractContextManager[None]: ...


@dataclass(frozen=True, slots=True)
class Starts:
    """See the module. `max_reserved` is how many pods may have a standing reservation."""

    cache: Cache
    entries: Mapping[Key, Entry]
    queue: Queue
    distrust: Distrust
    work: Admits
    tasks: Runs
    clock: Clock
    max_reserved: int

    def waiting(self, grew: bool) -> list[Entry]:
        """Return the groups to plan now; under the strict policy one that is not due may still be in the way."""
        now = self.clock.monotonic()
        ready = [entry for entry in self.entries.values() if entry.is_ready and not entry.waits_s(now)]
        due = [entry for entry in ready if grew or entry.wants_plan]
        return ready if due and self.queue.is_strict() else due

    async def plan(self, waiting: list[Entry]) -> list[Unfit]:
        """Ask the planner about all of these at once, and start those that fit; return those that do not."""
        avoided = self.distrust.avoided(self.clock.now(), self.cache.nodes_made)
        by_key = {entry.key: entry for entry in waiting}
        requests: list[GroupRequest] = []
        for entry in waiting:
            entry.wants_plan = False
            with self.tasks.blaming(entry):
                requests += [entry.look.request(self.cache.member, avoided)] if entry.look is not None else []
        snapshot, blaming = self.cache.snapshot(), lambda key: self.tasks.blaming(by_key[key])
        result = await ask(snapshot, requests, self.queue.default, self.queue.exceptions(), blaming)
        self._start_and_tell(by_key, result)
        asked = {request.key: request for request in requests}
        unfit = (key for key, verdict in result.verdicts.items() if isinstance(verdict, DoesNotFit))
        return [(by_key[key], asked[key]) for key in unfit if not by_key[key].is_dropped and not by_key[key].is_busy]

    def _start_and_tell(self, by_key: Mapping[Key, Entry], result: PlanResult) -> None:
        """Start the admission of those that fit; say of the others why not."""
        for key, verdict in result.verdicts.items():
            entry = by_key[key]
            if entry.is_dropped or entry.is_busy:
                continue
            entry.is_behind = isinstance(verdict, Behind)
            if isinstance(verdict, Fits):
                self._admit(entry, verdict if verdict.placements else self._beyond_need(result.extras.get(key, ())))
            elif entry.look is not None:
                entry.outcome = self.queue.unschedulable(entry, entry.look.words_of(verdict))

    def _beyond_need(self, placements: tuple[Placement, ...]) -> Fits:
        """Return places for members beyond need as a plan of their own."""
        pods = (self.cache.pods.get(place.uid) for place in placements)
        alone = all(self.cache.member(pod).shape.demand.is_alone for pod in pods if pod is not None)
        return Fits(placements, in_sequence=not alone)

    def _admit(self, entry: Entry, fits: Fits) -> None:
        """Start the admission of a plan, unless too many reservations stand already: then plan again when some go."""
        if not fits.placements:
            return
        others = len(self.cache.reserved_uids() - {place.uid for place in fits.placements})
        if others and others + len(fits.placements) > self.max_reserved:
            entry.wants_plan = True
            entry.outcome = None
            return
        entry.claim = None
        for place in fits.placements:
            self.cache.assume(place.uid, place.node)
        self.tasks.start(entry, lambda: self.work.admit(entry, fits), "admit")
