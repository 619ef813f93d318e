"""Preemption by a gang: whole or not at all, room kept while victims leave, nothing frozen, nothing twice."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
from tests.fakes.apiserver import Refuse
from tests.fakes.apiserver.refusals import internal_error
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import Fate
from tests.support.manifests import job, node, node_of, pod, podgroup, pods

from ganglift.kube.resources import BATCH_JOBS, POD_DISRUPTION_BUDGETS, PODS

SLOW = "example.com/slow"


async def prepared(cluster: FakeCluster, nodes: int = 2, gpus: int = 1) -> None:
    """Classes `low` of 0 and `high` of 100, whose pods don't preempt by themselves; so many nodes, an operator."""
    cluster.priority_class("low", 0)
    cluster.priority_class("high", 100, preempts=False)
    cluster.priority_class("higher", 200, preempts=False)
    cluster.nodes(nodes, gpus=gpus)
    cluster.operator()


async def low(
    cluster: FakeCluster, name: str, *, gpus: int = 1, on: str = "", is_slow: bool = False, **spec: Any
) -> None:
    """A bound pod of no priority; a slow one is told to go and stays until its finalizer is taken off."""
    manifest = pod(name, gpus=gpus, priorityClassName="low", **spec)
    manifest["metadata"]["labels"] = {"app": name}
    if is_slow:
        manifest["metadata"]["finalizers"] = [SLOW]
    cluster.add(manifest)
    if on:
        cluster.bind(name, on)
    await cluster.until(lambda: node_of(cluster.get(PODS, name) or {"spec": {}}))
    await cluster.until(lambda: (cluster.get(PODS, name) or {})["status"]["phase"] == "Running")


def high(cluster: FakeCluster, name: str, count: int, *, gpus: int = 1, of: str = "high", **spec: Any) -> None:
    cluster.add(podgroup(name, count, **spec), *pods(name, count, gpus=gpus, priorityClassName=of))


def leaves(cluster: FakeCluster, name: str) -> bool:
    return "deletionTimestamp" in (cluster.get(PODS, name) or {"metadata": {"deletionTimestamp": ""}})["metadata"]


def let_go(cluster: FakeCluster, name: str) -> None:
    """Let a slow pod be gone."""
    cluster.edit(PODS, name, {"metadata": {"finalizers": None}})


def told(cluster: FakeCluster, name: str) -> list[tuple[str, str]]:
    return [(reason, message) for who, reason, message in cluster.operators[-1].announcer.said if who == name]


async def test_d5_one_low_pod_that_fills_the_node_gives_way_to_a_gang_of_two(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=1, gpus=8)
    await low(cluster, "a", gpus=8)
    high(cluster, "g", 2, gpus=2)
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=2)
    assert cluster.get(PODS, "a") is None
    assert told(cluster, "a") == [("Preempted", "evicted so that gang default/g of priority 100 fits")]


async def test_d3_nobody_is_evicted_where_the_whole_gang_would_still_not_fit(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=2, gpus=2)
    for name, on in (("a", "n1"), ("b", "n1"), ("c", "n2")):
        await low(cluster, name, on=on)
    cluster.add(pod("equal", priorityClassName="high"))
    cluster.bind("equal", "n2")
    await cluster.until(lambda: node_of(cluster.get(PODS, "equal") or {"spec": {}}))
    high(cluster, "g", 4)
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    await cluster.stays(lambda: not any(leaves(cluster, name) for name in "abc"), for_s=90)


async def test_d1_a_group_of_higher_priority_than_its_pods_is_no_victim(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=1, gpus=2)
    cluster.add(podgroup("running", 2, priority=1000), *pods("running", 2, priorityClassName="low"))
    await cluster.until(lambda: cluster.bound("running") == 2)
    high(cluster, "g", 2)
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    await cluster.stays(lambda: cluster.bound("running") == 2, for_s=90)


async def test_a_gang_whose_preemption_policy_is_never_evicts_nobody(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=1)
    await low(cluster, "a")
    high(cluster, "g", 1, preemptionPolicy="Never")
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    await cluster.stays(lambda: not leaves(cluster, "a"), for_s=90)


async def test_d7_room_of_the_first_victim_is_kept_until_the_second_is_gone(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=2)
    await low(cluster, "quick", on="n1")
    await low(cluster, "slow", on="n2", is_slow=True)
    high(cluster, "g", 2)
    await cluster.until(lambda: cluster.get(PODS, "quick") is None and leaves(cluster, "slow"))
    cluster.add(pod("again", priorityClassName="low"), pod("equal", priorityClassName="high"))
    waits = "1 pod leaves for it, room is reserved on n1, n2"
    await cluster.until(lambda: cluster.condition("g")["message"] == waits)
    others = ("again", "equal")
    await cluster.stays(lambda: not any(node_of(cluster.get(PODS, name) or {"spec": {}}) for name in others), for_s=60)
    let_go(cluster, "slow")
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=2)


async def test_no_second_round_begins_while_victims_leave(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=2)
    await low(cluster, "a", on="n1", is_slow=True)
    await low(cluster, "b", on="n2", is_slow=True)
    high(cluster, "g", 1)
    await cluster.until(lambda: leaves(cluster, "a") or leaves(cluster, "b"))
    await cluster.stays(lambda: leaves(cluster, "a") != leaves(cluster, "b"), for_s=120)
    let_go(cluster, "a" if leaves(cluster, "a") else "b")
    await cluster.until(lambda: cluster.bound("g") == 1)


async def test_the_reservations_stand_before_anybody_is_evicted(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=2)
    await low(cluster, "a", on="n1")
    await low(cluster, "b", on="n2")
    high(cluster, "g", 2)
    await cluster.until(lambda: cluster.bound("g") == 2)
    done = [seen.subresource for seen in cluster.core.writes if seen.name in ("g-0", "g-1", "a", "b")]
    assert done[done.index("eviction") - 2 :][:4] == ["status", "status", "eviction", "eviction"]


async def test_d9_an_eviction_that_fails_is_tried_again(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=1)
    await low(cluster, "a")
    cluster.core.faults.add(lambda seen: seen.subresource == "eviction", Refuse(internal_error("no")), times=3)
    high(cluster, "g", 1)
    await cluster.until(lambda: "can't be evicted" in cluster.condition("g").get("message", ""))
    await cluster.until(lambda: cluster.bound("g") == 1, within_s=30)


async def test_a_budget_that_forbids_the_only_eviction_is_waited_for(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=1)
    await low(cluster, "a")
    cluster.add(budget("a", allowed=0))
    high(cluster, "g", 1)
    await cluster.until(lambda: "disruption budget" in cluster.condition("g").get("message", ""))
    await cluster.stays(lambda: not leaves(cluster, "a"), for_s=60)
    cluster.edit(POD_DISRUPTION_BUDGETS, "a", {"status": {"disruptionsAllowed": 1}}, subresource="status")
    await cluster.until(lambda: cluster.bound("g") == 1, within_s=40)


async def test_a_pod_under_a_budget_is_spared_where_another_will_do(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=2)
    await low(cluster, "a", on="n1")
    await low(cluster, "b", on="n2")
    cluster.add(budget("a", allowed=0))
    await asyncio.sleep(1)
    high(cluster, "g", 1)
    await cluster.until(lambda: cluster.bound("g") == 1)
    assert cluster.get(PODS, "b") is None


async def test_a_gang_disrupted_as_one_goes_as_one_and_comes_back_gated_and_uncounted(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=2, gpus=2)
    whole: dict[str, Any] = {"scheduling": {"schedulingPolicy": {"gang": {}}, "disruptionMode": {"all": {}}}}
    cluster.add(job("train", 4, backoffLimit=0, pod_spec={"priorityClassName": "low"}, **whole))
    await cluster.until(lambda: cluster.bound("train-workers") == 4)
    high(cluster, "g", 1)
    await cluster.until(lambda: cluster.bound("g") == 1)
    await cluster.until(lambda: cluster.count("train-workers", gated=True) == 4)
    child = cluster.get(BATCH_JOBS, "train") or {}
    assert not child["status"].get("failed")
    assert cluster.bound("train-workers") == 0


async def test_of_a_gang_that_is_not_disrupted_as_one_only_as_many_go_as_are_needed(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=2, gpus=2)
    cluster.add(job("train", 4, backoffLimit=0, pod_spec={"priorityClassName": "low"}))
    await cluster.until(lambda: cluster.bound("train-workers") == 4)
    high(cluster, "g", 1)
    await cluster.until(lambda: cluster.bound("g") == 1)
    await cluster.until(lambda: cluster.count("train-workers", gated=True) == 1)
    assert cluster.bound("train-workers") == 3
    assert not (cluster.get(BATCH_JOBS, "train") or {})["status"].get("failed")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("write", range(1, 9))
async def test_killed_at_any_write_the_next_process_goes_on_and_evicts_no_more(write: int, when: Any) -> None:
    async with FakeCluster() as cluster:
        await prepared(cluster, nodes=3)
        for name, on in (("a", "n1"), ("b", "n2"), ("c", "n3")):
            await low(cluster, name, on=on, is_slow=name != "a")
        await cluster.operators[-1].kill()
        cluster.add(podgroup("g", 2), *pods("g", 2, priorityClassName="high"))
        fate = Fate(at=write, when=when)
        cluster.operator(fate=fate)
        with_death = asyncio.create_task(fate.died.wait())
        await asyncio.wait({with_death}, timeout=5)
        with_death.cancel()
        await cluster.operators[-1].kill()
        cluster.operator()
        await cluster.until(lambda: cluster.reason("g") == "Preempting" or cluster.bound("g") == 2)
        await asyncio.sleep(20)
        for name in ("b", "c"):
            if leaves(cluster, name):
                let_go(cluster, name)
        await cluster.until(lambda: cluster.bound("g") == 2)
        assert sum(1 for name in "abc" if cluster.get(PODS, name)) == 1


async def test_who_waits_for_victims_gives_its_room_back_when_it_is_deleted(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=1)
    await low(cluster, "a", is_slow=True)
    high(cluster, "g", 1)
    await cluster.until(lambda: leaves(cluster, "a"))
    cluster.delete(PODS, "g-0")
    cluster.add(pod("next", priorityClassName="low"))
    let_go(cluster, "a")
    await cluster.until(lambda: node_of(cluster.get(PODS, "next") or {"spec": {}}), within_s=3)


async def test_a_node_that_comes_makes_waiting_for_victims_needless(cluster: FakeCluster) -> None:
    await prepared(cluster, nodes=1)
    await low(cluster, "a", is_slow=True)
    high(cluster, "g", 1)
    await cluster.until(lambda: cluster.reason("g") == "Preempting")
    cluster.add(node("n2"))
    await cluster.until(lambda: cluster.bound("g") == 1, within_s=2)


def budget(name: str, *, allowed: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    }


@pytest.mark.parametrize("seed", range(6))
async def test_where_requests_fail_again_and_again_the_gang_gets_in_and_no_more_go_than_have_to(seed: int) -> None:
    async with FakeCluster() as cluster:
        await prepared(cluster, nodes=4)
        for number in range(1, 5):
            await low(cluster, f"low-{number}", on=f"n{number}")
        rng = Random(seed)
        away = Refuse(internal_error("etcd is away"))
        cluster.core.faults.add(lambda seen: seen.is_write and rng.random() < 0.2, away, times=None)
        high(cluster, "g", 2)
        await cluster.until(lambda: cluster.bound("g") == 2, within_s=600)
        assert sum(cluster.get(PODS, f"low-{number}") is not None for number in range(1, 5)) == 2
