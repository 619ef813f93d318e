"""Holds: a big gang gets in against a stream of small pods, what a hold may not do, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import NAMESPACE, Fate
from tests.support.manifests import is_gated, node, node_of, nominated, pod, podgroup, pods

from ganglift.base.settings import Settings
from ganglift.kube.resources import NODES, PODS

SOON = Settings(namespace=NAMESPACE, hold_after=10, hold_for=120)
LATE = Settings(namespace=NAMESPACE, hold_after=100_000, hold_for=120)


async def full(cluster: FakeCluster, nodes: int, settings: Settings = SOON, **spec: Any) -> None:
    """So many nodes of a GPU, each with pod `low-N` on node nN."""
    cluster.nodes(nodes)
    cluster.operator(settings=settings)
    for number in range(1, nodes + 1):
        cluster.add(pod(f"low-{number}", **spec))
        cluster.bind(f"low-{number}", f"n{number}")
    await cluster.until(lambda: all(one["status"]["phase"] == "Running" for one in cluster.all(PODS)))


def gang(cluster: FakeCluster, name: str, count: int, *, gpus: int = 1, **spec: Any) -> None:
    cluster.add(podgroup(name, count), *pods(name, count, gpus=gpus, **spec))


def held(cluster: FakeCluster, name: str) -> list[str]:
    """Nodes that the gated members of a gang are nominated to."""
    return sorted(nominated(one) for one in cluster.pods(name) if nominated(one) and is_gated(one))


def daemon(cluster: FakeCluster, on: str, gpus: int = 1) -> dict[str, Any]:
    """A pod that can go to one node alone and stays there, as a DaemonSet's; owned by its node, which exists here."""
    only = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [only]}}
    made = pod("daemon", gpus=gpus, affinity={"nodeAffinity": required})
    uid = (cluster.get(NODES, on) or {})["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": on, "uid": uid, "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return made


@asynccontextmanager
async def stream(cluster: FakeCluster, *, lasts_s: float, every_s: float, at_first: int) -> AsyncIterator[None]:
    """Pods of one GPU without an end: so many at first, then a new one again and again; each ends after a time."""
    loop = asyncio.get_running_loop()
    ends: dict[str, float] = {}

    async def flow() -> None:
        made = 0
        while True:
            for _ in range(at_first if not made else 1):
                cluster.add(pod(f"small-{made}"))
                made += 1
            for one in cluster.all(PODS):
                name = str(one["metadata"]["name"])
                is_running = name.startswith("small-") and one["status"]["phase"] == "Running"
                if is_running and loop.time() >= ends.setdefault(name, loop.time() + lasts_s):
                    cluster.kubelets.end(name)
            await asyncio.sleep(every_s)

    task = asyncio.create_task(flow())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.mark.parametrize("settings", [SOON, LATE], ids=["held", "not held"])
async def test_c4_a_big_gang_gets_in_against_an_endless_stream_if_room_is_held(
    cluster: FakeCluster, settings: Settings
) -> None:
    cluster.nodes(4, gpus=4)
    cluster.operator(settings=settings)
    async with stream(cluster, lasts_s=30, every_s=1, at_first=30):
        await cluster.until(lambda: sum(bool(node_of(one)) for one in cluster.all(PODS)) == 16)
        gang(cluster, "big", 8, gpus=2)
        if settings is SOON:
            await cluster.until(lambda: cluster.bound("big") == 8, within_s=10 + 2 * 30)
        else:
            await cluster.stays(lambda: cluster.bound("big") == 0, for_s=10 + 2 * 30)


async def test_room_that_comes_free_is_kept_though_others_have_waited_for_it(cluster: FakeCluster) -> None:
    await full(cluster, 2)
    gang(cluster, "g", 2)
    cluster.add(pod("other"))
    await cluster.until(lambda: cluster.reason("g") == "Held")
    message = cluster.condition("g")["message"]
    assert message.startswith("room is held on n1, n2 until 2026-11-30T12:")
    assert message.endswith(", waits for 2 pods there to end")
    await cluster.until(lambda: held(cluster, "g") == ["n1", "n2"])
    cluster.kubelets.end("low-1")
    await cluster.stays(lambda: not node_of(cluster.get(PODS, "other") or {"spec": {}}), for_s=30)
    cluster.kubelets.end("low-2")
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=2)


async def test_c1_a_gang_that_would_not_fit_on_the_empty_cluster_holds_nothing(cluster: FakeCluster) -> None:
    await full(cluster, 2)
    gang(cluster, "g", 3)
    await cluster.stays(lambda: not held(cluster, "g"), for_s=120)
    assert cluster.reason("g") == "Unschedulable"


async def test_nothing_is_held_before_the_time_has_come(cluster: FakeCluster) -> None:
    await full(cluster, 2)
    gang(cluster, "g", 2)
    await cluster.stays(lambda: not held(cluster, "g"), for_s=9)
    await cluster.until(lambda: held(cluster, "g") == ["n1", "n2"], within_s=5)


async def test_a_hold_ends_and_the_gang_waits_anew(cluster: FakeCluster) -> None:
    await full(cluster, 2)
    gang(cluster, "g", 2)
    await cluster.until(lambda: len(held(cluster, "g")) == 2)
    await asyncio.sleep(100)
    assert len(held(cluster, "g")) == 2
    await cluster.until(lambda: not held(cluster, "g"), within_s=25)
    await cluster.stays(lambda: not held(cluster, "g"), for_s=7)
    await cluster.until(lambda: len(held(cluster, "g")) == 2, within_s=10)


async def test_one_gang_of_a_priority_holds_at_a_time(cluster: FakeCluster) -> None:
    await full(cluster, 2)
    gang(cluster, "a", 1)
    await asyncio.sleep(1.1)
    gang(cluster, "b", 1)
    await cluster.until(lambda: len(held(cluster, "a")) == 1)
    await cluster.stays(lambda: not held(cluster, "b"), for_s=60)


async def test_nodes_with_lower_pods_are_not_held_unless_the_gang_may_not_preempt(cluster: FakeCluster) -> None:
    cluster.priority_class("low", -10)
    cluster.priority_class("mild", 0, preempts=False)
    await full(cluster, 1, priorityClassName="low")
    cluster.add(podgroup("g", 1, preemptionPolicy="Never"), *pods("g", 1, priorityClassName="mild"))
    await cluster.until(lambda: held(cluster, "g") == ["n1"])


async def test_r3_a_daemonset_pod_gets_its_node_and_the_gang_is_planned_anew(cluster: FakeCluster) -> None:
    cluster.add(node("n1", 2))
    cluster.operator(settings=SOON)
    cluster.add(pod("low", gpus=1))
    cluster.bind("low", "n1")
    await cluster.until(lambda: (cluster.get(PODS, "low") or {})["status"]["phase"] == "Running")
    gang(cluster, "g", 1, gpus=2)
    await cluster.until(lambda: cluster.reason("g") == "Held" and held(cluster, "g") == ["n1"])
    cluster.add(daemon(cluster, "n1"))
    await cluster.until(lambda: node_of(cluster.get(PODS, "daemon") or {"spec": {}}), within_s=15)
    await cluster.until(lambda: not held(cluster, "g") and cluster.reason("g") == "Unschedulable", within_s=70)


async def test_a_hold_that_gave_way_stands_again_once_the_daemonset_pod_has_its_place(cluster: FakeCluster) -> None:
    await full(cluster, 1)
    gang(cluster, "g", 1)
    await cluster.until(lambda: held(cluster, "g") == ["n1"])
    cluster.scheduler.stop()
    cluster.add(daemon(cluster, "n1", gpus=0))
    await cluster.until(lambda: not held(cluster, "g"), within_s=1)
    cluster.scheduler.go_on()
    await cluster.until(lambda: node_of(cluster.get(PODS, "daemon") or {"spec": {}}))
    await cluster.until(lambda: held(cluster, "g") == ["n1"], within_s=1)


async def test_a_hold_goes_with_its_node(cluster: FakeCluster) -> None:
    await full(cluster, 3)
    gang(cluster, "g", 2)
    await cluster.until(lambda: len(held(cluster, "g")) == 2)
    gone = held(cluster, "g")[0]
    cluster.delete(NODES, gone)
    await cluster.until(lambda: gone not in held(cluster, "g"), within_s=1)
    await cluster.until(lambda: len(held(cluster, "g")) == 2)


async def test_nodes_are_held_that_are_expected_to_be_free_first(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator(settings=SOON)
    for number, deadline in ((1, 9000), (2, 500), (3, 900)):
        cluster.add(pod(f"low-{number}", activeDeadlineSeconds=deadline))
        cluster.bind(f"low-{number}", f"n{number}")
    gang(cluster, "g", 2)
    await cluster.until(lambda: held(cluster, "g") == ["n2", "n3"])


async def test_a_hold_survives_the_operator_and_ends_when_it_would_have(cluster: FakeCluster) -> None:
    await full(cluster, 2)
    gang(cluster, "g", 2)
    cluster.add(pod("other"))
    await cluster.until(lambda: cluster.reason("g") == "Held" and len(held(cluster, "g")) == 2)
    until = cluster.condition("g")["message"].split()[7]
    await cluster.operators[-1].kill()
    cluster.kubelets.end("low-1")
    await asyncio.sleep(5)
    cluster.operator(settings=SOON)
    await cluster.stays(lambda: len(held(cluster, "g")) == 2, for_s=30)
    assert cluster.condition("g")["message"].split()[7] == until
    cluster.kubelets.end("low-2")
    await cluster.until(lambda: cluster.bound("g") == 2)


async def test_a_new_kube_scheduler_that_forgets_is_told_again() -> None:
    async with FakeCluster(minor=34) as cluster:
        await full(cluster, 2)
        gang(cluster, "g", 2)
        cluster.add(pod("other"))
        await cluster.until(lambda: len(held(cluster, "g")) == 2)
        cluster.scheduler.restart()
        await asyncio.sleep(2)
        cluster.kubelets.end("low-1")
        await cluster.stays(lambda: not node_of(cluster.get(PODS, "other") or {"spec": {}}), for_s=20)
        cluster.kubelets.end("low-2")
        await cluster.until(lambda: cluster.bound("g") == 2)


async def test_a_kube_scheduler_that_was_replaced_while_no_operator_ran_is_told_again() -> None:
    async with FakeCluster(minor=34) as cluster:
        await full(cluster, 2)
        gang(cluster, "g", 2)
        cluster.add(pod("other"))
        await cluster.until(lambda: len(held(cluster, "g")) == 2)
        await cluster.operators[-1].kill()
        cluster.scheduler.restart()
        cluster.operator(settings=SOON)
        await asyncio.sleep(3)
        cluster.kubelets.end("low-1")
        await cluster.stays(lambda: not node_of(cluster.get(PODS, "other") or {"spec": {}}), for_s=20)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("write", range(1, 7))
async def test_killed_at_any_write_the_next_process_holds_the_same_room(write: int, when: Any) -> None:
    async with FakeCluster() as cluster:
        await full(cluster, 3)
        await cluster.operators[-1].kill()
        gang(cluster, "g", 2)
        cluster.add(pod("other"))
        cluster.operator(settings=SOON, fate=Fate(at=write, when=when))
        await asyncio.sleep(15)
        await cluster.operators[-1].kill()
        before = held(cluster, "g")
        cluster.operator(settings=SOON)
        await cluster.until(lambda: len(held(cluster, "g")) == 2, within_s=20)
        assert set(before) <= set(held(cluster, "g"))
        for node_name in held(cluster, "g"):
            cluster.kubelets.end(f"low-{node_name[1:]}")
            await asyncio.sleep(1)
        await cluster.until(lambda: cluster.bound("g") == 2)
        assert not node_of(cluster.get(PODS, "other") or {"spec": {}})


async def test_more_reservations_than_allowed_are_not_held(cluster: FakeCluster) -> None:
    await full(cluster, 2, Settings(namespace=NAMESPACE, hold_after=10, max_reserved=1))
    gang(cluster, "g", 2)
    await cluster.stays(lambda: not held(cluster, "g"), for_s=60)


async def test_a_standing_hold_writes_nothing(cluster: FakeCluster) -> None:
    await full(cluster, 2, Settings(namespace=NAMESPACE, hold_after=10))
    gang(cluster, "g", 2)
    await cluster.until(lambda: len(held(cluster, "g")) == 2)
    await cluster.quiet(for_s=200, within_s=300)


async def test_the_hold_is_moved_to_nodes_that_turn_out_to_be_free_sooner(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator(settings=Settings(namespace=NAMESPACE, hold_after=10))
    for number, deadline in ((1, 9000), (2, 500), (3, 900)):
        cluster.add(pod(f"low-{number}", activeDeadlineSeconds=deadline))
        cluster.bind(f"low-{number}", f"n{number}")
    gang(cluster, "g", 1)
    await cluster.until(lambda: held(cluster, "g") == ["n2"])
    cluster.edit(PODS, "low-3", {"spec": {"activeDeadlineSeconds": 100}})
    await cluster.until(lambda: held(cluster, "g") == ["n3"], within_s=75)


async def test_a_smaller_gang_still_passes_where_there_is_room_for_it(cluster: FakeCluster) -> None:
    await full(cluster, 2)
    gang(cluster, "g", 2)
    await cluster.until(lambda: len(held(cluster, "g")) == 2)
    cluster.add(node("n3"))
    gang(cluster, "small", 1)
    await cluster.until(lambda: cluster.bound("small") == 1)
    assert len(held(cluster, "g")) == 2


async def test_a_gang_that_waits_behind_another_is_not_planned_again_and_again_for_a_hold(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    settings = Settings(namespace=NAMESPACE, hold_after=1, queue_policy="strict", backoff_base=60)
    operator = cluster.operator(settings=settings)
    gang(cluster, "big", 3)
    await asyncio.sleep(1.1)
    gang(cluster, "small", 1)
    await cluster.until(lambda: "waits behind default/big" in cluster.condition("small").get("message", ""))
    await asyncio.sleep(40)
    plans = operator.engine.tally.plans.counts.total()
    await asyncio.sleep(60)
    assert operator.engine.tally.plans.counts.total() - plans <= 5
