"""The operator's models and the schemas speak of the same fields: what a model reads or writes is in the CRD."""

import pytest
from pydantic import BaseModel
from tests.support.crd_schema import node

from ganglift.api.job import GangJobSpec, GangJobStatus
from ganglift.api.scheduling import (
    ControllerRef,
    DisruptionMode,
    Gang,
    PodGroupSpec,
    PodGroupStatus,
    PodGroupTemplate,
    Policy,
    SchedulingConstraints,
    TopologyConstraint,
    WorkloadRef,
    WorkloadSeat,
    WorkloadSpec,
    WorkloadStatus,
)

GROUP = "spec.schedulingConstraints"


def names(model: type[BaseModel]) -> set[str]:
    """The names of a model's fields in JSON."""
    return {field.alias or name for name, field in model.model_fields.items()}


@pytest.mark.parametrize(
    ("model", "kind", "path"),
    [
        (WorkloadSpec, "Workload", "spec"),
        (ControllerRef, "Workload", "spec.controllerRef"),
        (PodGroupTemplate, "Workload", "spec.podGroupTemplates[]"),
        (WorkloadStatus, "Workload", "status"),
        (WorkloadSeat, "Workload", "status.podGroups[]"),
        (PodGroupSpec, "PodGroup", "spec"),
        (WorkloadRef, "PodGroup", "spec.workloadRef"),
        (Policy, "PodGroup", "spec.schedulingPolicy"),
        (Gang, "PodGroup", "spec.schedulingPolicy.gang"),
        (DisruptionMode, "PodGroup", "spec.disruptionMode"),
        (SchedulingConstraints, "PodGroup", GROUP),
        (TopologyConstraint, "PodGroup", f"{GROUP}.topology[]"),
        (PodGroupStatus, "PodGroup", "status"),
        (GangJobStatus, "Job", "status"),
    ],
)
def test_model_has_the_fields_of_the_schema(model: type[BaseModel], kind: str, path: str) -> None:
    # The counts that the built-in controller has not made yet are read from the batch/v1 Job, and not mirrored.
    assert names(model) - {"uncountedTerminatedPods"} == set(node(kind, path)["properties"])


def test_model_of_a_job_reads_fields_of_the_schema_only() -> None:
    assert names(GangJobSpec) <= set(node("Job", "spec")["properties"])
