"""The queue: what a gang that waits is told of its place, how often, and which policy holds where."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import pod, podgroup, pods

from ganglift.kube.resources import NAMESPACES, POD_GROUPS, PODS, Resource

POLICY = "scheduling.ganglift.dev/queue-policy"


async def gangs(cluster: FakeCluster, *names: str, need: int = 2, **spec: Any) -> None:
    """Gangs made a second after one another."""
    for name in names:
        cluster.add(podgroup(name, need, **spec), *pods(name, need))
        await asyncio.sleep(1.1)


def message(cluster: FakeCluster, name: str) -> str:
    return str(cluster.condition(name).get("message", ""))


async def test_a_gang_that_waits_knows_its_place_and_who_is_ahead(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    cluster.operator()
    await gangs(cluster, "a", "b", "c", "d")
    await cluster.until(lambda: message(cluster, "d").endswith("behind default/c, default/b and 1 more"))
    assert "; place 4 of 4 in the queue, " in message(cluster, "d")


async def test_the_first_learns_that_it_is_once_the_one_ahead_is_gone(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    cluster.operator()
    await gangs(cluster, "a", "b", "c")
    await cluster.until(lambda: "place 2 of " in message(cluster, "b"))
    cluster.delete(POD_GROUPS, "a")
    await cluster.until(lambda: "first of 2 in the queue" in message(cluster, "b"))


async def test_a_gang_that_waits_alone_is_told_no_place(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    cluster.operator()
    await gangs(cluster, "a")
    await cluster.until(lambda: cluster.reason("a") == "Unschedulable")
    assert "queue" not in message(cluster, "a")


async def test_a_queue_that_moves_by_one_is_not_written_to_everyone(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    cluster.operator()
    names = [f"g{number:02}" for number in range(24)]
    await gangs(cluster, *names)
    await cluster.until(lambda: all("in the queue" in message(cluster, name) for name in names))
    before = {name: message(cluster, name) for name in names}
    cluster.delete(POD_GROUPS, "g00")
    await cluster.until(lambda: message(cluster, "g01").endswith("first of 23 in the queue"))
    await asyncio.sleep(20)
    changed = [name for name in names[1:] if message(cluster, name) != before[name]]
    assert changed == ["g01", "g02", "g03"]


async def test_a_namespaces_policy_makes_its_later_gangs_wait(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.edit(NAMESPACES, "default", {"metadata": {"annotations": {POLICY: "strict"}}})
    cluster.operator()
    cluster.add(podgroup("big", 3), *pods("big", 3))
    await cluster.until(lambda: cluster.reason("big") == "Unschedulable")
    await asyncio.sleep(1.1)
    cluster.add(podgroup("small", 1), *pods("small", 1))
    await cluster.until(lambda: "waits behind default/big" in message(cluster, "small"))
    cluster.edit(NAMESPACES, "default", {"metadata": {"annotations": {POLICY: "backfill"}}})
    await cluster.until(lambda: cluster.bound("small") == 1)


async def test_a_policy_that_does_not_exist_is_told_and_the_default_used(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    cluster.edit(NAMESPACES, "default", {"metadata": {"annotations": {POLICY: "fifo"}}})
    cluster.operator()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    words = "namespace default asks for queue policy 'fifo', there are backfill and strict; backfill is used"
    await cluster.until(lambda: words in message(cluster, "g"))


@pytest.mark.parametrize("gone", [(POD_GROUPS, "big"), (PODS, "big-0")], ids=["it is deleted", "it lacks members"])
async def test_who_waited_behind_a_gang_goes_on_when(cluster: FakeCluster, gone: tuple[Resource, str]) -> None:
    cluster.nodes(2)
    cluster.edit(NAMESPACES, "default", {"metadata": {"annotations": {POLICY: "strict"}}})
    cluster.operator()
    await gangs(cluster, "big", need=3)
    await gangs(cluster, "small", need=1)
    await cluster.until(lambda: "waits behind default/big" in message(cluster, "small"))
    cluster.delete(*gone)
    await cluster.until(lambda: cluster.bound("small") == 1, within_s=1)


async def test_figures_in_the_messages_of_many_that_wait_are_brought_up_to_date_slowly(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.add(pod("p"))
    cluster.bind("p", "n1")
    cluster.operator()
    names = [f"g{number:03}" for number in range(100)]
    for name in names:
        cluster.add(podgroup(name, 3), *pods(name, 3))
    await cluster.until(lambda: all(cluster.reason(name) == "Unschedulable" for name in names))
    await asyncio.sleep(60)
    written = len(cluster.core.writes)
    cluster.kubelets.end("p")
    await asyncio.sleep(1)
    cluster.add(pod("q"))
    cluster.bind("q", "n1")
    await asyncio.sleep(1)
    cluster.kubelets.end("q")
    await cluster.until(lambda: all("2 of 3 members fit" in message(cluster, name) for name in names), within_s=10)
    assert len(cluster.core.writes) - written <= 200
