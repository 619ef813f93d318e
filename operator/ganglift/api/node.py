"""Node: what placement needs of it."""

from pydantic import Field

from ganglift.api.model import Condition, Model, Object, condition_of
from ganglift.api.pod import Quantities


class Taint(Model):
    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(Model):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Model):
    allocatable: Quantities = Field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class Node(Object):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        """Whether the node says Ready; a node without that condition has never had a heartbeat and is taken as ready.

        The taint not-ready, which the control plane sets on new nodes, tells the rest.
        """
        ready = condition_of(self.status.conditions, "Ready")
        return ready is None or ready.is_true
