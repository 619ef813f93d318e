"""PriorityClass and RuntimeClass: what the API server reads from them into each pod that it takes in."""

from pydantic import Field

from ganglift.api.model import Model, Object
from ganglift.api.pod import Quantities
from ganglift.api.selectors import Toleration


class PriorityClass(Object):
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class RuntimeOverhead(Model):
    pod_fixed: Quantities = Field(default_factory=dict)


class RuntimeScheduling(Model):
    node_selector: dict[str, str] = Field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(Object):
    """A way to run containers; pods that name it need its overhead, and nodes that have it."""

    overhead: RuntimeOverhead | None = None
    scheduling: RuntimeScheduling | None = None
