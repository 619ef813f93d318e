"""Says once what `gang.remarks` finds: about pods that don't count, and pods that wait for a group that never comes."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Key, Uid
from ganglift.engine.cache import Cache
from ganglift.engine.classes import Classes
from ganglift.engine.entry import Entry
from ganglift.engine.executor import Executor
from ganglift.engine.look import Look
from ganglift.gang.membership import Membership
from ganglift.gang.remarks import lost_pods, remarks_of, replaced_members
from ganglift.gang.state import Life

AT_ONCE = 2000
"""Pods looked at before the event loop gets its turn."""


@dataclass(slots=True)
class Turnover:
    """How many members of a gang that waits went while they were gated."""

    gated: frozenset[Uid] = frozenset()
    replaced: int = 0
    told_times: int = 1

    def see(self, membership: Membership) -> None:
        """Take a look at the members; those that are let loose have not gone."""
        present = {pod.uid for pod in membership.live}
        self.replaced += len(self.gated - present)
        self.gated = frozenset(pod.uid for pod in membership.gated)


class Remarks:
    """Remembers what has been said of whom; a new process says it again, and the API folds equal events."""

    def __init__(self, executor: Executor, classes: Classes) -> None:
        self._executor = executor
        self._classes = classes
        self._said: dict[Uid, frozenset[str]] = {}
        self._told: set[Uid] = set()
        self._turnover: dict[Uid, Turnover] = {}

    def about(self, entry: Entry) -> None:
        """Say what is new about a group's pods."""
        if entry.look is None:
            return
        remarks = remarks_of(entry.group, entry.look.membership, self._classes.values, entry.look.child)
        said = self._said.get(entry.group.uid, frozenset())
        for remark in remarks:
            if remark.message not in said:
                self._executor.announce(remark)
        if remarks or said:
            self._said[entry.group.uid] = frozenset(remark.message for remark in remarks)
        self._about_turnover(entry.group, entry.look)

    def forget(self, uid: Uid) -> None:
        """Drop what was said of a group that is gone."""
        self._said.pop(uid, None)
        self._turnover.pop(uid, None)

    def _about_turnover(self, group: PodGroup, look: Look) -> None:
        """Say, each time that is twice as often as the last, that all waiting members have been made anew."""
        if look.state.life is not Life.ACTIVE or look.state.is_whole:
            self._turnover.pop(group.uid, None)
            return
        turnover = self._turnover.setdefault(group.uid, Turnover())
        turnover.see(look.membership)
        times = turnover.replaced // max(1, look.state.need)
        if times >= 2 * turnover.told_times:
            turnover.told_times = times
            self._executor.announce(replaced_members(group, times))

    async def about_lost(self, cache: Cache, groups: Collection[Key], now: datetime) -> None:
        """Tell pods whose group does not exist."""
        self._told &= cache.pods.keys()
        pods = tuple(cache.pods.values())
        for start in range(0, len(pods), AT_ONCE):
            for event in lost_pods(pods[start : start + AT_ONCE], groups, now):
                if event.uid not in self._told:
                    self._told.add(event.uid)
                    self._executor.announce(event)
            await asyncio.sleep(0)
