"""Who belongs to a gang, what of it is ours to change, and what goes when it goes."""

from collections.abc import Iterator

import pytest
from tests.controlplane.cluster import (
    GANG_JOBS,
    JOBS,
    POD_GROUPS,
    PODS,
    WORKLOADS,
    Cluster,
    gang_job,
    pod,
    pod_group,
)
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.support.polling import eventually

from ganglift.api.names import GATE
from ganglift.playground.client import STRATEGIC_MERGE_PATCH

FOREIGN = "example.com/approval"
ELSEWHERE = "elsewhere"


def gates(cluster: Cluster, name: str) -> list[str]:
    return [gate["name"] for gate in cluster.get(f"{PODS}/{name}")["spec"].get("schedulingGates", ())]


def approve(cluster: Cluster, name: str) -> None:
    """Take the foreign gate off a pod, as its owner would."""
    without = {"spec": {"schedulingGates": [{"$patch": "delete", "name": FOREIGN}]}}
    cluster.playground.client.patch(f"{PODS}/{name}", without, content_type=STRATEGIC_MERGE_PATCH)


@pytest.fixture
def three(cluster: Cluster, operator: OperatorProcess, history: History) -> Cluster:
    """Room for three, and three members of which one bears a foreign gate too."""
    cluster.add_gpu_nodes(3)
    for number in range(3):
        cluster.create(PODS, pod(f"train-{number}", group="train", gates=[FOREIGN] if number == 1 else []))
    return cluster


def test_gang_waits_whole_while_a_needed_member_has_a_foreign_gate(three: Cluster, history: History) -> None:
    three.create(POD_GROUPS, pod_group("train", 3))
    message = three.await_reason("train", "ForeignGate")["message"]
    assert FOREIGN in message
    assert "train-1" in message
    history.catch_up()
    assert [life.name for life in history.lives("train") if life.was_ungated or life.nominations] == []


def test_gang_starts_when_the_foreign_gate_is_taken_off_by_its_owner(three: Cluster) -> None:
    three.create(POD_GROUPS, pod_group("train", 3))
    three.await_reason("train", "ForeignGate")
    approve(three, "train-1")
    three.await_bound(3, "train")


def test_member_that_is_not_needed_keeps_both_gates(three: Cluster) -> None:
    three.create(POD_GROUPS, pod_group("train", 2))
    assert sorted(three.await_bound(2, "train")) == ["train-0", "train-2"]
    three.await_reason("train", "Scheduled")
    assert gates(three, "train-1") == [GATE, FOREIGN]


@pytest.fixture
def elsewhere(cluster: Cluster) -> Iterator[str]:
    """The path of the pods of another namespace, in which pods can be made; they are gone after the test."""
    cluster.ensure("/api/v1/namespaces", {"metadata": {"name": ELSEWHERE}})
    account = f"/api/v1/namespaces/{ELSEWHERE}/serviceaccounts/default"
    eventually(lambda: cluster.exists(account), bool, within_s=15)
    pods = f"/api/v1/namespaces/{ELSEWHERE}/pods"
    yield pods
    cluster.delete(f"{pods}?gracePeriodSeconds=0")
    eventually(lambda: cluster.items(pods), lambda left: not left, within_s=30)


def says_one_of_two(message: str) -> bool:
    return message.startswith("1 of 2 pods exist")


def test_pod_of_another_namespace_is_no_member(
    cluster: Cluster, operator: OperatorProcess, history: History, elsewhere: str
) -> None:
    cluster.add_gpu_nodes(2)
    cluster.create(elsewhere, pod("stranger", group="train"))
    cluster.create(POD_GROUPS, pod_group("train", 2))
    cluster.create(PODS, pod("train-0", group="train"))
    eventually(lambda: cluster.condition("train").get("message", ""), says_one_of_two, within_s=10)
    cluster.create(PODS, pod("train-1", group="train"))
    cluster.await_bound(2, "train")
    history.catch_up()
    (stranger,) = history.lives("train", namespace=ELSEWHERE)
    assert not stranger.was_ungated
    assert stranger.nominations == ()


MADE = (WORKLOADS, POD_GROUPS, JOBS, PODS)


def left(cluster: Cluster) -> list[str]:
    """What is left of all that is made for a Job of ours."""
    return [f"{path}/{item['metadata']['name']}" for path in MADE for item in cluster.items(path)]


@pytest.fixture
def running(cluster: Cluster, operator: OperatorProcess) -> Cluster:
    """A Job of ours whose gang runs."""
    cluster.add_gpu_nodes(3)
    cluster.create(GANG_JOBS, gang_job("train", 3))
    cluster.await_bound(3, "train-workers")
    return cluster


def test_deleted_job_takes_all_that_was_made_for_it(running: Cluster) -> None:
    running.delete(f"{GANG_JOBS}/train")
    eventually(lambda: left(running), lambda found: not found, within_s=20)


def test_l9_deleted_job_takes_all_that_was_made_for_it_also_without_an_operator(
    running: Cluster, operator: OperatorProcess
) -> None:
    operator.kill()
    running.delete(f"{GANG_JOBS}/train")
    eventually(lambda: left(running), lambda found: not found, within_s=20)


def test_deleted_job_whose_gang_waits_takes_its_pods_also_without_an_operator(
    cluster: Cluster, operator: OperatorProcess
) -> None:
    cluster.create(GANG_JOBS, gang_job("train", 3))
    cluster.await_reason("train-workers", "Unschedulable")
    operator.kill()
    cluster.delete(f"{GANG_JOBS}/train")
    eventually(lambda: left(cluster), lambda found: not found, within_s=20)


def test_l9_namespace_goes_away_without_an_operator(cluster: Cluster, operator: OperatorProcess) -> None:
    namespaces, doomed = "/api/v1/namespaces", "/namespaces/doomed/"
    cluster.create(namespaces, {"metadata": {"name": "doomed"}})
    account = f"{namespaces}/doomed/serviceaccounts/default"
    eventually(lambda: cluster.exists(account), bool, within_s=15)
    cluster.create(GANG_JOBS.replace("/namespaces/default/", doomed), gang_job("train", 2))
    pods = PODS.replace("/namespaces/default/", doomed)
    eventually(lambda: cluster.items(pods), lambda found: len(found) == 2, within_s=15)
    operator.kill()
    cluster.delete(f"{namespaces}/doomed")
    eventually(lambda: cluster.exists(f"{namespaces}/doomed"), lambda exists: not exists, within_s=60)


def test_nothing_that_is_made_bears_a_finalizer_of_ours(running: Cluster) -> None:
    finalizers = {
        finalizer
        for path in (GANG_JOBS, *MADE)
        for item in running.items(path)
        for finalizer in item["metadata"].get("finalizers", ())
    }
    assert finalizers <= {"batch.kubernetes.io/job-tracking"}
