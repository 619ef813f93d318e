"""The built-in Job, narrow, and ours, which is the same with `scheduling`."""

from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field

from ganglift.api.model import Condition, Model, Object, condition_of
from ganglift.api.scheduling import Scheduling
from ganglift.base.ids import Uid


class JobSpec(Model):
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    managed_by: str | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    backoff_limit: int | None = None
    max_failed_indexes: int | None = None
    pod_replacement_policy: str | None = None
    pod_failure_policy: dict[str, Any] | None = None
    success_policy: dict[str, Any] | None = None
    template: dict[str, Any] = Field(default_factory=dict)


class UncountedPods(Model):
    succeeded: tuple[Uid, ...] = ()
    failed: tuple[Uid, ...] = ()


class JobStatus(Model):
    active: int = 0
    ready: int = 0
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    failed_indexes: str = ""
    start_time: datetime | None = None
    completion_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    uncounted_terminated_pods: UncountedPods = UncountedPods()


class BatchJob(Object):
    """A batch/v1 Job."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    def is_in(self, kind: str) -> bool:
        """Whether the condition of that type is True."""
        condition = condition_of(self.status.conditions, kind)
        return condition is not None and condition.is_true

    @property
    def is_finished(self) -> bool:
        return self.is_in("Complete") or self.is_in("Failed")

    @property
    def is_ending(self) -> bool:
        """Whether its outcome is settled, so that no pod of it is to start any more."""
        return self.is_finished or self.is_in("SuccessCriteriaMet") or self.is_in("FailureTarget")


class GangJobSpec(JobSpec):
    """Keeps the fields it does not name, so that `wire()` gives the whole spec for the child."""

    model_config = ConfigDict(extra="allow")

    scheduling: Scheduling | None = None

    @property
    def min_count(self) -> int | None:
        """How many pods start together, parallelism where the gang names none (never below 1); None if basic."""
        gang = self.scheduling.gang if self.scheduling else None
        if gang is None:
            return None
        return gang.min_count if gang.min_count is not None else max(1, self.parallelism)


class GangJobStatus(JobStatus):
    phase: str = ""
    completions: str = ""
    """How many pods succeeded, of how many that must, such as `3/8`."""
    min_count: int = 0
    need: int = 0
    scheduled: int = 0
    pod_group_name: str = ""
    child_uid: Uid = Field(Uid(""), alias="childUID")
    scheduled_time: datetime | None = None
    observed_generation: int = 0


class GangJob(Object):
    """Our Job."""

    spec: GangJobSpec = GangJobSpec()
    status: GangJobStatus = GangJobStatus()
