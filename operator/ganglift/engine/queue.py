"""The queue of gangs that wait for room: which policy holds where, and each gang's place for its status.

A place moves whenever a gang before it starts, so not every move is worth a write: one is shown anew when it is among
the first few, has halved or doubled since it was shown, or something else about the gang is written anyway.
"""

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace

from ganglift.api.names import QUEUE_POLICY
from ganglift.base.ids import Key
from ganglift.engine.entry import Entry
from ganglift.gang.outcome import Place, Unschedulable
from ganglift.plan.ledger import Ledger
from ganglift.plan.queue import Exceptions, Policy, no_policy_words, policies

log = logging.getLogger(__name__)

NAMED = 2
"""So many of the gangs ahead are named, the nearest first."""
FIRST_FEW = 3
LONG, LONG_EVERY_S = 200, 1.0
"""From so many groups on the queue is put in order once in a while, instead of in each pass."""


class Queue:
    """See the module."""

    def __init__(self, default: Policy, ledger: Ledger) -> None:
        self.default = default
        self._ledger = ledger
        self._wrong: dict[str, str] = {}
        self._places: dict[Key, Place] = {}
        self._ordered_at = -LONG_EVERY_S

    def exceptions(self) -> Exceptions:
        """Return the policies of namespaces that have their own; log what is no policy, once."""
        known, wrong = policies(self._ledger.asked_of_namespaces(QUEUE_POLICY))
        for name, word in wrong.items():
            if self._wrong.get(name) != word:
                log.warning(no_policy_words(name, word, self.default), extra={"namespace": name})
        self._wrong = wrong
        return known

    def is_strict(self) -> bool:
        """Whether some group may have to wait for one that is not to be planned now."""
        return Policy.STRICT in (self.default, *self.exceptions().values())

    def unschedulable(self, entry: Entry, words: str) -> Unschedulable:
        """Return the outcome of a gang for which there is no room; its place is kept while there is no other news."""
        if (word := self._wrong.get(entry.key.namespace)) is not None:
            words = f"{words}; {no_policy_words(entry.key.namespace, word, self.default)}"
        old = entry.outcome
        return old if isinstance(old, Unschedulable) and old.words == words else Unschedulable(words)

    def show_places(self, shown: Iterable[Entry], entries: Collection[Entry], now: float) -> None:
        """Bring the places of those that are about to be shown up to date, where that is worth it.

        `now` is the time of the monotonic clock: in a long queue they are told from what was so a moment ago.
        """
        placed = [(entry, entry.outcome) for entry in shown if isinstance(entry.outcome, Unschedulable)]
        if placed and (len(entries) <= LONG or now >= self._ordered_at + LONG_EVERY_S):
            self._places, self._ordered_at = places_of(entries), now
        for entry, outcome in placed:
            place = self._places.get(entry.key)
            if not _is_about(outcome.place, place):
                entry.outcome = replace(outcome, place=place)


def places_of(entries: Iterable[Entry]) -> dict[Key, Place]:
    """Return the place of each gang that waits for room, where there is more than one."""
    waiting = sorted(waiting_for_room(entries), key=lambda entry: entry.queue_order)
    keys = [entry.key for entry in waiting]
    if len(keys) < 2:
        return {}
    return {
        key: Place(at + 1, len(keys), tuple(map(str, keys[max(at - NAMED, 0) : at][::-1])))
        for at, key in enumerate(keys)
    }


def waiting_for_room(entries: Iterable[Entry]) -> list[Entry]:
    """Return the gangs that have enough members and no place for them, in no particular order."""
    return [entry for entry in entries if entry.look is not None and entry.look.is_ready and not entry.is_settled]


def _is_about(old: Place | None, new: Place | None) -> bool:
    if old is None or new is None:
        return old == new
    if new.number <= FIRST_FEW:
        return old.number == new.number and old.ahead == new.ahead
    return old.number < 2 * new.number and new.number < 2 * old.number
