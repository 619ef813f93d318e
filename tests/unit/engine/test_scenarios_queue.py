"""Situations from the field: gangs that compete, held room, preemptors that are not ours."""

from __future__ import annotations

import asyncio

from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import NAMESPACE
from tests.support.manifests import is_gated, node_of, nominated, pod, podgroup, pods

from ganglift.base.settings import Settings
from ganglift.kube.resources import NODES, PODS


async def test_b1_sixty_gangs_on_two_nodes_are_whole_at_any_time_and_all_finish(cluster: FakeCluster) -> None:
    cluster.nodes(2, gpus=8)
    cluster.operator()
    sizes = {f"g{number:02}": number % 8 + 1 for number in range(60)}
    for name, size in sizes.items():
        cluster.add(podgroup(name, size), *pods(name, size))

    ended: set[str] = set()
    partial_since: dict[str, float] = {}
    loop = asyncio.get_running_loop()
    while len(ended) < len(sizes):
        await asyncio.sleep(0.25)
        for name, size in sizes.items():
            if name in ended:
                continue
            bound = cluster.bound(name)
            if 0 < bound < size:
                assert loop.time() - partial_since.setdefault(name, loop.time()) < 2
            else:
                partial_since.pop(name, None)
            if bound == size:
                ended.add(name)
                for one in cluster.pods(name):
                    cluster.kubelets.end(one["metadata"]["name"])
        assert loop.time() < 1000


async def test_c2_an_impossible_gang_stops_nobody_and_is_no_flood(cluster: FakeCluster) -> None:
    cluster.nodes(10)
    operator = cluster.operator()
    cluster.add(podgroup("huge", 100), *pods("huge", 100))
    for number in range(20):
        cluster.add(podgroup(f"g{number}", 1), *pods(f"g{number}", 1))
    await cluster.until(lambda: sum(cluster.bound(f"g{number}") for number in range(20)) == 10)
    await asyncio.sleep(60)
    assert len([reason for reason in operator.announcer.reasons("huge") if reason == "Unschedulable"]) <= 2
    await cluster.quiet(for_s=60)


async def test_c7_a_pod_that_comes_when_the_last_node_is_free_waits_for_the_hold(cluster: FakeCluster) -> None:
    cluster.nodes(4)
    cluster.operator(settings=Settings(namespace=NAMESPACE, hold_after=5))
    for number in (1, 2, 3):
        cluster.add(pod(f"low-{number}"))
        cluster.bind(f"low-{number}", f"n{number}")
    cluster.add(podgroup("g", 4), *pods("g", 4))
    await cluster.until(lambda: cluster.reason("g") == "Held")
    await cluster.until(lambda: sum(bool(nominated(one)) for one in cluster.pods("g")) == 4)
    for number in (1, 2):
        cluster.kubelets.end(f"low-{number}")
    cluster.add(pod("plain"))
    await cluster.stays(lambda: cluster.count("g", gated=True) == 4, for_s=30)
    assert not node_of(cluster.get(PODS, "plain") or {"spec": {}})
    cluster.kubelets.end("low-3")
    await cluster.until(lambda: cluster.bound("g") == 4)


async def test_c10_heartbeats_of_500_nodes_plan_no_impossible_gang_again(cluster: FakeCluster) -> None:
    cluster.nodes(500)
    operator = cluster.operator()
    for number in range(20):
        cluster.add(podgroup(f"no-{number}", 2), *pods(f"no-{number}", 2, gpus=2))
    cluster.add(podgroup("big", 2), *pods("big", 2, gpus=2))
    await cluster.until(lambda: cluster.reason("big") == "Unschedulable")
    version = operator.engine.cache.books.version
    for number in range(1, 501):
        cluster.edit(NODES, f"n{number}", {"metadata": {"annotations": {"heartbeat": "1"}}})
    await asyncio.sleep(1)
    assert operator.engine.cache.books.version == version
    cluster.add(podgroup("good", 2), *pods("good", 2))
    await cluster.until(lambda: cluster.bound("good") == 2, within_s=1)


async def test_e6_of_two_replacements_for_one_place_exactly_one_gets_it(cluster: FakeCluster) -> None:
    cluster.nodes(4)
    cluster.operator()
    for name in "ab":
        cluster.add(podgroup(name, 2), *pods(name, 2))
    await cluster.until(lambda: cluster.bound("a") == cluster.bound("b") == 2)
    nodes = sorted(node_of(cluster.get(PODS, name) or {}) for name in ("a-0", "b-0"))
    cluster.edit(NODES, nodes[0], {"spec": {"unschedulable": True}})
    for name in ("a-0", "b-0"):
        cluster.delete(PODS, name)
    cluster.add(pod("a-2", "a"), pod("b-2", "b"))
    await cluster.until(lambda: cluster.bound("a") + cluster.bound("b") == 3)
    await cluster.stays(lambda: cluster.bound("a") + cluster.bound("b") == 3, for_s=60)
    assert sum(is_gated(one) for name in "ab" for one in cluster.pods(name)) == 1


async def test_r1_a_preemptor_wipes_a_reservation_and_nobody_is_let_loose(cluster: FakeCluster) -> None:
    cluster.priority_class("top", 100)
    cluster.nodes(2, gpus=2)
    cluster.operator(settings=Settings(namespace=NAMESPACE, hold_after=5))
    for name, on, gpus in (("low", "n1", 1), ("other", "n2", 2)):
        cluster.add(pod(name, gpus=gpus))
        cluster.bind(name, on)
    cluster.add(podgroup("g", 2), *pods("g", 2, gpus=1))
    await cluster.until(lambda: sum(bool(nominated(one)) for one in cluster.pods("g")) == 2)
    cluster.add(pod("top", gpus=2, priorityClassName="top"))
    await cluster.until(lambda: node_of(cluster.get(PODS, "top") or {"spec": {}}))
    await asyncio.sleep(2)
    assert cluster.count("g", gated=True) == 2
    on_tops = node_of(cluster.get(PODS, "top") or {})
    await cluster.until(lambda: all(nominated(one) != on_tops for one in cluster.pods("g")))
    assert cluster.reason("g") in ("Held", "Unschedulable")


async def test_c13_a_replacement_goes_before_a_filler_that_waits_for_the_same_node(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.bound("g") == 2)
    await asyncio.sleep(1.1)
    cluster.add(podgroup("filler", 1), *pods("filler", 1))
    await cluster.until(lambda: cluster.reason("filler") == "Unschedulable")
    drained = node_of(cluster.get(PODS, "g-1") or {})
    cluster.edit(NODES, drained, {"spec": {"unschedulable": True}})
    cluster.delete(PODS, "g-1")
    cluster.add(pod("g-2", "g"))
    await asyncio.sleep(10)
    assert cluster.condition("g", "Degraded")["status"] == "True"
    cluster.edit(NODES, drained, {"spec": {"unschedulable": None}})
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=2)
    assert not cluster.bound("filler")


async def test_r8_a_low_pod_that_slips_in_before_the_lift_goes_for_the_whole_gang(cluster: FakeCluster) -> None:
    cluster.priority_class("high", 100)
    cluster.nodes(2)
    cluster.operator()
    cluster.scheduler.stop()
    cluster.add(pod("any", gpus=0))
    cluster.add(podgroup("g", 2), *pods("g", 2, priorityClassName="high"))
    await cluster.until(lambda: cluster.reason("g") == "Reserved")
    cluster.add(pod("low"))
    cluster.bind("low", "n2")
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 2)
    assert cluster.get(PODS, "low") is None
    assert all(one["metadata"]["name"] in ("g-0", "g-1") for one in cluster.pods("g"))
