"""Gangs that are not as they should be: interrupted take-backs, pods that wait for no gang, gangs that are partial."""

from collections.abc import Callable
from dataclasses import dataclass

from ganglift.base.clock import Clock
from ganglift.engine.cache import Cache
from ganglift.engine.distrust import Distrust
from ganglift.engine.entry import Entry
from ganglift.engine.look import Look
from ganglift.engine.nominations import Nominations
from ganglift.engine.settle import Repair, Situation, TakeBack, settle, shown
from ganglift.engine.tasks import Tasks
from ganglift.engine.work import RESTARTED, GroupWork
from ganglift.gang.outcome import Settling, Stuck, Unschedulable, Waiting
from ganglift.gang.takeback import leftovers


@dataclass(frozen=True, slots=True)
class Partial:
    """Starts what such gangs need. `later` looks at a group again after a time."""

    cache: Cache
    nominations: Nominations
    distrust: Distrust
    work: GroupWork
    tasks: Tasks
    clock: Clock
    later: Callable[[Entry, float], None]

    def settle(self, entry: Entry) -> None:
        """Finish an interrupted take-back, start what a partial gang needs, free pods that wait for no gang."""
        look = entry.look
        if look is None or entry.is_busy:
            return
        if not look.is_partial:
            entry.partial_since = entry.unrepairable_since = None
        if entry.trouble.is_waiting(self.clock.monotonic()):
            return
        if detached := leftovers(look.membership.leaving):
            self.tasks.start(entry, lambda: self.work.remove(detached), "remove")
        elif freed := look.freed:
            self.tasks.start(entry, lambda: self.work.free(freed), "free")
        elif look.is_partial:
            self._settle_partial(entry, look)
        elif (back := self.work.restart(look)).steps:
            self.tasks.start(entry, lambda: self.work.take_back(entry, back, RESTARTED), "restart")

    def explain(self, entry: Entry) -> None:
        """Say of a gang that lacks members or room for more of them that some are on their way or have a place."""
        look, outcome = entry.look, entry.outcome
        if look is not None and look.is_partial and not entry.is_busy and isinstance(outcome, Waiting | Unschedulable):
            entry.outcome = Settling(look.state.scheduled, look.state.need, outcome.message)

    def _settle_partial(self, entry: Entry, look: Look) -> None:
        now, monotonic = self.clock.now(), self.clock.monotonic()
        entry.partial_since = entry.partial_since or now
        since = entry.unrepairable_since
        situation = Situation(
            snapshot=self.cache.snapshot(),
            now=now,
            partial_since=entry.partial_since,
            planned=self.nominations.written,
            avoid=self.distrust.avoided(now, self.cache.nodes_made) | entry.refused,
            unrepairable_for_s=monotonic - since if since is not None else 0.0,
            may_repair=entry.repaired_at != self.cache.books.version,
            repairs=entry.repairs,
        )
        step = settle(look, situation)
        if not step.is_without_place:
            entry.unrepairable_since = None
        elif since is None:
            entry.unrepairable_since = monotonic
        if look.state.to_place == 0:
            entry.outcome = shown(look, situation, step)
        match step:
            case Repair():
                entry.repaired_at = self.cache.books.version
                self.tasks.start(entry, lambda: self.work.repair(entry, step), "repair")
            case TakeBack():
                self._take_back(entry, look, step.why)
            case _:
                self.later(entry, step.wait_s(now))

    def _take_back(self, entry: Entry, look: Look, why: str) -> None:
        back = self.work.way_back(look, why)
        if back.steps:
            self.tasks.start(entry, lambda: self.work.take_back(entry, back, why), "take back")
        else:
            # Nobody would make these pods again: all that can be done is to say so.
            names = tuple(pod.name for pod in back.left)
            entry.outcome = Stuck(look.state.scheduled, look.state.need, names)
