"""The experiment that tells a gang scheduler from a fake one: four needed, room for three; then a fourth node joins."""

from collections.abc import Callable

import pytest
from tests.controlplane.cluster import GANG_JOBS, POD_GROUPS, PODS, Cluster, gang_job, pod, pod_group
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.controlplane.playgrounds import on_both_versions

Start = Callable[[Cluster], str]
"""Makes a gang of four one-GPU members and returns the name of its PodGroup."""


def as_job(cluster: Cluster) -> str:
    cluster.create(GANG_JOBS, gang_job("train", 4))
    return "train-workers"


def as_pods(cluster: Cluster) -> str:
    cluster.create(POD_GROUPS, pod_group("train", 4))
    for number in range(4):
        cluster.create(PODS, pod(f"train-{number}", group="train"))
    return "train"


pytestmark = [on_both_versions, pytest.mark.parametrize("start", [as_job, as_pods])]


@pytest.fixture
def waiting(cluster: Cluster, operator: OperatorProcess, history: History, start: Start) -> str:
    """A gang of four on three nodes, once the operator has said that it does not fit."""
    cluster.add_gpu_nodes(3)
    group = start(cluster)
    cluster.await_reason(group, "Unschedulable")
    return group


def test_none_of_four_is_bound_or_let_loose_where_three_have_room(
    cluster: Cluster, history: History, waiting: str
) -> None:
    # kube-scheduler places a pod that comes later, so it has looked at all that came before.
    cluster.create(PODS, pod("witness", gpus=0))
    cluster.await_bound(1)
    history.catch_up()
    members = history.lives(waiting)
    assert len(members) == 4
    assert [life.name for life in members if life.was_bound or life.was_ungated or life.nominations] == []


def test_message_says_that_three_of_four_fit_and_why_the_fourth_does_not(cluster: Cluster, waiting: str) -> None:
    message = cluster.condition(waiting)["message"]
    assert message.startswith("3 of 4 members fit: 3 nodes: ")
    assert "3 fit" in message


def test_room_for_three_is_left_to_others_while_four_wait(cluster: Cluster, waiting: str) -> None:
    for number in range(3):
        cluster.create(PODS, pod(f"other-{number}"))
    bound = cluster.await_bound(3)
    assert sorted(bound) == ["other-0", "other-1", "other-2"]


def test_fourth_node_binds_all_four_where_they_were_planned(cluster: Cluster, history: History, waiting: str) -> None:
    cluster.add_gpu_nodes(1)
    bound = cluster.await_bound(4, waiting)
    history.catch_up()
    planned = {life.name: life.nominations for life in history.lives(waiting)}
    assert planned == {name: (node,) for name, node in bound.items()}
    assert cluster.await_reason(waiting, "Scheduled")["status"] == "True"
