"""A gang may be suspended, deleted, done or made anew at any point, and leaves nothing behind."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import job, node, nominated, pod, podgroup, pods
from tests.unit.engine.gangs import waiting

from ganglift.kube.resources import BATCH_JOBS, JOBS, POD_GROUPS


async def test_a_suspended_job_needs_nobody_and_holds_nothing(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(job("train", 2, suspend=True))
    await cluster.until(lambda: cluster.reason("train-workers") == "Suspended")
    assert cluster.pods("train-workers") == []
    cluster.edit(JOBS, "train", {"spec": {"suspend": False}})
    await cluster.until(lambda: cluster.bound("train-workers") == 2, within_s=3)


async def test_a_running_job_that_is_suspended_gives_its_room_to_others(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(job("train", 2))
    await cluster.until(lambda: cluster.bound("train-workers") == 2)
    cluster.add(job("next", 2))
    await cluster.until(lambda: cluster.reason("next-workers") == "Unschedulable")
    cluster.edit(JOBS, "train", {"spec": {"suspend": True}})
    await cluster.until(lambda: cluster.bound("next-workers") == 2, within_s=3)
    cluster.edit(JOBS, "train", {"spec": {"suspend": False}})
    await cluster.until(lambda: cluster.reason("train-workers") == "Unschedulable", within_s=3)
    await cluster.stays(lambda: cluster.bound("train-workers") == 0, for_s=30)


@pytest.mark.parametrize("until", ["exists", "is planned", "is reserved", "is lifted", "is bound"])
async def test_a_job_can_be_deleted_at_any_point(cluster: FakeCluster, until: str) -> None:
    cluster.nodes(2)
    operator = cluster.operator()
    await operator.synced()
    cluster.add(pod("rival", gpus=9))
    await asyncio.sleep(0.1)
    if until in ("is reserved", "is lifted"):
        cluster.scheduler.stop()
    cluster.add(job("train", 2))
    reached = {
        "exists": lambda: True,
        "is planned": lambda: len(cluster.pods("train-workers")) == 2,
        "is reserved": lambda: sum(1 for one in cluster.pods("train-workers") if nominated(one)) == 2,
        "is lifted": lambda: sum(1 for one in cluster.pods("train-workers") if nominated(one)) == 2,
        "is bound": lambda: cluster.bound("train-workers") == 2,
    }
    await cluster.until(reached[until], every_s=0.0002)
    if until == "is lifted":
        cluster.scheduler.go_on()
        await cluster.until(lambda: cluster.count("train-workers", gated=False) > 0, every_s=0.0002)
    cluster.delete(JOBS, "train")
    cluster.scheduler.go_on()
    await cluster.until(lambda: not cluster.pods("train-workers"), within_s=5)
    await cluster.until(lambda: cluster.get(BATCH_JOBS, "train") is None)
    cluster.add(podgroup("next", 2), *pods("next", 2))
    await cluster.until(lambda: cluster.bound("next") == 2, within_s=5)


async def test_a_group_deleted_while_it_waits_leaves_its_pods_gated(cluster: FakeCluster) -> None:
    await waiting(cluster)
    cluster.delete(POD_GROUPS, "g")
    cluster.add(node("n4"))
    await cluster.stays(lambda: cluster.count("g", gated=True) == 4, for_s=30)
    cluster.add(podgroup("g", 4))
    await cluster.until(lambda: cluster.bound("g") == 4, within_s=2)


async def test_a_group_that_is_being_deleted_starts_nobody(cluster: FakeCluster) -> None:
    await waiting(cluster)
    cluster.edit(POD_GROUPS, "g", {"metadata": {"finalizers": ["other.dev/slow"]}})
    cluster.delete(POD_GROUPS, "g")
    cluster.add(node("n4"))
    await cluster.stays(lambda: cluster.count("g", gated=True) == 4, for_s=30)


async def test_a_job_that_is_done_stays_done_and_its_room_goes_to_others(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(job("train", 2))
    await cluster.until(lambda: cluster.bound("train-workers") == 2)
    await cluster.until(lambda: all(one["status"]["phase"] == "Running" for one in cluster.pods("train-workers")))
    for one in cluster.pods("train-workers"):
        cluster.kubelets.end(one["metadata"]["name"])
    await cluster.until(lambda: cluster.reason("train-workers") == "Succeeded")
    cluster.add(podgroup("next", 2), *pods("next", 2))
    await cluster.until(lambda: cluster.bound("next") == 2, within_s=2)
    await cluster.quiet(for_s=60)
    assert cluster.reason("train-workers") == "Succeeded"


async def test_a_job_with_more_completions_than_pods_at_a_time_runs_to_its_end(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(job("train", 2, completions=5))
    for _ in range(5):
        await cluster.until(
            lambda: [one for one in cluster.pods("train-workers") if one["status"]["phase"] == "Running"]
        )
        running = [one for one in cluster.pods("train-workers") if one["status"]["phase"] == "Running"]
        cluster.kubelets.end(running[0]["metadata"]["name"])
    await cluster.until(lambda: cluster.reason("train-workers") == "Succeeded")


async def test_a_job_made_anew_at_once_counts_no_pod_of_the_old_one(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add(job("train", 3))
    await cluster.until(lambda: cluster.bound("train-workers") == 3)
    old = {one["metadata"]["uid"] for one in cluster.pods("train-workers")}
    cluster.delete(JOBS, "train")
    cluster.add(job("train", 3))
    await cluster.until(
        lambda: (
            cluster.bound("train-workers") == 3
            and not old & {one["metadata"]["uid"] for one in cluster.pods("train-workers")}
        )
    )
    await cluster.until(lambda: cluster.reason("train-workers") == "Scheduled", within_s=2)


async def test_when_all_is_done_nothing_is_written_any_more(cluster: FakeCluster) -> None:
    await waiting(cluster)
    cluster.add(job("train", 3), podgroup("b", None), *pods("b", 2, gpus=0))
    await cluster.until(lambda: cluster.bound("train-workers") == 3)
    await cluster.quiet(for_s=310, within_s=1200)
    written = len(cluster.core.writes)
    await asyncio.sleep(300)
    assert len(cluster.core.writes) == written
