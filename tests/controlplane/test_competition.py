"""Others want the same room: between reserve and lift, at the same instant, while kube-scheduler stands still.

The operator is stopped between two steps by a proxy that holds back one of its requests.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.controlplane.cluster import (
    GANG_JOBS,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    Cluster,
    gang_job,
    pod,
    pod_group,
)
from tests.controlplane.conftest import StartOperator
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.controlplane.proxy import Hold, Proxy, Request
from tests.support.polling import eventually

from ganglift.playground.options import Component

HIGH = "high"
FENCES = "/api/v1/namespaces/ganglift-system/pods?labelSelector=scheduling.ganglift.dev%2Ffence"


def make_gang(cluster: Cluster, name: str, size: int) -> None:
    cluster.create(POD_GROUPS, pod_group(name, size))
    cluster.create_all(PODS, [pod(f"{name}-{number}", group=name) for number in range(size)])


def scheduling_reason(cluster: Cluster, name: str) -> str:
    """The reason of a pod's PodScheduled condition; empty if it has none."""
    conditions = cluster.get(f"{PODS}/{name}")["status"].get("conditions", ())
    return next((str(c.get("reason", "")) for c in conditions if c["type"] == "PodScheduled"), "")


def await_unschedulable(cluster: Cluster, name: str) -> None:
    eventually(lambda: scheduling_reason(cluster, name), lambda reason: reason == "Unschedulable", within_s=10)


def gates(cluster: Cluster, group: str) -> dict[str, list[str]]:
    """The names of the gates of each pod of a group, by the pod's uid."""
    return {
        pod["metadata"]["uid"]: [gate["name"] for gate in pod["spec"].get("schedulingGates", ())]
        for pod in cluster.pods(group)
    }


def let_loose(history: History, group: str) -> list[str]:
    """The members that were ever seen without their gate."""
    history.catch_up()
    return [life.name for life in history.lives(group) if life.was_ungated]


@pytest.fixture
def reserved(cluster: Cluster, history: History, proxy: Proxy, start_operator: StartOperator) -> Hold:
    """A gang of three reserved on three nodes, before its lift; the rest comes with `release`."""
    cluster.ensure_priority_class(HIGH, 1000)
    cluster.add_gpu_nodes(3)
    before_lift = proxy.hold(Request.is_dry_lift)
    start_operator(cluster, through=proxy)
    make_gang(cluster, "train", 3)
    before_lift.wait()
    return before_lift


def test_pod_of_the_same_priority_does_not_get_reserved_room(cluster: Cluster, reserved: Hold) -> None:
    cluster.create(PODS, pod("rival"))
    await_unschedulable(cluster, "rival")
    reserved.release()
    cluster.await_bound(3, "train")
    assert "rival" not in cluster.bound()


def test_gang_waits_whole_when_a_pod_of_higher_priority_takes_its_room(
    cluster: Cluster, history: History, reserved: Hold
) -> None:
    cluster.create(PODS, pod("urgent", priority_class=HIGH))
    cluster.await_bound(1)
    reserved.release()
    assert "2 of 3 members fit" in cluster.await_reason("train", "Unschedulable")["message"]
    assert let_loose(history, "train") == []


def test_waiting_gang_gives_its_reservation_back(cluster: Cluster, reserved: Hold) -> None:
    cluster.create(PODS, pod("urgent", priority_class=HIGH))
    cluster.await_bound(1)
    reserved.release()
    cluster.await_reason("train", "Unschedulable")
    cluster.create_all(PODS, [pod(f"plain-{number}") for number in range(2)])
    cluster.await_bound(3)
    assert cluster.bound("train") == {}


def test_gang_is_planned_anew_when_there_is_room_elsewhere(cluster: Cluster, history: History, reserved: Hold) -> None:
    cluster.create(PODS, pod("urgent", priority_class=HIGH))
    (taken,) = cluster.await_bound(1).values()
    (spare,) = cluster.add_gpu_nodes(1)
    reserved.release()
    bound = cluster.await_bound(3, "train")
    assert spare in bound.values()
    assert taken not in bound.values()


def test_gang_that_loses_room_in_the_middle_of_its_lift_is_taken_back_whole(
    cluster: Cluster, history: History, proxy: Proxy, start_operator: StartOperator
) -> None:
    cluster.ensure_priority_class(HIGH, 1000)
    cluster.add_gpu_nodes(3)
    lifts = proxy.hold(Request.is_lift)
    start_operator(cluster, through=proxy)
    cluster.create(GANG_JOBS, gang_job("train", 3))
    lifts.wait(3)
    cluster.create(PODS, pod("urgent", priority_class=HIGH))
    cluster.await_bound(1)
    first = gates(cluster, "train-workers").keys()
    lifts.release()
    anew = eventually(
        lambda: gates(cluster, "train-workers"), lambda pods: len(pods) == 3 and not pods.keys() & first, within_s=15
    )
    assert all(anew.values())
    history.catch_up()
    troubles = [trouble for life in history.lives("train-workers") for trouble in life.troubles]
    assert troubles
    assert max(trouble.lasted_s(time.monotonic()) for trouble in troubles) <= 7


@pytest.fixture
def without_scheduler(cluster: Cluster) -> Iterator[Cluster]:
    """Three nodes, a pod that waits for kube-scheduler, and a gang of three; kube-scheduler does not run."""
    cluster.add_gpu_nodes(3)
    cluster.playground.kill(Component.SCHEDULER)
    cluster.create(PODS, pod("rival", gpus=0))
    make_gang(cluster, "train", 3)
    yield cluster
    if cluster.playground.status().components[Component.SCHEDULER] is None:
        cluster.playground.start_component(Component.SCHEDULER)


def test_nothing_is_lifted_while_kube_scheduler_does_not_answer(
    without_scheduler: Cluster, history: History, start_operator: StartOperator
) -> None:
    start_operator(without_scheduler)
    message = without_scheduler.await_reason("train", "FenceUnavailable", within_s=30)["message"]
    assert "kube-scheduler did not answer" in message
    assert let_loose(history, "train") == []


def test_gang_starts_when_kube_scheduler_answers_the_fence(
    without_scheduler: Cluster, start_operator: StartOperator
) -> None:
    operator = start_operator(without_scheduler)
    eventually(lambda: operator.records("fence raised"), bool, within_s=10)
    without_scheduler.playground.start_component(Component.SCHEDULER)
    without_scheduler.await_bound(3, "train")


def test_fence_names_the_pod_that_made_it_necessary(without_scheduler: Cluster, start_operator: StartOperator) -> None:
    operator = start_operator(without_scheduler)
    (raised,) = eventually(lambda: operator.records("fence raised"), bool, within_s=10)
    assert raised["competitor"] == "default/rival"
    assert "default/rival" in without_scheduler.await_reason("train", "Reserved")["message"]


def test_fence_is_gone_once_it_has_been_answered(without_scheduler: Cluster, start_operator: StartOperator) -> None:
    operator = start_operator(without_scheduler)
    eventually(lambda: operator.records("fence raised"), bool, within_s=10)
    without_scheduler.playground.start_component(Component.SCHEDULER)
    without_scheduler.await_bound(3, "train")
    eventually(lambda: without_scheduler.items(FENCES), lambda fences: not fences, within_s=10)


def test_priority_class_of_fences_is_made_again_by_an_administrators_operator(
    without_scheduler: Cluster, tmp_path: Path
) -> None:
    """That of the chart may not: there the class is the chart's to make."""
    kubeconfig = without_scheduler.playground.kubeconfig
    operator = OperatorProcess(kubeconfig, tmp_path / "admin.log", ("--no-leader-elect",))
    operator.start()
    try:
        without_scheduler.await_reason("train", "FenceUnavailable", within_s=30)
        without_scheduler.delete(f"{PRIORITY_CLASSES}/ganglift-fence")
        eventually(lambda: without_scheduler.items(FENCES), bool, within_s=30)
        assert without_scheduler.exists(f"{PRIORITY_CLASSES}/ganglift-fence")
    finally:
        operator.stop()


def test_no_fence_is_raised_where_nobody_competes(cluster: Cluster, start_operator: StartOperator) -> None:
    operator = start_operator(cluster)
    cluster.add_gpu_nodes(3)
    make_gang(cluster, "train", 3)
    cluster.await_bound(3, "train")
    eventually(lambda: operator.records("gang lifted"), bool, within_s=5)
    assert operator.records("fence raised") == []


def test_one_of_two_interleaved_gangs_runs_whole_and_the_other_has_nothing(
    cluster: Cluster, history: History, start_operator: StartOperator
) -> None:
    start_operator(cluster)
    cluster.add_gpu_nodes(4)
    for name in ("a", "b"):
        cluster.create(POD_GROUPS, pod_group(name, 3))
    for number in range(3):
        for name in ("a", "b"):
            cluster.create(PODS, pod(f"{name}-{number}", group=name))
    cluster.await_bound(3)
    winner = next(iter(cluster.bound()))[0]
    loser = {"a": "b", "b": "a"}[winner]
    cluster.await_reason(loser, "Unschedulable")
    cluster.await_reason(winner, "Scheduled")
    assert len(let_loose(history, winner)) == 3
    assert let_loose(history, loser) == []
