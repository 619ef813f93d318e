"""The same over HTTP on loopback and in real time: what the other tests leave out is no source of differences."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.fakes.apiserver import Cut, Drop, on
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import job, node, pod, podgroup, pods

from ganglift.kube.client import Limits
from ganglift.kube.resources import PODS

pytestmark = pytest.mark.real_time


@pytest.fixture
async def cluster() -> AsyncIterator[FakeCluster]:
    async with FakeCluster(is_on_loopback=True) as cluster:
        yield cluster


async def test_a_gang_waits_whole_and_starts_whole(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add(job("train", 4))
    await cluster.until(lambda: cluster.reason("train-workers") == "Unschedulable", within_s=20)
    assert cluster.count("train-workers", gated=True) == 4
    cluster.add(node("n4"))
    await cluster.until(lambda: cluster.reason("train-workers") == "Scheduled", within_s=20)


async def test_a_fence_is_raised_and_answered(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    operator = cluster.operator()
    await operator.synced()
    cluster.add(pod("rival", gpus=9))
    await asyncio.sleep(0.2)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=20)
    assert operator.engine.fence.raised >= 1
    assert cluster.fences() == []


async def test_answers_cut_off_on_the_way_delay_the_gang_only(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.core.faults.add(on("patch", PODS), Drop(performed=True), times=2)
    cluster.core.faults.add(on("patch", PODS), Cut(), times=2)
    cluster.add(podgroup("g", 3), *pods("g", 3))
    await cluster.until(lambda: cluster.reason("g") == "Scheduled", within_s=30)


async def test_an_operator_killed_between_reserve_and_lift_is_followed_by_one_that_lifts(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    first = cluster.operator()
    await first.synced()
    cluster.add(pod("rival", gpus=9))
    await asyncio.sleep(0.2)
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(cluster.fences, within_s=20)
    await first.kill()
    cluster.scheduler.go_on()
    cluster.operator()
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=20)


async def test_a_gang_within_the_clients_default_rate_starts_at_once(cluster: FakeCluster) -> None:
    cluster.nodes(8, gpus=8)
    cluster.operator(limits=Limits())
    cluster.add(podgroup("g", 64), *pods("g", 64))
    await cluster.until(lambda: cluster.bound("g") == 64, within_s=20)
