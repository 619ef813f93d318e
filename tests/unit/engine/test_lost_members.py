"""A gang that was whole loses members: replacement, what is said of it, restart as one, and nodes not to trust."""

from __future__ import annotations

from typing import Any

from tests.support.fakecluster import FakeCluster
from tests.support.manifests import job, node_of, podgroup, pods

from ganglift.kube.resources import BATCH_JOBS, NODES, PODS

GROUP = "train-workers"


def job_as_one(parallelism: int) -> dict[str, Any]:
    made = job("train", parallelism, backoffLimit=0)
    made["spec"]["scheduling"]["disruptionMode"] = {"all": {}}
    return made


async def whole(cluster: FakeCluster, *manifests: dict[str, Any], group: str = GROUP) -> None:
    """Let a gang of three start, on as many nodes as it needs."""
    cluster.nodes(3)
    cluster.operator()
    cluster.add(*manifests)
    await cluster.until(lambda: cluster.reason(group) == "Scheduled")


def lose(cluster: FakeCluster, group: str = GROUP) -> str:
    """Lose a member and the node that it was on; return the node."""
    gone = cluster.pods(group)[0]
    cluster.edit(NODES, node_of(gone), {"spec": {"unschedulable": True}})
    metadata = {"finalizers": None}
    cluster.edit(PODS, gone["metadata"]["name"], {"metadata": metadata})
    cluster.delete(PODS, gone["metadata"]["name"])
    return node_of(gone)


def uids(cluster: FakeCluster, group: str = GROUP) -> set[str]:
    return {one["metadata"]["uid"] for one in cluster.pods(group)}


def is_degraded(cluster: FakeCluster, group: str = GROUP) -> bool:
    return bool(cluster.condition(group, "Degraded").get("status") == "True")


async def test_f14_a_gang_that_lost_a_member_is_said_to_be_degraded_within_seconds(cluster: FakeCluster) -> None:
    await whole(cluster, job("train", 3))
    lose(cluster)
    await cluster.stays(lambda: not is_degraded(cluster), for_s=4.5)
    await cluster.until(lambda: is_degraded(cluster), within_s=3)
    assert cluster.status(GROUP)["phase"] == "Degraded"
    assert "2 of 3 members are bound" in cluster.condition(GROUP, "Degraded")["message"]


async def test_a_gang_disrupted_as_one_starts_anew_whole_and_once(cluster: FakeCluster) -> None:
    await whole(cluster, job_as_one(3))
    first = uids(cluster)
    lost = lose(cluster)
    await cluster.until(lambda: is_degraded(cluster), within_s=8)
    await cluster.until(lambda: not uids(cluster) & first, within_s=2)
    anew = uids(cluster)
    await cluster.stays(lambda: cluster.count(GROUP, gated=True) == 3 and uids(cluster) == anew, for_s=120)
    cluster.edit(NODES, lost, {"spec": {"unschedulable": False}})
    await cluster.until(lambda: cluster.reason(GROUP) == "Scheduled", within_s=3)
    await cluster.stays(lambda: uids(cluster) == anew, for_s=120)
    child = cluster.get(BATCH_JOBS, "train")
    assert child is not None
    assert "failed" not in child["status"]


async def test_a_process_killed_while_the_gang_starts_anew_is_followed_by_one_that_goes_on(
    cluster: FakeCluster,
) -> None:
    await whole(cluster, job_as_one(3))
    first = uids(cluster)
    lost = lose(cluster)
    await cluster.until(lambda: len(uids(cluster) - first) > 1, within_s=10, every_s=0.0005)
    await cluster.operators[-1].kill()
    cluster.edit(NODES, lost, {"spec": {"unschedulable": False}})
    cluster.operator()
    await cluster.until(lambda: cluster.reason(GROUP) == "Scheduled", within_s=20)
    anew = uids(cluster)
    assert not anew & first
    await cluster.stays(lambda: uids(cluster) == anew, for_s=60)


async def test_a_member_replaced_in_time_disrupts_nobody(cluster: FakeCluster) -> None:
    await whole(cluster, job_as_one(3))
    cluster.nodes(1, first=4)
    first = uids(cluster)
    lose(cluster)
    await cluster.until(lambda: cluster.bound(GROUP) == 3, within_s=3)
    await cluster.stays(lambda: len(uids(cluster) & first) == 2, for_s=60)


async def test_bare_pods_of_a_gang_disrupted_as_one_are_left_and_the_gang_is_degraded(cluster: FakeCluster) -> None:
    await whole(cluster, podgroup("g", 3, disruptionMode={"all": {}}), *pods("g", 3), group="g")
    lose(cluster, "g")
    await cluster.until(lambda: is_degraded(cluster, "g"), within_s=8)
    left = uids(cluster, "g")
    assert len(left) == 2
    await cluster.stays(lambda: uids(cluster, "g") == left, for_s=60)


async def test_a_node_that_was_lost_with_a_member_is_not_chosen_when_it_is_back(cluster: FakeCluster) -> None:
    await whole(cluster, job("train", 3))
    gone = cluster.pods(GROUP)[0]["metadata"]["name"]
    lost = node_of(cluster.pods(GROUP)[0])
    target = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}
    target["lastTransitionTime"] = cluster.core.api.store.timestamp()
    cluster.edit(PODS, gone, {"status": {"conditions": [target]}}, subresource="status")
    cluster.delete(PODS, gone)
    await cluster.until(lambda: "avoided after refusing or losing pods" in cluster.condition(GROUP)["message"])
    await cluster.stays(lambda: cluster.bound(GROUP) == 2, for_s=60)
    cluster.nodes(1, first=4)
    await cluster.until(lambda: cluster.bound(GROUP) == 3, within_s=2)
    assert lost not in {node_of(one) for one in cluster.pods(GROUP)}


async def test_g8_a_replacement_is_not_let_go_onto_the_node_that_failed(cluster: FakeCluster) -> None:
    await whole(cluster, job("train", 3))
    gone = cluster.pods(GROUP)[0]
    away = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    cluster.edit(NODES, node_of(gone), away, subresource="status")
    cluster.delete(PODS, gone["metadata"]["name"])
    await cluster.until(lambda: cluster.reason(GROUP) == "Unschedulable", within_s=2)
    assert cluster.count(GROUP, gated=True) == 1
    cluster.nodes(1, first=4)
    await cluster.until(lambda: cluster.bound(GROUP) == 3, within_s=2)
    assert node_of(gone) not in {node_of(one) for one in cluster.pods(GROUP)}
