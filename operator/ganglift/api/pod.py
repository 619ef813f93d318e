"""Pod: what placement, membership and counting need of it, and nothing else."""

from datetime import datetime
from functools import cached_property
from typing import Any

from pydantic import Field

from ganglift.api.model import Condition, Model, Object, condition_of
from ganglift.api.names import DEFAULT_SCHEDULER, GATE, GROUP_LABEL
from ganglift.api.selectors import Affinity, Toleration, TopologySpreadConstraint
from ganglift.base.ids import Key

Quantities = dict[str, str | int | float]


class Resources(Model):
    requests: Quantities = Field(default_factory=dict)
    limits: Quantities = Field(default_factory=dict)


class ContainerPort(Model):
    host_port: int = 0
    host_ip: str = Field("", alias="hostIP")
    protocol: str = "TCP"


class Container(Model):
    name: str = ""
    resources: Resources = Resources()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class ContainerStatus(Model):
    name: str = ""
    allocated_resources: Quantities = Field(default_factory=dict)
    resources: Resources | None = None


class Named(Model):
    name: str = ""


class ClaimRef(Model):
    claim_name: str = ""


class Volume(Model):
    """A volume; only those that can bind a pod to nodes are told apart."""

    name: str = ""
    persistent_volume_claim: ClaimRef | None = None
    ephemeral: dict[str, Any] | None = None
    csi: dict[str, Any] | None = None
    gce_persistent_disk: dict[str, Any] | None = None
    aws_elastic_block_store: dict[str, Any] | None = None
    azure_disk: dict[str, Any] | None = None
    rbd: dict[str, Any] | None = None
    iscsi: dict[str, Any] | None = None


class PodSpec(Model):
    node_name: str = ""
    scheduler_name: str = DEFAULT_SCHEDULER
    priority: int = 0
    priority_class_name: str = ""
    preemption_policy: str = "PreemptLowerPriority"
    scheduling_gates: tuple[Named, ...] = ()
    scheduling_group: dict[str, Any] | None = None
    node_selector: dict[str, str] = Field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: Resources | None = None
    overhead: Quantities = Field(default_factory=dict)
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[Named, ...] = ()
    host_network: bool = False
    active_deadline_seconds: int | None = None


class PodStatus(Model):
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    start_time: datetime | None = None
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: Quantities = Field(default_factory=dict)
    resources: Resources | None = None


class Pod(Object):
    """A pod as the operator sees it."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @cached_property
    def group(self) -> Key | None:
        """The PodGroup this pod's label names, in its own namespace; None without the label."""
        name = self.metadata.labels.get(GROUP_LABEL)
        return Key(self.metadata.namespace, name) if name else None

    @cached_property
    def has_gate(self) -> bool:
        """Whether our own gate is still on."""
        return any(gate.name == GATE for gate in self.spec.scheduling_gates)

    @property
    def is_gated(self) -> bool:
        """Whether any gate, ours or not, keeps kube-scheduler from binding it."""
        return bool(self.spec.scheduling_gates)

    @cached_property
    def foreign_gates(self) -> tuple[str, ...]:
        return tuple(gate.name for gate in self.spec.scheduling_gates if gate.name != GATE)

    @property
    def is_bound(self) -> bool:
        return bool(self.spec.node_name)

    @property
    def is_over(self) -> bool:
        """Whether it has ended for good: Succeeded or Failed."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def has_succeeded(self) -> bool:
        return self.status.phase == "Succeeded"

    @property
    def has_failed(self) -> bool:
        return self.status.phase == "Failed"

    @property
    def nominated(self) -> str:
        """The node kube-scheduler keeps room on for this pod, or an empty string."""
        return self.status.nominated_node_name

    def condition(self, kind: str) -> Condition | None:
        return condition_of(self.status.conditions, kind)
