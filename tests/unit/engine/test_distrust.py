"""Nodes whose kubelet refuses pods, and nodes that were lost, are avoided for a while."""

import pytest
from tests.builders import PodBuilder, pod
from tests.kinds import at, stamp

from ganglift.engine.distrust import Distrust


def refused(name: str, node: str = "n1", reason: str = "UnexpectedAdmissionError") -> PodBuilder:
    return pod(name).on(node, "Failed")._with("status", "reason", value=reason)


@pytest.fixture
def distrust() -> Distrust:
    return Distrust(avoid_s=600.0)


def test_a_node_that_refused_two_pods_is_avoided(distrust: Distrust) -> None:
    distrust.note(refused("a").made, at(0))
    assert distrust.avoided(at(1)) == set()
    distrust.note(refused("b").made, at(2))
    assert distrust.avoided(at(3)) == {"n1"}


def test_a_node_that_was_made_since_under_the_same_name_is_not_avoided(distrust: Distrust) -> None:
    distrust.note(refused("a").made, at(0))
    distrust.note(refused("b").made, at(2))
    assert distrust.avoided(at(3), {"n1": at(-9)}) == {"n1"}
    assert distrust.avoided(at(9), {"n1": at(8)}) == set()
    distrust.note(refused("c").made, at(10))
    assert distrust.avoided(at(11), {"n1": at(8)}) == {"n1"}


def test_one_pod_that_is_seen_again_and_again_counts_once(distrust: Distrust) -> None:
    for second in range(5):
        distrust.note(refused("a").made, at(second))
    assert distrust.avoided(at(6)) == set()


def test_the_time_runs_from_the_last_refusal(distrust: Distrust) -> None:
    distrust.note(refused("a").made, at(0))
    distrust.note(refused("b").made, at(500))
    assert distrust.avoided(at(1099)) == {"n1"}
    assert distrust.avoided(at(1100)) == set()


def test_seeing_an_old_refusal_again_does_not_prolong_the_time(distrust: Distrust) -> None:
    distrust.note(refused("a").made, at(0))
    distrust.note(refused("b").made, at(0))
    distrust.note(refused("b").made, at(599))
    assert distrust.avoided(at(601)) == set()


def test_after_its_time_a_node_has_a_clean_slate(distrust: Distrust) -> None:
    distrust.note(refused("a").made, at(0))
    distrust.note(refused("b").made, at(0))
    assert distrust.avoided(at(601)) == set()
    distrust.note(refused("c").made, at(602))
    assert distrust.avoided(at(603)) == set()


def test_a_refused_pod_that_lies_about_does_not_prolong_the_time_nor_does_a_new_process() -> None:
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(0)}
    old = [refused(name)._with("status", "conditions", value=[bound]).made for name in "ab"]
    for _ in range(2):
        distrust = Distrust(avoid_s=600.0)
        for second in (1, 601, 1300):
            for one in old:
                distrust.note(one, at(second))
            assert distrust.avoided(at(second)) == ({"n1"} if second < 600 else set())


@pytest.mark.parametrize("reason", ["OutOfcpu", "OutOfnvidia.com/gpu", "NodeAffinity", "TopologyAffinityError"])
def test_every_refusal_of_a_kubelet_counts(distrust: Distrust, reason: str) -> None:
    for name in "ab":
        distrust.note(refused(name, reason=reason).made, at(0))
    assert distrust.avoided(at(1)) == {"n1"}


@pytest.mark.parametrize("reason", ["", "Evicted", "DeadlineExceeded"])
def test_a_pod_that_failed_by_itself_says_nothing_of_its_node(distrust: Distrust, reason: str) -> None:
    for name in "ab":
        distrust.note(refused(name, reason=reason).made, at(0))
    assert distrust.avoided(at(1)) == set()


def lost(name: str, reason: str = "DeletionByTaintManager", node: str = "n1") -> PodBuilder:
    return pod(name).on(node).terminating().condition("DisruptionTarget", "True", reason)


@pytest.mark.parametrize("reason", ["DeletionByTaintManager", "DeletionByPodGC"])
def test_a_node_that_was_lost_with_a_pod_is_avoided_for_its_time(distrust: Distrust, reason: str) -> None:
    distrust.note(lost("a", reason).made, at(0))
    assert distrust.avoided(at(599)) == {"n1"}
    assert distrust.avoided(at(600)) == set()


@pytest.mark.parametrize("reason", ["EvictionByEvictionAPI", "PreemptionByScheduler", "GangTakenBack"])
def test_a_pod_that_had_to_go_for_another_reason_says_nothing_of_its_node(distrust: Distrust, reason: str) -> None:
    distrust.note(lost("a", reason).made, at(0))
    assert distrust.avoided(at(1)) == set()
