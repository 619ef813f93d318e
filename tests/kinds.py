"""Objects of our own kinds and batch/v1 Jobs for tests, in one line each; see tests/builders.py for pods and nodes.

    podgroup("g").gang(4).made
    batch_job("train").spec(parallelism=4, completions=8).labelled("train-workers").child_of("train").made
    gang_job("train").spec(parallelism=4).scheduling(gang={}).made
    workload("serve").template("prefill", gang=2).template("decode", gang=4).made

Names stand for uids: PodGroup `g` has uid `uid-g`, our Job `train` has `uid-train` and its child `uid-train-child`.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Self

from ganglift.api.job import BatchJob, GangJob
from ganglift.api.names import BATCH_API, GROUP_LABEL, SCHEDULING_API
from ganglift.api.scheduling import PodGroup, Workload
from ganglift.base.ids import Uid

T0 = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """So many seconds after the time at which all tests begin."""
    return T0 + timedelta(seconds=seconds)


def stamp(seconds: float) -> str:
    return at(seconds).isoformat().replace("+00:00", "Z")


@dataclass(frozen=True)
class _Builder:
    wire: dict[str, Any]

    def _merged(self, *path: str, **values: Any) -> Self:
        wire = deepcopy(self.wire)
        inner = wire
        for step in path:
            inner = inner.setdefault(step, {})
        inner.update(values)
        return type(self)(wire)

    def meta(self, **values: Any) -> Self:
        """Set metadata fields, in the API's spelling."""
        return self._merged("metadata", **values)

    def spec(self, **values: Any) -> Self:
        return self._merged("spec", **values)

    def status(self, **values: Any) -> Self:
        return self._merged("status", **values)

    def annotated(self, **annotations: str) -> Self:
        return self._merged("metadata", "annotations", **annotations)

    def annotation(self, key: str, value: str) -> Self:
        return self._merged("metadata", "annotations", **{key: value})

    def owned(self, kind: str, name: str, uid: str, api_version: str) -> Self:
        owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}
        return self.meta(ownerReferences=[owner])

    def deleting(self) -> Self:
        return self.meta(deletionTimestamp=stamp(0))

    def condition(
        self, kind: str, status: str = "True", reason: str = "", second: float = 0, message: str = ""
    ) -> Self:
        old = [c for c in self.wire.get("status", {}).get("conditions", []) if c["type"] != kind]
        new = {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": stamp(second),
        }
        return self.status(conditions=[*old, new])


class PodGroupBuilder(_Builder):
    @cached_property
    def made(self) -> PodGroup:
        return PodGroup.model_validate(self.wire)

    def gang(self, min_count: int) -> Self:
        return self.spec(schedulingPolicy={"gang": {"minCount": min_count}})

    def of(self, workload: str, template: str, uid: str = "") -> Self:
        """Refers to the Workload's template, and with `uid` is owned by it."""
        builder = self.spec(workloadRef={"workloadName": workload, "templateName": template})
        return builder.owned("Workload", workload, uid, SCHEDULING_API) if uid else builder

    def disrupted_as_one(self) -> Self:
        return self.spec(disruptionMode={"all": {}})


class BatchJobBuilder(_Builder):
    @cached_property
    def made(self) -> BatchJob:
        return BatchJob.model_validate(self.wire)

    def labelled(self, group: str) -> Self:
        return self._merged("spec", "template", "metadata", "labels", **{GROUP_LABEL: group})

    def child_of(self, job: str, uid: str = "") -> Self:
        return self.owned("Job", job, uid or f"uid-{job}", BATCH_API)

    def indexed(self, completions: int) -> Self:
        return self.spec(completionMode="Indexed", completions=completions)


class GangJobBuilder(_Builder):
    @cached_property
    def made(self) -> GangJob:
        return GangJob.model_validate(self.wire)

    def gang(self, min_count: int | None = None, **scheduling: Any) -> Self:
        gang = {} if min_count is None else {"minCount": min_count}
        return self.spec(scheduling={"schedulingPolicy": {"gang": gang}, **scheduling})

    def generation(self, generation: int, observed: int | None = None) -> Self:
        builder = self.meta(generation=generation)
        return builder if observed is None else builder.status(observedGeneration=observed)

    def template(self, **spec: Any) -> Self:
        return self._merged("spec", "template", "spec", **spec)


class WorkloadBuilder(_Builder):
    @cached_property
    def made(self) -> Workload:
        return Workload.model_validate(self.wire)

    def template(self, name: str, gang: int | None = None, **fields: Any) -> Self:
        policy = {"basic": {}} if gang is None else {"gang": {"minCount": gang}}
        templates = [*self.wire["spec"]["podGroupTemplates"], {"name": name, "schedulingPolicy": policy, **fields}]
        return self.spec(podGroupTemplates=templates)


def podgroup(name: str) -> PodGroupBuilder:
    """A basic group in namespace `default`."""
    return PodGroupBuilder({**_object(name), "spec": {"schedulingPolicy": {"basic": {}}}})


def batch_job(name: str) -> BatchJobBuilder:
    """A batch/v1 Job as the API server completes it: parallelism 1, completions 1."""
    template = {"spec": {"containers": [{"name": "main", "image": "busybox"}], "restartPolicy": "Never"}}
    spec = {"parallelism": 1, "completions": 1, "completionMode": "NonIndexed", "suspend": False, "template": template}
    return BatchJobBuilder({**_object(name, f"uid-{name}-child"), "spec": spec, "status": {}})


def gang_job(name: str) -> GangJobBuilder:
    """Our Job, basic, as the CRD completes it."""
    template = {"spec": {"containers": [{"name": "main", "image": "busybox"}], "restartPolicy": "Never"}}
    spec = {"completionMode": "NonIndexed", "suspend": False, "manualSelector": False, "template": template}
    return GangJobBuilder({**_object(name), "spec": spec}).generation(1)


def workload(name: str) -> WorkloadBuilder:
    """A Workload without templates."""
    return WorkloadBuilder({**_object(name), "spec": {"podGroupTemplates": []}})


def uid(name: str) -> Uid:
    return Uid(f"uid-{name}")


def _object(name: str, uid: str = "") -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": uid or f"uid-{name}",
        "generation": 1,
        "resourceVersion": "1",
        "creationTimestamp": stamp(0),
    }
    return {"metadata": metadata}
