"""After the lift, in a whole cluster: repair, taking back, and what is left of it after a restart."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.fakes.apiserver import Refuse, on
from tests.fakes.apiserver.refusals import internal_error, too_many_requests
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import job, node, node_of, nominated, pod, podgroup, pods

from ganglift.kube.resources import BATCH_JOBS, JOBS, NODES, POD_GROUPS, PODS, REPLICA_SETS


async def lifted(cluster: FakeCluster, *manifests: dict[str, Any], group: str = "g", count: int = 2) -> None:
    """Let a gang be lifted, and keep the scheduler from acting on it."""
    cluster.scheduler.stop()
    cluster.add(*manifests)
    await cluster.until(lambda: cluster.count(group, gated=False) == count)


def never() -> dict[str, Any]:
    return {"priorityClassName": "meek"}


@pytest.fixture
async def meek(cluster: FakeCluster) -> FakeCluster:
    """With a class of pods that may not preempt."""
    cluster.priority_class("meek", 0, preempts=False)
    return cluster


# Repair


async def test_a_member_whose_room_was_taken_gets_another_place(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    await lifted(cluster, podgroup("g", 2), *pods("g", 2))
    taken = nominated(cluster.pods("g")[0])
    cluster.add(pod("thief"))
    cluster.bind("thief", taken)
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=3)


async def test_a_member_that_keeps_a_nomination_in_vain_gets_another_place(meek: FakeCluster) -> None:
    meek.nodes(3)
    meek.operator()
    await lifted(meek, podgroup("g", 2), *pods("g", 2, **never()))
    taken = nominated(meek.pods("g")[0])
    meek.add(pod("thief"))
    meek.bind("thief", taken)
    meek.scheduler.go_on()
    await meek.until(lambda: meek.bound("g") == 2, within_s=10)


async def test_a_member_whose_node_goes_gets_another_place(meek: FakeCluster) -> None:
    meek.nodes(3)
    meek.operator()
    await lifted(meek, podgroup("g", 2), *pods("g", 2, **never()))
    meek.delete(NODES, nominated(meek.pods("g")[0]))
    meek.scheduler.go_on()
    await meek.until(lambda: meek.bound("g") == 2, within_s=10)


async def test_a_new_process_repairs_what_the_last_one_lifted(meek: FakeCluster) -> None:
    meek.nodes(3)
    first = meek.operator()
    await lifted(meek, podgroup("g", 2), *pods("g", 2, **never()))
    await first.kill()
    taken = nominated(meek.pods("g")[0])
    meek.add(pod("thief"))
    meek.bind("thief", taken)
    meek.scheduler.go_on()
    meek.operator()
    await meek.until(lambda: meek.bound("g") == 2, within_s=10)


# Taking back


async def test_a_jobs_gang_without_another_place_is_taken_back_and_nothing_is_counted(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    await lifted(cluster, job("train", 2, backoffLimit=0), group="train-workers")
    cluster.add(pod("thief"))
    cluster.bind("thief", nominated(cluster.pods("train-workers")[0]))
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.count("train-workers", gated=True) == 2, within_s=5)
    await cluster.until(lambda: cluster.reason("train-workers") in ("BackOff", "Unschedulable"), within_s=2)
    child = cluster.get(BATCH_JOBS, "train")
    assert child is not None
    assert "failed" not in child["status"]
    cluster.delete(PODS, "thief")
    await cluster.until(lambda: cluster.bound("train-workers") == 2, within_s=5)


async def test_a_jobs_gang_that_nobody_binds_is_taken_back_at_its_timeout(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    await lifted(cluster, job("train", 2, scheduleTimeoutSeconds=10), group="train-workers")
    begun = asyncio.get_running_loop().time()
    await cluster.until(lambda: cluster.count("train-workers", gated=True) == 2, within_s=20)
    assert 9 <= asyncio.get_running_loop().time() - begun <= 12
    await cluster.until(lambda: cluster.reason("train-workers") == "BackOff", within_s=1)
    assert "no member was bound for 10 s" in cluster.condition("train-workers")["message"]


async def test_l2_the_timeout_runs_on_while_the_operator_is_away(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    first = cluster.operator()
    await lifted(cluster, job("train", 2, scheduleTimeoutSeconds=20), group="train-workers")
    await first.kill()
    await asyncio.sleep(15)
    cluster.operator()
    begun = asyncio.get_running_loop().time()
    await cluster.until(lambda: cluster.count("train-workers", gated=True) == 2, within_s=20)
    assert 4 <= asyncio.get_running_loop().time() - begun <= 6


async def test_bound_members_of_a_gang_that_was_never_whole_go_too(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    await lifted(cluster, job("train", 2), group="train-workers")
    taken = nominated(cluster.pods("train-workers")[0])
    cluster.add(pod("thief"))
    cluster.bind("thief", taken)
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.count("train-workers", gated=True) == 2, within_s=5)
    assert cluster.bound("train-workers") == 0


async def test_each_attempt_that_fails_is_followed_by_a_longer_pause(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    await lifted(cluster, job("train", 2, scheduleTimeoutSeconds=5), group="train-workers")
    starts = []
    for _ in range(4):
        await cluster.until(lambda: cluster.count("train-workers", gated=True) == 2)
        gated_at = asyncio.get_running_loop().time()
        await cluster.until(lambda: cluster.count("train-workers", gated=False) == 2)
        starts.append(asyncio.get_running_loop().time() - gated_at)
    assert [round(pause) for pause in starts] == [1, 2, 4, 8]


async def test_members_of_other_owners_are_evicted(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "rs", "namespace": "default"}}
    (owner,) = cluster.add(body | {"spec": {}})
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": owner["metadata"]["uid"]}
    members = pods("g", 2)
    for one in members:
        one["metadata"]["ownerReferences"] = [reference | {"controller": True}]
    await lifted(cluster, podgroup("g", 2, scheduleTimeoutSeconds=5), *members)
    await cluster.until(lambda: cluster.pods("g") == [], within_s=10)
    assert any(seen.subresource == "eviction" for seen in cluster.core.writes)
    assert cluster.get(REPLICA_SETS, "rs") is not None


async def test_an_eviction_that_is_put_off_is_asked_for_ever_more_seldom(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    refusal = too_many_requests("not now", causes=[{"reason": "DisruptionBudget", "message": "no"}])
    evictions = on("create", PODS, subresource="eviction")
    cluster.core.faults.add(evictions, Refuse(refusal), times=None)
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "x", "controller": True}
    cluster.core.collector.stopped = True
    members = pods("g", 2)
    for one in members:
        one["metadata"]["ownerReferences"] = [reference]
    await lifted(cluster, podgroup("g", 2, scheduleTimeoutSeconds=5), *members)
    cluster.auditor.slack_s = 1000
    await asyncio.sleep(125)
    asked = sum(1 for seen in cluster.core.seen if evictions(seen))
    assert 2 <= asked <= 2 * 9


# Pods without an owner


async def test_bare_pods_that_cannot_be_bound_are_left_and_named(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    await lifted(cluster, podgroup("g", 2, scheduleTimeoutSeconds=5), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "Stuck", within_s=10)
    assert "g-0, g-1; delete and create them with their gate" in cluster.condition("g")["message"]
    assert len(cluster.pods("g")) == 2


async def test_a_stuck_gang_costs_nothing(cluster: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    cluster.nodes(2)
    cluster.operator()
    await lifted(cluster, podgroup("g", 2, scheduleTimeoutSeconds=5), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "Stuck", within_s=10)
    await asyncio.sleep(1)
    written, logged = len(cluster.core.writes), len(caplog.records)
    await asyncio.sleep(300)
    assert len(cluster.core.writes) == written
    assert len(caplog.records) == logged


async def test_a_stuck_gang_becomes_whole_when_there_is_room_again(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    await lifted(cluster, podgroup("g", 2, scheduleTimeoutSeconds=5), *pods("g", 2))
    cluster.add(pod("thief"))
    cluster.bind("thief", nominated(cluster.pods("g")[0]))
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.reason("g") == "Stuck", within_s=10)
    cluster.add(node("n3"))
    await cluster.until(lambda: cluster.reason("g") == "Scheduled", within_s=20)


# Members that come and go on the way


async def test_a_loose_member_without_a_place_keeps_the_others_gated(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(podgroup("g", 3, scheduleTimeoutSeconds=30), *pods("g", 3))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    cluster.edit(PODS, "g-0", {"spec": {"nodeSelector": {"no": "such"}}})
    cluster.edit(PODS, "g-0", {"spec": {"schedulingGates": None}})
    cluster.add(node("n3"))
    cluster.auditor.findings.clear()  # the gate was removed by hand
    await cluster.stays(lambda: cluster.count("g", gated=True) == 2, for_s=60)


async def test_a_gang_that_lost_a_member_on_the_way_says_that_it_settles(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    await lifted(cluster, podgroup("g", 2, scheduleTimeoutSeconds=60), *pods("g", 2))
    cluster.delete(PODS, "g-1")
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 1)
    await cluster.until(lambda: cluster.reason("g") == "Settling", within_s=2)
    assert cluster.condition("g")["message"] == "1 of 2 members bound: 1 of 2 pods exist"
    cluster.add(pod("g-2", "g"))
    await cluster.until(lambda: cluster.reason("g") == "Scheduled", within_s=5)


async def test_a_gang_that_lacks_room_for_its_rest_says_that_it_settles(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    await lifted(cluster, podgroup("g", 2, scheduleTimeoutSeconds=60), *pods("g", 2))
    cluster.delete(NODES, nominated(cluster.pods("g")[1]))
    cluster.delete(PODS, "g-1")
    cluster.add(pod("g-2", "g"))
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 1)
    await cluster.until(lambda: cluster.reason("g") == "Settling", within_s=3)
    assert "0 of 1" in cluster.condition("g")["message"]


# A gang that was whole


async def whole(cluster: FakeCluster, nodes: int = 3) -> None:
    cluster.nodes(nodes)
    cluster.operator()
    cluster.add(job("train", 2))
    await cluster.until(lambda: cluster.reason("train-workers") == "Scheduled")


async def test_a_lost_member_is_replaced_at_once(cluster: FakeCluster) -> None:
    await whole(cluster)
    cluster.delete(PODS, cluster.pods("train-workers")[0]["metadata"]["name"])
    await cluster.until(lambda: cluster.bound("train-workers") == 1)
    await cluster.until(lambda: cluster.bound("train-workers") == 2, within_s=2)


async def test_what_is_bound_of_a_gang_that_was_whole_stays(cluster: FakeCluster) -> None:
    await whole(cluster, nodes=2)
    kept, lost = cluster.pods("train-workers")
    cluster.edit(NODES, node_of(lost), {"spec": {"unschedulable": True}})
    cluster.delete(PODS, lost["metadata"]["name"])
    await cluster.until(lambda: cluster.condition("train-workers", "Degraded").get("status") == "True", within_s=20)
    await cluster.stays(lambda: cluster.get(PODS, kept["metadata"]["name"]), for_s=120)
    cluster.edit(NODES, node_of(lost), {"spec": {"unschedulable": False}})
    await cluster.until(lambda: cluster.reason("train-workers") == "Scheduled", within_s=3)


async def test_a_replacement_that_finds_no_place_is_taken_back_alone(cluster: FakeCluster) -> None:
    await whole(cluster, nodes=2)
    kept, lost = cluster.pods("train-workers")
    cluster.scheduler.stop()
    cluster.delete(PODS, lost["metadata"]["name"])
    await cluster.until(lambda: cluster.count("train-workers", gated=False, bound=False) == 1)
    cluster.add(pod("thief"))
    cluster.bind("thief", node_of(lost))
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.count("train-workers", gated=True) == 1, within_s=5)
    assert cluster.get(PODS, kept["metadata"]["name"]) is not None


# What was cut off


async def test_a_pod_detached_and_not_deleted_is_deleted_by_the_next_process(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    first = cluster.operator()
    await lifted(cluster, job("train", 2), group="train-workers")
    await first.kill()
    name = cluster.pods("train-workers")[0]["metadata"]["name"]
    mark = {"annotations": {"scheduling.ganglift.dev/taken-back": "true"}, "finalizers": None}
    cluster.edit(PODS, name, {"metadata": mark})
    cluster.operator()
    await cluster.until(lambda: cluster.get(PODS, name) is None, within_s=3)
    child = cluster.get(BATCH_JOBS, "train")
    assert child is not None
    assert "failed" not in child["status"]


async def test_a_delete_that_fails_is_tried_ever_more_seldom(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    await lifted(cluster, job("train", 2, scheduleTimeoutSeconds=5), group="train-workers")
    fault = cluster.core.faults.add(on("delete", PODS), Refuse(internal_error("a webhook is away")), times=None)
    cluster.auditor.slack_s = 1000
    await asyncio.sleep(125)
    assert 2 <= fault.struck <= 2 * 9
    cluster.core.faults.remove(fault)
    await cluster.until(lambda: cluster.count("train-workers", gated=True) == 2, within_s=70)


async def test_a_job_deleted_while_it_settles_leaves_nothing(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    await lifted(cluster, job("train", 2), group="train-workers")
    cluster.delete(JOBS, "train")
    await cluster.until(lambda: not cluster.pods("train-workers"), within_s=5)
    await cluster.until(lambda: cluster.get(POD_GROUPS, "train-workers") is None)
    await cluster.quiet(for_s=60)
