"""The limits and defaults of the schemas, against one table taken from Kubernetes 1.37.2.

Sources: the validation markers in scheduling/v1beta1 and scheduling/v1alpha3 of k8s.io/api, and
pkg/apis/batch/validation. Rules over several fields are in CEL and are tried on a real API server in
tests/controlplane.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.crd_schema import node

TEMPLATE = "spec.podGroupTemplates[]"

LIMITS: list[tuple[str, str, str, Any]] = [
    # A Workload has 1 to 8 templates, a map by name.
    ("Workload", "spec.podGroupTemplates", "minItems", 1),
    ("Workload", "spec.podGroupTemplates", "maxItems", 8),
    ("Workload", "spec.podGroupTemplates", "x-kubernetes-list-map-keys", ["name"]),
    ("Workload", f"{TEMPLATE}.name", "maxLength", 63),
    ("Workload", "spec.controllerRef", "required", ["kind", "name"]),
    ("Workload", TEMPLATE, "required", ["name", "schedulingPolicy"]),
    # A gang starts with at least one pod; the native Job alone may leave the figure out.
    ("Workload", f"{TEMPLATE}.schedulingPolicy.gang", "required", ["minCount"]),
    ("PodGroup", "spec.schedulingPolicy.gang", "required", ["minCount"]),
    ("Workload", f"{TEMPLATE}.schedulingPolicy.gang.minCount", "minimum", 1),
    ("PodGroup", "spec.schedulingPolicy.gang.minCount", "minimum", 1),
    ("Job", "spec.scheduling.schedulingPolicy.gang.minCount", "minimum", 1),
    # Only a PodGroup has defaults, as upstream.
    ("PodGroup", "spec.disruptionMode", "default", {"single": {}}),
    ("PodGroup", "spec.workloadRef", "required", ["workloadName", "templateName"]),
    # The highest priority that a user may define.
    ("Workload", f"{TEMPLATE}.priority", "maximum", 1_000_000_000),
    ("PodGroup", "spec.priority", "maximum", 1_000_000_000),
    ("PodGroup", "spec.preemptionPolicy", "enum", ["PreemptLowerPriority", "Never"]),
    ("Workload", f"{TEMPLATE}.preemptionPolicy", "enum", ["PreemptLowerPriority", "Never"]),
    # Claims of a group.
    ("Workload", f"{TEMPLATE}.resourceClaims", "maxItems", 4),
    ("PodGroup", "spec.resourceClaims", "maxItems", 4),
    ("Job", "spec.scheduling.resourceClaims", "maxItems", 4),
    # batch/v1.
    ("Job", "spec.parallelism", "minimum", 0),
    ("Job", "spec.completions", "minimum", 0),
    ("Job", "spec.activeDeadlineSeconds", "minimum", 0),
    ("Job", "spec.backoffLimit", "minimum", 0),
    ("Job", "spec.backoffLimitPerIndex", "minimum", 0),
    ("Job", "spec.maxFailedIndexes", "minimum", 0),
    ("Job", "spec.ttlSecondsAfterFinished", "minimum", 0),
    ("Job", "spec.completionMode", "enum", ["NonIndexed", "Indexed"]),
    ("Job", "spec.completionMode", "default", "NonIndexed"),
    ("Job", "spec.suspend", "default", False),
    ("Job", "spec.manualSelector", "default", False),
    ("Job", "spec.podReplacementPolicy", "enum", ["TerminatingOrFailed", "Failed"]),
    ("Job", "spec.managedBy", "maxLength", 63),
    ("Job", "spec.podFailurePolicy.rules", "maxItems", 20),
    ("Job", "spec.podFailurePolicy.rules[].action", "enum", ["FailJob", "FailIndex", "Ignore", "Count"]),
    ("Job", "spec.podFailurePolicy.rules[].onExitCodes.operator", "enum", ["In", "NotIn"]),
    ("Job", "spec.podFailurePolicy.rules[].onExitCodes.values", "minItems", 1),
    ("Job", "spec.podFailurePolicy.rules[].onExitCodes.values", "maxItems", 255),
    ("Job", "spec.podFailurePolicy.rules[].onPodConditions", "maxItems", 20),
    ("Job", "spec.podFailurePolicy.rules[].onPodConditions[].status", "default", "True"),
    ("Job", "spec.successPolicy.rules", "minItems", 1),
    ("Job", "spec.successPolicy.rules", "maxItems", 20),
    ("Job", "spec.successPolicy.rules[].succeededIndexes", "maxLength", 65536),
    ("Job", "spec.successPolicy.rules[].succeededCount", "minimum", 0),
    ("Job", "spec.template.spec.restartPolicy", "enum", ["Never", "OnFailure"]),
    # Our own fields.
    ("PodGroup", "spec.scheduleTimeoutSeconds", "default", 60),
    ("PodGroup", "spec.scheduleTimeoutSeconds", "minimum", 1),
    ("PodGroup", "spec.schedulingConstraints.topology", "maxItems", 3),
    ("PodGroup", "spec.schedulingConstraints.topology[].mode", "enum", ["Required", "Preferred"]),
    ("PodGroup", "spec.schedulingConstraints.topology[].mode", "default", "Required"),
    ("PodGroup", "spec.schedulingConstraints.topology[].slices", "minimum", 1),
]


@pytest.mark.parametrize(("kind", "path", "keyword", "value"), LIMITS)
def test_limit(kind: str, path: str, keyword: str, value: Any) -> None:
    assert node(kind, path)[keyword] == value


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Workload", f"{TEMPLATE}.disruptionMode"),
        ("Job", "spec.scheduling.disruptionMode"),
        ("Workload", f"{TEMPLATE}.scheduleTimeoutSeconds"),
        ("Job", "spec.scheduling.scheduleTimeoutSeconds"),
        # What these default to depends on other fields: the batch/v1 Job that is made has upstream's values.
        ("Job", "spec.parallelism"),
        ("Job", "spec.completions"),
        ("Job", "spec.backoffLimit"),
        ("Job", "spec.podReplacementPolicy"),
    ],
)
def test_left_unset(kind: str, path: str) -> None:
    assert "default" not in node(kind, path)


@pytest.mark.parametrize(
    "path",
    [
        "spec.template",
        "spec.template.metadata",
        "spec.template.spec",
        "spec.template.spec.containers[]",
        "spec.template.spec.initContainers[]",
    ],
)
def test_pod_template_keeps_unknown_fields(path: str) -> None:
    assert node("Job", path)["x-kubernetes-preserve-unknown-fields"] is True


SHARED = (
    "schedulingConstraints",
    "resourceClaims",
    "disruptionMode",
    "priority",
    "priorityClassName",
    "preemptionPolicy",
)


@pytest.mark.parametrize("name", SHARED)
def test_template_and_group_are_in_step(name: str) -> None:
    template, group = node("Workload", f"{TEMPLATE}.{name}"), node("PodGroup", f"spec.{name}")
    assert {**template, "default": None} == {**group, "default": None}


@pytest.mark.parametrize("name", ["schedulingConstraints", "resourceClaims", "disruptionMode"])
def test_job_and_group_are_in_step(name: str) -> None:
    job, group = node("Job", f"spec.scheduling.{name}"), node("PodGroup", f"spec.{name}")
    assert {**job, "default": None} == {**group, "default": None}
