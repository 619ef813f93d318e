"""Reports from the field about starts, logs, deletion and names. Named after their ids."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from tests.fakes.apiserver import Delay, on
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import job, nominated, pod, podgroup, pods

from ganglift.kube.resources import JOBS, NODES, POD_GROUPS, PODS, Resource

GROUP = "train-workers"


@pytest.mark.parametrize("resource", [NODES, PODS], ids=["nodes", "pods"])
async def test_l4_nothing_is_decided_before_the_first_lists_are_read(cluster: FakeCluster, resource: Resource) -> None:
    cluster.nodes(2)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    cluster.core.faults.add(on("watch", resource), Delay(8.0), times=1)
    cluster.operator()
    await cluster.stays(lambda: cluster.core.writes == [], for_s=7)
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=5)


async def test_l6_a_member_whose_binding_failed_is_not_waited_for_for_ever(cluster: FakeCluster) -> None:
    async with FakeCluster(runs_scheduler=False) as stepped:
        stepped.nodes(3)
        stepped.operator()
        stepped.add(job("train", 3, scheduleTimeoutSeconds=10))
        await stepped.until(lambda: stepped.count(GROUP, gated=False) == 3)
        stepped.scheduler.read()
        while stepped.scheduler.decide():
            pass
        stepped.scheduler.writes.pop()
        while stepped.scheduler.write():
            pass
        assert stepped.bound(GROUP) == 2
        await stepped.until(lambda: stepped.count(GROUP, gated=True) == 3, within_s=15)
        stepped.scheduler.restart()
        await stepped.until(lambda: stepped.count(GROUP, gated=False) == 3)
        stepped.scheduler.work()
        assert stepped.bound(GROUP) == 3


async def test_l8_gangs_that_fit_nowhere_fill_no_log(cluster: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    cluster.nodes(1)
    cluster.operator()
    caplog.set_level("INFO")
    for number in range(50):
        cluster.add(podgroup(f"big{number}", 2), *pods(f"big{number}", 2))
    await cluster.until(lambda: all(cluster.reason(f"big{number}") == "Unschedulable" for number in range(50)))
    await asyncio.sleep(600)
    by_gang = Counter(getattr(record, "gang", "") for record in caplog.records)
    assert len(caplog.records) <= 50 * 3
    assert all(count <= 3 for gang, count in by_gang.items() if gang)


async def test_m1_a_gang_that_lacks_a_member_can_be_deleted(cluster: FakeCluster) -> None:
    cluster.nodes(4)
    cluster.operator()
    cluster.add(podgroup("g", 4), *pods("g", 3))
    await cluster.until(lambda: cluster.reason("g") == "WaitingForMembers")
    cluster.delete(POD_GROUPS, "g")
    for one in cluster.pods("g"):
        cluster.delete(PODS, one["metadata"]["name"])
    await cluster.until(lambda: not cluster.pods("g") and cluster.get(POD_GROUPS, "g") is None, within_s=5)


async def test_m4_a_job_deleted_between_reserve_and_lift_leaves_nothing_reserved(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    operator = cluster.operator()
    await operator.synced()
    cluster.add(pod("rival", gpus=9))
    await cluster.until(lambda: cluster.scheduler.pods)
    cluster.scheduler.stop()
    cluster.add(job("train", 2))
    await cluster.until(cluster.fences)
    assert [bool(nominated(one)) for one in cluster.pods(GROUP)] == [True, True]
    cluster.delete(JOBS, "train")
    await cluster.until(lambda: not cluster.pods(GROUP) and not operator.engine.cache.reserved_uids(), within_s=2)
    cluster.scheduler.go_on()
    await cluster.until(lambda: not cluster.fences(), within_s=20)


async def test_p4_the_group_alone_says_how_many_are_needed(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    members = pods("g", 4)
    for number, one in enumerate(members):
        one["metadata"]["labels"]["pod-group.scheduling.sigs.k8s.io/min-available"] = str(3 + number % 2)
    cluster.add(podgroup("g", 4), *members)
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    assert cluster.status("g")["need"] == 4
    await cluster.stays(lambda: cluster.count("g", gated=True) == 4, for_s=20)
