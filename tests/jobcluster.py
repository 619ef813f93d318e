"""The objects around one of our Jobs in memory, changed by actions as the API server would change them.

A whole life can be played with it, and cut off after any write:

    cluster = Cluster(JOB)
    cluster.settle()                            # look and act until nothing is left to do
    cluster.child_says(succeeded=4)             # what controllers and users do meanwhile
    cluster.change(Kind.GANG_JOB, "train", parallelism=2)
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.kinds import GangJobBuilder, at, gang_job, stamp

from ganglift.api.job import BatchJob, GangJob
from ganglift.api.model import Condition, condition_of
from ganglift.api.scheduling import PodGroup, Workload
from ganglift.gang.actions import Action, Announce, Create, Delete, Kind, Patch, PatchType, Step
from ganglift.gang.job import JobWorld, job_step

JOB = gang_job("train").gang().spec(parallelism=4, completions=4)
DEFAULTS = {"parallelism": 1, "completions": 1, "backoffLimit": 6}


class Killed(Exception):
    """The operator was killed."""


class Cluster:
    """The objects around one Job."""

    def __init__(self, job: GangJobBuilder) -> None:
        self.objects: dict[tuple[Kind, str], dict[str, Any]] = {(Kind.GANG_JOB, "train"): deepcopy(job.wire)}
        self.writes: list[Action] = []
        self.events: list[str] = []
        self.dies_after: int | None = None
        self._count = 0

    def add(self, kind: Kind, wire: dict[str, Any]) -> None:
        self.objects[kind, wire["metadata"]["name"]] = deepcopy(wire)

    def remove(self, kind: Kind, name: str) -> None:
        del self.objects[kind, name]

    def change(self, kind: Kind, name: str, **spec: Any) -> None:
        """A user edits an object's spec."""
        found = self.objects[kind, name]
        found["spec"] = _merged(found["spec"], spec)
        found["metadata"]["generation"] += 1

    def group_says(self, **status: Any) -> None:
        """The engine writes the PodGroup's status."""
        found = self.objects[Kind.POD_GROUP, "train-workers"]
        found["status"] = _merged(found.get("status", {}), status)

    def child_says(self, **status: Any) -> None:
        """The Job controller writes the child's status."""
        found = self.objects[Kind.BATCH_JOB, "train"]
        found["status"] = _merged(found.get("status", {}), status)

    @property
    def job(self) -> GangJob:
        return GangJob.model_validate(self.objects[Kind.GANG_JOB, "train"])

    @property
    def child(self) -> BatchJob:
        return BatchJob.model_validate(self.objects[Kind.BATCH_JOB, "train"])

    @property
    def world(self) -> JobWorld:
        groups = (PodGroup.model_validate(o) for (kind, _), o in self.objects.items() if kind is Kind.POD_GROUP)
        workload, child = (self.objects.get((kind, "train")) for kind in (Kind.WORKLOAD, Kind.BATCH_JOB))
        return JobWorld(
            Workload.model_validate(workload) if workload else None,
            BatchJob.model_validate(child) if child else None,
            {group.name: group for group in groups},
        )

    def settle(self, second: float = 0) -> Step:
        """Look and act until nothing is left to do, as the handlers do; return the last step."""
        for _ in range(10):
            step = job_step(self.job, self.world, at(second))
            for action in step.actions:
                self.carry_out(action)
            if step.is_final:
                return step
        raise AssertionError("never comes to rest")

    def carry_out(self, action: Action) -> None:
        if isinstance(action, Announce):
            self.events.append(action.reason)
            return
        if self.dies_after == len(self.writes):
            raise Killed
        self.writes.append(action)
        match action:
            case Create():
                self._create(action)
            case Patch():
                assert action.type is PatchType.MERGE
                found = self.objects[action.kind, action.key.name]
                assert action.body["metadata"]["uid"] == found["metadata"]["uid"]
                before = deepcopy(found.get("spec"))
                self.objects[action.kind, action.key.name] = changed = _merged(found, dict(action.body))
                changed["metadata"]["generation"] += before != changed.get("spec")
            case Delete():
                self.remove(action.kind, action.key.name)
            case _:
                raise AssertionError(action)

    def _create(self, action: Create) -> None:
        at_key = (action.kind, action.key.name)
        assert at_key not in self.objects, "AlreadyExists"
        self._count += 1
        made = deepcopy(dict(action.body))
        made["metadata"] |= {"uid": f"uid-made-{self._count}", "generation": 1, "creationTimestamp": stamp(0)}
        if action.kind is Kind.BATCH_JOB:
            made["spec"] = DEFAULTS | made["spec"]
        self.objects[at_key] = made

    def said(self) -> list[str]:
        """Verb and kind of each write so far."""
        return [f"{type(write).__name__} {_target(write)}" for write in self.writes]

    def shows(self, kind: str) -> tuple[str, str] | None:
        found: Condition | None = condition_of(self.job.status.conditions, kind)
        return (found.status, found.reason) if found else None


def _target(write: Action) -> str:
    match write:
        case Patch(kind=kind, subresource="status"):
            return f"{kind}/status"
        case Create(kind=kind) | Patch(kind=kind) | Delete(kind=kind):
            return str(kind)
        case _:
            raise AssertionError(write)


def ended(kind: str, second: float = 9) -> dict[str, Any]:
    """A condition of a Job that is True since that second."""
    return {"type": kind, "status": "True", "lastTransitionTime": stamp(second)}


def _merged(old: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    merged = dict(old)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merged(merged.get(key) or {}, value)
        else:
            merged[key] = deepcopy(value)
    return merged
