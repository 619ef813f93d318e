"""Edits while a gang waits or runs: they count from the next decision on, and never unbind anyone."""

import pytest
from tests.controlplane.cluster import (
    GANG_JOBS,
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
from tests.support.polling import eventually

pytestmark = pytest.mark.usefixtures("operator")

GROUP = "train-workers"


@pytest.fixture
def waiting(cluster: Cluster, operator: OperatorProcess) -> Cluster:
    """A Job of four, all needed, on three nodes."""
    cluster.add_gpu_nodes(3)
    cluster.create(GANG_JOBS, gang_job("train", 4))
    cluster.await_reason(GROUP, "Unschedulable")
    return cluster


@pytest.fixture
def three_run(cluster: Cluster, operator: OperatorProcess) -> Cluster:
    """A Job of four of which three are enough, and run, on three nodes."""
    cluster.add_gpu_nodes(3)
    cluster.create(GANG_JOBS, gang_job("train", 4, min_count=3))
    cluster.await_bound(3, GROUP)
    cluster.await_reason(GROUP, "Scheduled")
    return cluster


def set_job(cluster: Cluster, **spec: object) -> None:
    cluster.merge(f"{GANG_JOBS}/train", {"spec": spec})


def set_job_min_count(cluster: Cluster, count: int) -> None:
    set_job(cluster, scheduling={"schedulingPolicy": {"gang": {"minCount": count}}})


def min_count(cluster: Cluster, group: str = GROUP) -> int:
    return int(cluster.group(group)["spec"]["schedulingPolicy"]["gang"]["minCount"])


def test_gang_without_a_min_count_needs_all_of_parallelism(waiting: Cluster) -> None:
    assert min_count(waiting) == 4


def test_group_lowered_from_four_to_three_starts_three(waiting: Cluster) -> None:
    waiting.set_min_count(GROUP, 3)
    waiting.await_bound(3, GROUP)
    assert waiting.await_reason(GROUP, "Scheduled")["message"].startswith("3 of 3 members are bound")


def test_job_lowered_from_four_to_three_starts_three(waiting: Cluster) -> None:
    set_job_min_count(waiting, 3)
    waiting.await_bound(3, GROUP)
    assert min_count(waiting) == 3


def test_fourth_member_stays_gated_until_there_is_room_for_it(waiting: Cluster, history: History) -> None:
    set_job_min_count(waiting, 3)
    waiting.await_bound(3, GROUP)
    waiting.await_reason(GROUP, "Scheduled")
    history.catch_up()
    assert [life.was_ungated for life in history.lives(GROUP)].count(False) == 1
    waiting.add_gpu_nodes(1)
    waiting.await_bound(4, GROUP)


def test_job_with_less_parallelism_starts_as_many(waiting: Cluster) -> None:
    set_job(waiting, parallelism=2)
    waiting.await_bound(2, GROUP)
    assert min_count(waiting) == 2


def test_nobody_is_torn_down_when_more_are_needed_than_run(three_run: Cluster, history: History) -> None:
    running = three_run.bound(GROUP)
    set_job_min_count(three_run, 4)
    assert "fit" in three_run.await_reason(GROUP, "Unschedulable")["message"]
    history.catch_up()
    members = history.lives(GROUP)
    assert [life.name for life in members if life.gone_at is not None] == []
    assert three_run.bound(GROUP) == running


def test_fourth_member_starts_when_it_is_needed_and_room_comes(three_run: Cluster) -> None:
    running = three_run.bound(GROUP)
    set_job_min_count(three_run, 4)
    three_run.await_reason(GROUP, "Unschedulable")
    three_run.add_gpu_nodes(1)
    assert three_run.await_bound(4, GROUP).items() > running.items()
    three_run.await_reason(GROUP, "Scheduled")


def test_gang_that_needs_more_after_an_edit_does_not_count_as_degraded(three_run: Cluster) -> None:
    set_job_min_count(three_run, 4)
    three_run.await_reason(GROUP, "Unschedulable")
    degraded = eventually(
        lambda: three_run.condition(GROUP, "Degraded"), lambda c: c.get("reason") != "Scheduled", within_s=10
    )
    assert (degraded["status"], degraded["reason"]) == ("False", "NeedRaised")


def test_suspended_job_gives_its_room_to_who_waits(three_run: Cluster) -> None:
    three_run.create(POD_GROUPS, pod_group("next", 3))
    three_run.create_all(PODS, [pod(f"next-{number}", group="next") for number in range(3)])
    three_run.await_reason("next", "Unschedulable")
    set_job(three_run, suspend=True)
    three_run.await_bound(3, "next")
    three_run.await_reason(GROUP, "Suspended")


def workload(name: str, count: int) -> Object:
    template = {"name": "decode", "schedulingPolicy": {"gang": {"minCount": count}}}
    return {
        "apiVersion": "scheduling.ganglift.dev/v1beta1",
        "kind": "Workload",
        "metadata": {"name": name},
        "spec": {"podGroupTemplates": [template]},
    }


def set_template(cluster: Cluster, name: str, count: int) -> None:
    path = "/spec/podGroupTemplates/0/schedulingPolicy/gang/minCount"
    operation = {"op": "replace", "path": path, "value": count}
    content_type = "application/json-patch+json"
    cluster.playground.client.patch(f"{WORKLOADS}/{name}", [operation], content_type=content_type)


def await_min_count(cluster: Cluster, group: str, count: int) -> None:
    named = f"{POD_GROUPS}?fieldSelector=metadata.name%3D{group}"
    eventually(
        lambda: [found["spec"]["schedulingPolicy"]["gang"]["minCount"] for found in cluster.items(named)],
        lambda found: found == [count],
        within_s=10,
    )


@pytest.fixture
def serving(cluster: Cluster, operator: OperatorProcess) -> Cluster:
    """A Workload whose template asks for four, and its PodGroup."""
    cluster.create(WORKLOADS, workload("serving", 4))
    await_min_count(cluster, "serving-decode", 4)
    return cluster


def test_change_of_a_template_reaches_its_group(serving: Cluster) -> None:
    set_template(serving, "serving", 3)
    await_min_count(serving, "serving-decode", 3)


def test_edit_of_a_group_stands_when_its_workload_changes_elsewhere(serving: Cluster) -> None:
    serving.set_min_count("serving-decode", 2)
    serving.merge(f"{WORKLOADS}/serving", {"metadata": {"labels": {"touched": "yes"}}})
    # Once a Workload made later has its group, the change of the first has been looked at.
    serving.create(WORKLOADS, workload("later", 7))
    await_min_count(serving, "later-decode", 7)
    assert min_count(serving, "serving-decode") == 2


def test_edit_of_a_group_ends_when_its_template_changes_again(serving: Cluster) -> None:
    serving.set_min_count("serving-decode", 2)
    set_template(serving, "serving", 5)
    await_min_count(serving, "serving-decode", 5)
