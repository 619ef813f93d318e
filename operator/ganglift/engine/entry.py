"""What the engine remembers of a group beside the API. All of it may be lost: the next look makes it anew (I5)."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.engine.backoff import Backoff
from ganglift.engine.claim import Claim
from ganglift.engine.look import Look
from ganglift.gang.outcome import Outcome, Waiting


@dataclass(slots=True)
class Entry:
    """A group known to the loop."""

    group: PodGroup
    backoff: Backoff
    """Between attempts to start the gang; more room cuts it short."""
    trouble: Backoff
    """Between steps that the API server did not carry out; more room does not help there."""
    look: Look | None = None
    outcome: Outcome | None = None
    """What came of the last step; status shows it."""
    task: "asyncio.Task[None] | None" = None
    """What is under way for this group: an admission, a repair, a take-back, a release. One at a time."""
    obstacle: Waiting | None = None
    """What outside its pods keeps the group from being planned, such as a missing Workload."""
    wants_plan: bool = True
    """Something about the group has changed since its last verdict."""
    losses: int = 0
    """Admissions in a row that lost their room on the way."""
    refused: set[NodeName] = field(default_factory=set)
    """Nodes that members of the present attempt were refused on by kube-scheduler: no repair goes there."""
    repairs: Counter[tuple[Uid, NodeName]] = field(default_factory=Counter)
    """How often, in the present attempt, a member was nominated to a node after kube-scheduler had refused it."""
    unrepairable_since: float | None = None
    is_dropped: bool = False
    """The group is gone from the API; what is under way for it ends at its next check."""
    is_behind: bool = False
    """Under the strict policy: it was not looked at in the last plan, since it waits for a gang before it."""
    claim: Claim | None = None
    """Room that is reserved for the gang before it is free."""
    held_until: datetime | None = None
    """Until when this process holds room for the gang, or has; the group's annotation tells a new one."""
    is_preemption_put_off: bool = False
    """Whom to evict for the gang is to be asked again."""
    preempting: Backoff = field(default_factory=lambda: Backoff(1.0, 30.0))
    holding: Backoff = field(default_factory=lambda: Backoff(10.0, 300.0))
    """Between the times that it is found out that nothing can be evicted, or held, for the gang."""
    evicting: Backoff = field(default_factory=lambda: Backoff(1.0, 30.0))
    """Between attempts to evict what can't be evicted right now."""
    eviction_trouble: str = ""
    """What kept a victim from being evicted the last time."""
    repaired_at: int = -1
    """Version of the books that the last repair was planned on: one repair for each state of the world."""
    gathered_at: float | None = None
    """When the gang was seen with enough members, by the monotonic clock; None once it has been whole."""
    partial_since: datetime | None = None
    """Since when the gang has been seen partial, where nothing on its pods tells when they were lifted."""

    @property
    def key(self) -> Key:
        return self.group.key

    @property
    def is_ready(self) -> bool:
        """Whether to ask the planner: enough members wait behind the gate, or more than need where it is met."""
        return self.look is not None and not self.is_busy and self.look.is_ready

    @property
    def is_settled(self) -> bool:
        """Whether the gang has all that it needs, or is about to."""
        return self.look is None or self.look.state.is_whole or self.is_busy

    @property
    def queue_order(self) -> tuple[int, int, Uid]:
        """Sorts what waits as the planner does."""
        made = self.group.metadata.creation_timestamp
        priority = self.look.priority if self.look is not None else 0
        return -priority, int(made.timestamp()) if made else 0, self.group.uid

    def take(self, group: PodGroup) -> None:
        """Take the group as the API has it, unless a later version is known: watch, reads and writes race."""
        if group.uid != self.group.uid or _version_of(group) < _version_of(self.group):
            return
        self.wants_plan |= group.metadata.generation != self.group.metadata.generation
        self.group = group

    def waits_s(self, now: float) -> float:
        """Return for how long nothing is started for the group, 0 where something may be at once."""
        return max(self.backoff.until - now, self.trouble.until - now, 0.0)

    @property
    def is_busy(self) -> bool:
        return self.task is not None


def _version_of(group: PodGroup) -> int:
    return int(group.metadata.resource_version or 0)
