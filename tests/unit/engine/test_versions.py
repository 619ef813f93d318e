"""What differs between the versions of Kubernetes, as the fake kube-scheduler shows it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import node_of, pod, podgroup, pods

from ganglift.kube.resources import PODS


@pytest.fixture(params=[34, 37])
async def cluster(request: pytest.FixtureRequest) -> AsyncIterator[FakeCluster]:
    async with FakeCluster(minor=request.param) as cluster:
        yield cluster


async def test_a_nomination_that_1_34_leaves_on_bound_pods_is_no_second_place(cluster: FakeCluster) -> None:
    cluster.nodes(4)
    cluster.operator()
    cluster.add(podgroup("a", 2), *pods("a", 2))
    await cluster.until(lambda: cluster.reason("a") == "Scheduled")
    cluster.add(podgroup("b", 2), *pods("b", 2))
    await cluster.until(lambda: cluster.reason("b") == "Scheduled", within_s=2)
    await cluster.quiet()


async def test_a_scheduler_that_takes_over_between_reserve_and_lift_is_told_again(cluster: FakeCluster) -> None:
    """1.34 then knows nothing of the reservation, and gives the room to the first who asks."""
    cluster.nodes(2)
    operator = cluster.operator()
    await operator.synced()
    cluster.add(pod("rival", gpus=9))
    cluster.scheduler.work()
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(cluster.fences)
    cluster.scheduler.restart()
    cluster.add(pod("late"))
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.reason("g") in ("Scheduled", "Unschedulable"), within_s=10)
    await cluster.quiet()
    has_late = bool(node_of(cluster.get(PODS, "late") or {}))
    assert (cluster.bound("g"), has_late) in ((2, False), (0, True))
