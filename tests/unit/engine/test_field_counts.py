"""Reports from the field about counting: what is on its way, what is leaving, what is over. Named after their ids."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.fakecluster import FakeCluster
from tests.support.manifests import job, node_of, podgroup, pods

from ganglift.kube.resources import POD_GROUPS, PODS

SLOW = ["example.com/slow-to-stop"]


def slow_to_stop(members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pods that stay while they are being deleted, until `let_go`."""
    for one in members:
        one["metadata"]["finalizers"] = SLOW
    return members


def let_go(cluster: FakeCluster, *names: str) -> None:
    for name in names:
        cluster.edit(PODS, name, {"metadata": {"finalizers": None}})


async def bound(cluster: FakeCluster, name: str, count: int) -> None:
    """Let a gang of that size start, whose pods take their time to stop."""
    cluster.add(podgroup(name, count), *slow_to_stop(pods(name, count)))
    await cluster.until(lambda: cluster.reason(name) == "Scheduled")


async def test_e7_what_was_let_go_before_a_restart_counts_after_it(cluster: FakeCluster) -> None:
    cluster.nodes(4)
    first = cluster.operator()
    cluster.scheduler.stop()
    cluster.add(podgroup("a", 4), *pods("a", 4))
    await cluster.until(lambda: cluster.count("a", gated=False) == 4)
    await first.kill()
    cluster.add(podgroup("b", 4), *pods("b", 4))
    cluster.operator()
    await cluster.until(lambda: cluster.reason("b") == "Unschedulable", within_s=5)
    await cluster.stays(lambda: cluster.count("b", gated=True) == 4, for_s=20)
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("a") == 4, within_s=5)
    assert cluster.count("b", gated=True) == 4


async def test_f3_pods_that_are_still_being_stopped_keep_their_room(cluster: FakeCluster) -> None:
    cluster.nodes(1, gpus=8)
    cluster.operator()
    await bound(cluster, "a", 8)
    cluster.delete(POD_GROUPS, "a")
    for one in cluster.pods("a"):
        cluster.delete(PODS, one["metadata"]["name"])
    cluster.add(podgroup("b", 8), *pods("b", 8))
    await cluster.until(lambda: cluster.reason("b") == "Unschedulable", within_s=2)
    await cluster.stays(lambda: cluster.count("b", gated=True) == 8, for_s=120)
    let_go(cluster, *(f"a-{number}" for number in range(8)))
    await cluster.until(lambda: cluster.bound("b") == 8, within_s=2)


async def test_f4_the_replacement_of_a_deleted_member_starts_with_the_rest(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    cluster.operator()
    cluster.add(podgroup("g", 2), *slow_to_stop(pods("g", 2)))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    cluster.delete(PODS, "g-0")
    await cluster.until(lambda: cluster.reason("g") == "WaitingForMembers", within_s=2)
    cluster.add(*pods("g", 1, first=2))
    cluster.nodes(1, first=2)
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=2)
    assert {one["metadata"]["name"] for one in cluster.pods("g") if node_of(one)} == {"g-1", "g-2"}
    assert cluster.status("g")["members"] == 2


async def test_f7_a_gang_that_is_over_asks_for_nothing_once_its_pods_are_gone(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: all(one["status"]["phase"] == "Running" for one in cluster.pods("g")))
    for one in cluster.pods("g"):
        cluster.kubelets.end(one["metadata"]["name"])
    await cluster.until(lambda: cluster.reason("g") == "Succeeded")
    for one in cluster.pods("g"):
        cluster.delete(PODS, one["metadata"]["name"])
    await cluster.stays(lambda: cluster.reason("g") == "Succeeded", for_s=60)
    assert cluster.status("g").get("reserved", 0) == 0


async def test_f9_one_member_made_anew_starts_at_once(cluster: FakeCluster) -> None:
    cluster.nodes(10)
    cluster.operator()
    cluster.add(job("train", 10))
    await cluster.until(lambda: cluster.reason("train-workers") == "Scheduled")
    cluster.delete(PODS, cluster.pods("train-workers")[3]["metadata"]["name"])
    await cluster.until(lambda: cluster.bound("train-workers") == 9)
    await cluster.until(lambda: cluster.bound("train-workers") == 10, within_s=2)


async def test_f12_after_the_start_a_newcomer_is_admitted_against_who_runs(cluster: FakeCluster) -> None:
    cluster.nodes(5)
    cluster.operator()
    cluster.add(podgroup("g", 3), *pods("g", 5))
    await cluster.until(lambda: cluster.bound("g") == 5)
    for name in ("g-0", "g-1", "g-2"):
        cluster.delete(PODS, name)
    await cluster.until(lambda: cluster.bound("g") == 2)
    cluster.add(*pods("g", 1, first=5))
    await cluster.until(lambda: cluster.bound("g") == 3, within_s=2)
    await cluster.until(lambda: cluster.reason("g") == "Scheduled", within_s=2)


async def test_r21_a_new_generation_starts_on_the_room_of_the_dying_one_before_who_came_later(
    cluster: FakeCluster,
) -> None:
    cluster.nodes(2)
    cluster.operator()
    await bound(cluster, "g", 2)
    await asyncio.sleep(1)
    cluster.add(podgroup("later", 2), *pods("later", 2))
    await cluster.until(lambda: cluster.reason("later") == "Unschedulable")
    for one in cluster.pods("g"):
        cluster.delete(PODS, one["metadata"]["name"])
    cluster.add(*pods("g", 2, first=2))
    await cluster.stays(lambda: cluster.status("g")["members"] <= 2, for_s=5)
    let_go(cluster, "g-0")
    await cluster.stays(lambda: cluster.count("g", gated=True) == 2, for_s=5)
    let_go(cluster, "g-1")
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=2)
    assert cluster.count("later", gated=True) == 2
