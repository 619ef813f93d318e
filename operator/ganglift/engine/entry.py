"""What the engine remembers of a group beside the API. All of it may be lost: the next look makes it anew (I5)."""

import asyncio
from dataclasses import dataclass, field

from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Key, NodeName
from ganglift.engine.backoff import Backoff
from ganglift.engine.look import Look
from ganglift.gang.outcome import Outcome, Waiting


@dataclass(slots=True)
class Entry:
    """A group known to the loop."""

    group: PodGroup
    backoff: Backoff
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
    unrepairable_since: float | None = None
    is_dropped: bool = False
    """The group is gone from the API; what is under way for it ends at its next check."""
    repaired_at: int = -1
    """Version of the books that the last repair was planned on: one repair for each state of the world."""

    @property
    def key(self) -> Key:
        return self.group.key

    @property
    def is_ready(self) -> bool:
        """Whether to ask the planner: enough members wait behind the gate, or more than need where it is met."""
        return self.look is not None and not self.is_busy and self.look.is_ready

    @property
    def is_busy(self) -> bool:
        return self.task is not None
