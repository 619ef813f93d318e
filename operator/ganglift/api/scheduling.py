"""Workload and PodGroup, as in scheduling.k8s.io/v1beta1, with the fields that upstream lacks."""

from datetime import datetime
from typing import Any

from pydantic import Field

from ganglift.api.model import Condition, Model, Object, condition_of
from ganglift.base.ids import Uid

DEFAULT_SCHEDULE_TIMEOUT_S = 60


class Gang(Model):
    min_count: int | None = None
    """How many members start together. None, in a Job only, stands for its parallelism."""


class Policy(Model):
    basic: dict[str, Any] | None = None
    gang: Gang | None = None

    @property
    def word(self) -> str:
        return "Gang" if self.gang is not None else "Basic"


class TopologyConstraint(Model):
    key: str
    mode: str = "Required"
    slices: int | None = None


class SchedulingConstraints(Model):
    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionMode(Model):
    single: dict[str, Any] | None = None
    all: dict[str, Any] | None = None

    @property
    def is_all(self) -> bool:
        return self.all is not None


class Scheduling(Model):
    """What PodGroup.spec, a Workload template and a Job's `scheduling` have in common."""

    scheduling_policy: Policy = Policy(basic={})
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[dict[str, Any], ...] | None = None
    disruption_mode: DisruptionMode | None = None
    schedule_timeout_seconds: int | None = None

    @property
    def gang(self) -> Gang | None:
        return self.scheduling_policy.gang

    @property
    def timeout_s(self) -> int:
        return self.schedule_timeout_seconds or DEFAULT_SCHEDULE_TIMEOUT_S

    @property
    def topology(self) -> tuple[TopologyConstraint, ...]:
        return self.scheduling_constraints.topology if self.scheduling_constraints else ()


class GroupScheduling(Scheduling):
    """Adds what a Workload template and a PodGroup have and a Job takes from its pod template."""

    priority_class_name: str | None = None
    priority: int | None = None
    preemption_policy: str | None = None


class PodGroupTemplate(GroupScheduling):
    name: str


class ControllerRef(Model):
    api_group: str = ""
    kind: str
    name: str


class WorkloadSpec(Model):
    controller_ref: ControllerRef | None = None
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()


class WorkloadSeat(Model):
    """Which PodGroup stands for a template."""

    template_name: str
    pod_group_name: str


class WorkloadStatus(Model):
    observed_generation: int = 0
    phase: str = ""
    groups: int = 0
    scheduled_groups: int = 0
    pod_groups: tuple[WorkloadSeat, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Workload(Object):
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


class WorkloadRef(Model):
    workload_name: str
    template_name: str


class PodGroupSpec(GroupScheduling):
    workload_ref: WorkloadRef | None = None


class PodGroupStatus(Model):
    """Counts are of live members; `scheduled_time` is when need was first bound."""

    policy: str = ""
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    need: int = 0
    priority: int = 0
    child_uid: Uid = Field(Uid(""), alias="childUID")
    scheduled_time: datetime | None = None
    observed_generation: int = 0
    members: int = 0
    gated: int = 0
    reserved: int = 0
    lifted: int = 0
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0


class PodGroup(Object):
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def min_count(self) -> int:
        """The gang's minCount; 0 for a basic group, which waits for nobody."""
        return self.spec.gang.min_count or 0 if self.spec.gang else 0

    def condition(self, kind: str) -> Condition | None:
        return condition_of(self.status.conditions, kind)
