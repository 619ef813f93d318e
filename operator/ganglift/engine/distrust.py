"""Nodes that are not chosen for a while: their kubelet refuses what the scheduler sends, or they were lost.

A node with a broken device plugin says Ready and offers its GPUs, and fails every pod within a second. It looks empty,
so a planner loves it: without a memory of refusals a gang would be sent there again and again. A node that was lost
with a member on it looks just as empty when it comes back, and may go again. One that was made since under the same
name is another machine, or the same repaired: nothing is held against it.

What a pod shows of its end tells both, and since when; so a new process knows as much.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

from ganglift.api.pod import Pod
from ganglift.base.ids import NodeName, Uid

REFUSALS = 2
"""So many pods must have been refused: one can be a race between two pods for the last device."""
_REFUSED = ("UnexpectedAdmissionError", "OutOf", "NodeAffinity", "NodeShutdown", "TopologyAffinityError")
_LOST = ("DeletionByTaintManager", "DeletionByPodGC")
"""Reasons of DisruptionTarget by which the control plane removes pods of a node that is away or gone."""


@dataclass(slots=True)
class Distrust:
    """Counts refusals and losses by node; a node is avoided for `avoid_s` after the last one."""

    avoid_s: float
    _ended: dict[NodeName, dict[Uid, datetime]] = field(default_factory=dict)
    """When pods ended that a node has refused."""
    _lost: dict[NodeName, datetime] = field(default_factory=dict)
    """When a node was lost."""

    def note(self, pod: Pod, now: datetime) -> None:
        """Take a pod that ended or is being deleted; seeing it again changes nothing."""
        if not pod.is_bound:
            return
        node = NodeName(pod.spec.node_name)
        if pod.has_failed and pod.status.reason.startswith(_REFUSED):
            self._ended.setdefault(node, {}).setdefault(pod.uid, _changed_at(pod) or now)
        elif lost_at := _lost_at(pod, now):
            self._lost[node] = max(lost_at, self._lost.get(node, lost_at))

    def avoided(self, now: datetime, made: Mapping[str, datetime] = MappingProxyType({})) -> frozenset[NodeName]:
        """Return the nodes not to use at this time. `made` tells when the nodes that are there now were made."""
        since = now - timedelta(seconds=self.avoid_s)
        self._ended = {node: ends for node, ends in self._ended.items() if max(ends.values()) > since}
        self._lost = {node: at for node, at in self._lost.items() if at > since}
        last = {node: max(ends.values()) for node, ends in self._ended.items() if self._refuses(ends.values())}
        last |= {node: max(at, last.get(node, at)) for node, at in self._lost.items()}
        return frozenset(node for node, at in last.items() if made.get(node, at) <= at)

    def _refuses(self, ends: Collection[datetime]) -> bool:
        """Whether the last refusal was not the only one of its time."""
        since = max(ends) - timedelta(seconds=self.avoid_s)
        return sum(1 for at in ends if at > since) >= REFUSALS


def _changed_at(pod: Pod) -> datetime | None:
    """Return when a condition of the pod changed last: a refused pod ends within a second of its binding."""
    times = [condition.last_transition_time for condition in pod.status.conditions if condition.last_transition_time]
    return max(times, default=None)


def _lost_at(pod: Pod, now: datetime) -> datetime | None:
    """Return when the pod was told to go because its node is away, None where it was not."""
    target = pod.condition("DisruptionTarget")
    if target is None or not target.is_true or target.reason not in _LOST:
        return None
    return target.last_transition_time or now
