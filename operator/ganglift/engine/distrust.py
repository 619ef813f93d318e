"""Nodes whose kubelet refuses what the scheduler sends, and which are therefore not chosen for a while.

A node with a broken device plugin says Ready and offers its GPUs, and fails every pod within a second. It looks empty,
so a planner loves it: without a memory of refusals a gang would be sent there again and again.
"""

from dataclasses import dataclass, field

from ganglift.api.pod import Pod
from ganglift.base.ids import NodeName, Uid

REFUSALS = 2
"""So many pods must have been refused: one can be a race between two pods for the last device."""
_REASONS = ("UnexpectedAdmissionError", "OutOf", "NodeAffinity", "NodeShutdown", "TopologyAffinityError")


@dataclass(slots=True)
class Distrust:
    """Counts refusals by node; a node is avoided for `avoid_s` after its last one."""

    avoid_s: float
    _refused: dict[NodeName, set[Uid]] = field(default_factory=dict)
    _until: dict[NodeName, float] = field(default_factory=dict)

    def note(self, pod: Pod, now: float) -> None:
        """Take a pod that ended; only one that the kubelet refused to start counts, and once."""
        if not (pod.has_failed and pod.is_bound and pod.status.reason.startswith(_REASONS)):
            return
        node = NodeName(pod.spec.node_name)
        refused = self._refused.setdefault(node, set())
        if pod.uid not in refused:
            refused.add(pod.uid)
            self._until[node] = now + self.avoid_s

    def avoided(self, now: float) -> frozenset[NodeName]:
        """Return the nodes not to use at this time."""
        for node in [node for node, until in self._until.items() if until <= now]:
            del self._until[node], self._refused[node]
        return frozenset(node for node, refused in self._refused.items() if len(refused) >= REFUSALS)
