"""Bad input that the API server can't refuse: it shows as a condition or event, in words that say what to change."""

from typing import Any

import pytest
from tests.controlplane.cluster import (
    GANG_JOBS,
    JOBS,
    POD_GROUPS,
    PODS,
    WORKLOADS,
    Cluster,
    Object,
    gang_job,
    pod,
    pod_group,
)
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.controlplane.playgrounds import on
from tests.support.polling import eventually

from ganglift.playground.options import PlaygroundOptions

HIGH = "high"
NATIVE = PlaygroundOptions(version="1.37.2", native_gang_scheduling=True)


def await_job_reason(cluster: Cluster, reason: str) -> Object:
    """Wait for that reason in our Job's Scheduled condition; return the condition."""

    def scheduled() -> Object:
        conditions = cluster.job("train").get("status", {}).get("conditions", [])
        return next((condition for condition in conditions if condition["type"] == "Scheduled"), {})

    return eventually(scheduled, lambda condition: condition.get("reason") == reason, within_s=15)


def without_volume() -> Object:
    """A Job whose template names a volume that it does not have."""
    job = gang_job("train", 2)
    container = job["spec"]["template"]["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return job


class TestTemplateThatTheApiServerRefuses:
    @pytest.fixture
    def refused(self, cluster: Cluster, operator: OperatorProcess) -> Object:
        """The condition of a Job whose child can't be made."""
        cluster.create(GANG_JOBS, without_volume())
        return await_job_reason(cluster, "Refused")

    def test_shows_in_its_own_words(self, cluster: Cluster, refused: Object) -> None:
        spec = {"parallelism": 2, "completions": 2, "template": without_volume()["spec"]["template"]}
        child = {"metadata": {"name": "train"}, "spec": spec}
        its_own = cluster.refusal("POST", f"{JOBS}?dryRun=All", child).rpartition("is invalid: ")[2]
        assert "volumeMounts[0].name" in its_own
        assert its_own in refused["message"]

    def test_is_an_event_of_the_job(self, cluster: Cluster, refused: Object) -> None:
        event = await_event(cluster, "train", "Refused")
        assert (event["type"], event["involvedObject"]["kind"]) == ("Warning", "Job")


def await_event(cluster: Cluster, name: str, reason: str) -> Object:
    """Wait for an event of that reason about an object of that name."""

    def found() -> list[Object]:
        return [event for event in cluster.events(name) if event["reason"] == reason]

    return eventually(found, bool, within_s=15)[0]


class TestForeignJobOfTheSameName:
    @pytest.fixture
    def foreign(self, cluster: Cluster, operator: OperatorProcess) -> Object:
        """Someone's batch/v1 Job, as it was before ours of the same name was made."""
        template = {"metadata": {"labels": {"app": "other"}}, "spec": pod("x", gpus=0)["spec"]}
        made = cluster.create(JOBS, {"metadata": {"name": "train"}, "spec": {"template": template}})
        cluster.create(GANG_JOBS, gang_job("train", 2))
        return made

    def test_is_a_name_conflict_that_says_what_to_do(self, cluster: Cluster, foreign: Object) -> None:
        message = await_job_reason(cluster, "NameConflict")["message"]
        assert "batch/v1 Job train exists and belongs to someone else: rename" in message

    def test_is_left_untouched(self, cluster: Cluster, foreign: Object) -> None:
        await_job_reason(cluster, "NameConflict")
        now = cluster.get(f"{JOBS}/train")
        assert now["spec"] == foreign["spec"]
        assert all(now["metadata"].get(key) == foreign["metadata"].get(key) for key in ("uid", "labels", "annotations"))
        assert "ganglift" not in {entry["manager"] for entry in now["metadata"]["managedFields"]}

    def test_is_free_to_go_and_ours_starts_then(self, cluster: Cluster, foreign: Object) -> None:
        cluster.add_gpu_nodes(2)
        await_job_reason(cluster, "NameConflict")
        cluster.delete(f"{JOBS}/train")
        cluster.await_bound(2, "train-workers", within_s=30)


class TestGroupWhoseWorkloadIsMissing:
    @pytest.fixture
    def orphan(self, cluster: Cluster, operator: OperatorProcess) -> Cluster:
        """Two members and room for them, and a group that refers to a Workload that does not exist."""
        cluster.add_gpu_nodes(2)
        ref = {"workloadName": "serving", "templateName": "decode"}
        cluster.create(POD_GROUPS, pod_group("train", 2, workloadRef=ref))
        cluster.create_all(PODS, [pod(f"train-{number}", group="train") for number in range(2)])
        cluster.await_reason("train", "WorkloadMissing")
        return cluster

    def test_names_it(self, orphan: Cluster) -> None:
        assert "serving" in orphan.condition("train")["message"]

    def test_starts_when_it_is_made(self, orphan: Cluster) -> None:
        assert orphan.bound() == {}
        template = {"name": "decode", "schedulingPolicy": {"gang": {"minCount": 2}}}
        orphan.create(
            WORKLOADS,
            {
                "apiVersion": "scheduling.ganglift.dev/v1beta1",
                "kind": "Workload",
                "metadata": {"name": "serving"},
                "spec": {"podGroupTemplates": [template]},
            },
        )
        orphan.await_bound(2, "train")


def make_two(cluster: Cluster, **second: Any) -> None:
    """A gang of two with room for it; the second member's spec is as given."""
    cluster.add_gpu_nodes(2)
    cluster.create(POD_GROUPS, pod_group("train", 2))
    cluster.create(PODS, pod("train-0", group="train"))
    cluster.create(PODS, pod("train-1", group="train", **second))


def touched(history: History) -> list[str]:
    """The members that were ever given a place or let loose."""
    history.catch_up()
    return [life.name for life in history.lives("train") if life.was_ungated or life.nominations]


def test_r7_member_of_another_scheduler_is_named_and_nobody_is_reserved(
    cluster: Cluster, history: History, operator: OperatorProcess
) -> None:
    make_two(cluster, schedulerName="volcano")
    message = cluster.await_reason("train", "OtherScheduler")["message"]
    assert "pod train-1 has schedulerName volcano" in message
    assert touched(history) == []


@on(native=NATIVE)
def test_member_of_a_native_group_is_named_and_nobody_is_reserved(
    cluster: Cluster, history: History, operator: OperatorProcess
) -> None:
    make_two(cluster, schedulingGroup={"podGroupName": "native"})
    message = cluster.await_reason("train", "NativeSchedulingGroup")["message"]
    assert "pod train-1 has spec.schedulingGroup" in message
    assert touched(history) == []


class TestPriority:
    @pytest.fixture
    def mixed(self, cluster: Cluster, operator: OperatorProcess) -> Cluster:
        cluster.ensure_priority_class(HIGH, 1000)
        return cluster

    def test_of_a_group_that_differs_from_its_pods_is_a_warning(self, mixed: Cluster) -> None:
        mixed.create(POD_GROUPS, pod_group("train", 1, priority=1000))
        mixed.create(PODS, pod("train-0", group="train"))
        event = await_event(mixed, "train", "PriorityMismatch")
        assert event["type"] == "Warning"
        assert "the group has priority 1000 and its pods have 0" in event["message"]

    def test_class_of_a_group_that_differs_from_its_pods_is_a_warning(self, mixed: Cluster) -> None:
        mixed.create(POD_GROUPS, pod_group("train", 1, priorityClassName=HIGH))
        mixed.create(PODS, pod("train-0", group="train"))
        message = await_event(mixed, "train", "PriorityMismatch")["message"]
        assert "the group has priority 1000 and its pods have 0" in message

    def test_of_members_that_differ_is_a_warning(self, mixed: Cluster) -> None:
        mixed.create(POD_GROUPS, pod_group("train", 2))
        mixed.create(PODS, pod("train-0", group="train"))
        mixed.create(PODS, pod("train-1", group="train", priority_class=HIGH))
        assert "its pods have 0, 1000" in await_event(mixed, "train", "PriorityMismatch")["message"]
