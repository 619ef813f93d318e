"""Nodes whose kubelet refuses pods are avoided for a while."""

import pytest
from tests.builders import PodBuilder, pod

from ganglift.engine.distrust import Distrust


def refused(name: str, node: str = "n1", reason: str = "UnexpectedAdmissionError") -> PodBuilder:
    return pod(name).on(node, "Failed")._with("status", "reason", value=reason)


@pytest.fixture
def distrust() -> Distrust:
    return Distrust(avoid_s=600.0)


def test_a_node_that_refused_two_pods_is_avoided(distrust: Distrust) -> None:
    distrust.note(refused("a").made, 0.0)
    assert distrust.avoided(1.0) == set()
    distrust.note(refused("b").made, 2.0)
    assert distrust.avoided(3.0) == {"n1"}


def test_one_pod_that_is_seen_again_and_again_counts_once(distrust: Distrust) -> None:
    for second in range(5):
        distrust.note(refused("a").made, float(second))
    assert distrust.avoided(6.0) == set()


def test_the_time_runs_from_the_last_refusal(distrust: Distrust) -> None:
    distrust.note(refused("a").made, 0.0)
    distrust.note(refused("b").made, 500.0)
    assert distrust.avoided(1099.0) == {"n1"}
    assert distrust.avoided(1100.0) == set()


def test_seeing_an_old_refusal_again_does_not_prolong_the_time(distrust: Distrust) -> None:
    distrust.note(refused("a").made, 0.0)
    distrust.note(refused("b").made, 0.0)
    distrust.note(refused("b").made, 599.0)
    assert distrust.avoided(601.0) == set()


def test_after_its_time_a_node_has_a_clean_slate(distrust: Distrust) -> None:
    distrust.note(refused("a").made, 0.0)
    distrust.note(refused("b").made, 0.0)
    assert distrust.avoided(601.0) == set()
    distrust.note(refused("c").made, 602.0)
    assert distrust.avoided(603.0) == set()


@pytest.mark.parametrize("reason", ["OutOfcpu", "OutOfnvidia.com/gpu", "NodeAffinity", "TopologyAffinityError"])
def test_every_refusal_of_a_kubelet_counts(distrust: Distrust, reason: str) -> None:
    for name in "ab":
        distrust.note(refused(name, reason=reason).made, 0.0)
    assert distrust.avoided(1.0) == {"n1"}


@pytest.mark.parametrize("reason", ["", "Evicted", "DeadlineExceeded"])
def test_a_pod_that_failed_by_itself_says_nothing_of_its_node(distrust: Distrust, reason: str) -> None:
    for name in "ab":
        distrust.note(refused(name, reason=reason).made, 0.0)
    assert distrust.avoided(1.0) == set()
