"""Gangs in a whole cluster: the experiment, edits, competition, gates of others."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import job, node, node_of, nominated, pod, podgroup, pods
from tests.unit.engine.gangs import waiting

from ganglift.kube.resources import JOBS, NODES, PODS

# The experiment


async def test_nobody_starts_without_room_for_all(cluster: FakeCluster) -> None:
    await waiting(cluster)
    assert "3 of 4" in cluster.condition("g")["message"]
    await cluster.stays(lambda: cluster.count("g", gated=True) == 4, for_s=60)


async def test_all_start_once_there_is_room_for_all(cluster: FakeCluster) -> None:
    await waiting(cluster)
    cluster.add(node("n4"))
    await cluster.until(lambda: cluster.bound("g") == 4, within_s=1)
    await cluster.until(lambda: cluster.reason("g") == "Scheduled", within_s=1)


async def test_members_go_where_they_were_nominated(cluster: FakeCluster) -> None:
    cluster.nodes(2, gpus=2)
    cluster.operator()
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 4), *pods("g", 4))
    await cluster.until(lambda: cluster.count("g", gated=False) == 4)
    planned = {one["metadata"]["name"]: nominated(one) for one in cluster.pods("g")}
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 4)
    assert {one["metadata"]["name"]: node_of(one) for one in cluster.pods("g")} == planned


async def test_a_job_of_ours_becomes_a_gang_of_its_parallelism(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add(job("train", 4))
    await cluster.until(lambda: cluster.reason("train-workers") == "Unschedulable")
    cluster.add(node("n4"))
    await cluster.until(lambda: cluster.bound("train-workers") == 4, within_s=1)


async def test_a_pod_that_ends_makes_room_within_a_second(cluster: FakeCluster) -> None:
    cluster.nodes(4)
    cluster.operator()
    cluster.add(pod("plain"))
    await cluster.until(lambda: node_of(cluster.get(PODS, "plain") or {"spec": {}}))
    cluster.add(podgroup("g", 4), *pods("g", 4))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    await asyncio.sleep(30)
    cluster.kubelets.end("plain")
    await cluster.until(lambda: cluster.bound("g") == 4, within_s=1)


async def test_a_pod_resized_in_place_makes_room_within_a_second(cluster: FakeCluster) -> None:
    cluster.nodes(4)
    cluster.operator()
    cluster.add(pod("plain"))
    await cluster.until(lambda: node_of(cluster.get(PODS, "plain") or {"spec": {}}))
    cluster.add(podgroup("g", 4), *pods("g", 4))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    await asyncio.sleep(30)
    resized = cluster.core.api.store.get(PODS, ("default", "plain"))
    assert resized is not None
    smaller = resized.copy()
    smaller["spec"]["containers"][0]["resources"] = {}
    cluster.core.api.store.commit(PODS, ("default", "plain"), smaller)
    await cluster.until(lambda: cluster.bound("g") == 4, within_s=1)


async def test_heartbeats_and_other_news_of_no_consequence_plan_nothing_anew(cluster: FakeCluster) -> None:
    await waiting(cluster)
    operator = cluster.operators[0]
    planned = operator.engine.cache.books.version
    for number in range(50):
        cluster.edit(NODES, "n1", {"metadata": {"annotations": {"heartbeat": str(number)}}})
        await asyncio.sleep(0.1)
    assert operator.engine.cache.books.version == planned
    await cluster.quiet(for_s=30)


async def test_members_that_come_after_a_while_are_waited_for(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add(podgroup("g", 3), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "WaitingForMembers")
    assert cluster.condition("g")["message"] == "2 of 3 pods exist"
    cluster.add(*pods("g", 1, first=2))
    await cluster.until(lambda: cluster.bound("g") == 3, within_s=1)


async def test_pods_may_be_made_before_their_group(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(*pods("g", 2))
    await cluster.stays(lambda: cluster.count("g", gated=True) == 2, for_s=20)
    cluster.add(podgroup("g", 2))
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=1)


async def test_pods_of_a_group_that_never_comes_are_told_once(cluster: FakeCluster) -> None:
    operator = cluster.operator()
    cluster.add(*pods("g", 1))
    await asyncio.sleep(200)
    assert operator.announcer.reasons("g-0") == ["GroupMissing"]


# Live edits


async def test_a_lower_min_count_lets_a_waiting_gang_start(cluster: FakeCluster) -> None:
    await waiting(cluster)
    cluster.set_min_count("g", 3)
    await cluster.until(lambda: cluster.bound("g") == 3, within_s=1)
    await cluster.stays(lambda: cluster.count("g", gated=True) == 1, for_s=30)


async def test_an_edit_made_while_a_status_is_written_is_not_lost(cluster: FakeCluster) -> None:
    """The status write conflicts, and reading the group again must not hide that it was edited."""
    cluster.nodes(3)
    cluster.operator()
    done: list[asyncio.Handle] = []

    def edit_at_the_first_status_write(resource: object, place: object, change: object) -> None:
        if cluster.reason("g") == "Unschedulable" and not done:
            done.append(asyncio.get_running_loop().call_soon(cluster.set_min_count, "g", 3))

    cluster.core.api.store.observe(edit_at_the_first_status_write)
    cluster.add(podgroup("g", 4), *pods("g", 4))
    await cluster.until(lambda: cluster.bound("g") == 3, within_s=3)


async def test_a_higher_min_count_tears_nobody_down(cluster: FakeCluster) -> None:
    await waiting(cluster)
    cluster.set_min_count("g", 3)
    await cluster.until(lambda: cluster.bound("g") == 3)
    cluster.set_min_count("g", 4)
    await cluster.stays(lambda: cluster.bound("g") == 3, for_s=150)
    cluster.add(node("n4"))
    await cluster.until(lambda: cluster.bound("g") == 4, within_s=1)


async def test_members_beyond_need_do_not_go_before_a_gang_that_waits(cluster: FakeCluster) -> None:
    cluster.nodes(6)
    cluster.operator()
    cluster.add(podgroup("a", 3), *pods("a", 10), podgroup("b", 3), *pods("b", 3))
    await cluster.until(lambda: cluster.bound("a") == 3 and cluster.bound("b") == 3, within_s=2)


async def test_a_job_made_smaller_while_it_waits_starts(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add(job("train", 4))
    await cluster.until(lambda: cluster.reason("train-workers") == "Unschedulable")
    cluster.edit(JOBS, "train", {"spec": {"parallelism": 3}})
    await cluster.until(lambda: cluster.bound("train-workers") == 3, within_s=3)


# Several gangs


async def test_of_two_gangs_made_interleaved_one_runs_whole_and_the_other_has_nothing(cluster: FakeCluster) -> None:
    cluster.nodes(4)
    cluster.operator()
    cluster.add(podgroup("a", 3), podgroup("b", 3))
    for number in range(3):
        cluster.add(*pods("a", 1, first=number), *pods("b", 1, first=number))
        await asyncio.sleep(0.01)
    await cluster.until(lambda: sorted((cluster.bound("a"), cluster.bound("b"))) == [0, 3])
    await cluster.quiet()
    assert sorted((cluster.bound("a"), cluster.bound("b"))) == [0, 3]


async def test_many_gangs_of_all_sizes_run_whole_one_after_another(cluster: FakeCluster) -> None:
    cluster.nodes(2, gpus=8)
    cluster.operator()
    sizes = {f"g{number}": number % 8 + 1 for number in range(20)}
    for name, size in sizes.items():
        cluster.add(podgroup(name, size), *pods(name, size))
    ended: set[str] = set()
    await asyncio.sleep(2)
    while len(ended) < len(sizes):
        running = [name for name in sizes if name not in ended and cluster.bound(name) == sizes[name]]
        assert running, "something fits and does not run"
        for name in running:
            for one in cluster.pods(name):
                cluster.kubelets.end(one["metadata"]["name"])
            ended.add(name)
        await asyncio.sleep(2)


async def test_a_gang_that_fits_nowhere_costs_no_writes_and_few_log_lines(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.nodes(10)
    cluster.operator()
    for number in range(20):
        cluster.add(podgroup(f"big{number}", 20), *pods(f"big{number}", 20))
    await cluster.until(lambda: all(cluster.reason(f"big{number}") == "Unschedulable" for number in range(20)))
    cluster.add(podgroup("good", 10), *pods("good", 10))
    await cluster.until(lambda: cluster.bound("good") == 10, within_s=2)
    await asyncio.sleep(5)
    written, logged = len(cluster.core.writes), len(caplog.records)
    await asyncio.sleep(120)
    assert (len(cluster.core.writes), len(caplog.records)) == (written, logged)


async def test_a_gang_of_higher_priority_goes_first(cluster: FakeCluster) -> None:
    cluster.priority_class("high", 100)
    cluster.nodes(1)
    cluster.operator()
    cluster.add(podgroup("low", 2), *pods("low", 2))
    cluster.add(podgroup("high", 2), *pods("high", 2, priorityClassName="high"))
    await cluster.until(lambda: cluster.reason("high") == "Unschedulable")
    cluster.add(node("n2"))
    await cluster.until(lambda: cluster.bound("high") == 2)
    await cluster.stays(lambda: cluster.count("low", gated=True) == 2, for_s=20)


# Competition with plain pods


async def test_a_plain_pod_made_after_the_reservation_does_not_get_the_room(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    operator = cluster.operator()
    await operator.synced()
    cluster.add(pod("rival", gpus=9))
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(cluster.fences)
    cluster.add(pod("late"))
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 2)
    assert node_of(cluster.get(PODS, "late") or {}) == ""


async def test_a_pod_that_was_being_bound_when_the_room_was_reserved_leaves_the_gang_whole_or_waiting(
    cluster: FakeCluster,
) -> None:
    """The scheduler had decided for it before it read the nominations, and binds it long after the watch shows them."""
    cluster.nodes(2)
    operator = cluster.operator()
    await operator.synced()
    cluster.scheduler.stop()
    cluster.add(pod("late"))
    cluster.scheduler.read()
    assert cluster.scheduler.decide()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(cluster.fences)
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    assert (cluster.count("g", gated=True), node_of(cluster.get(PODS, "late") or {}) != "") == (2, True)


async def test_without_a_fence_that_gang_would_have_been_let_loose_in_part(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ganglift.engine.admit.rival_of", lambda *_: None)
    cluster.nodes(2)
    operator = cluster.operator()
    await operator.synced()
    cluster.scheduler.stop()
    cluster.add(pod("late"))
    cluster.scheduler.read()
    assert cluster.scheduler.decide()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.count("g", gated=False) == 2)


async def test_a_stream_of_plain_pods_leaves_gangs_whole(cluster: FakeCluster) -> None:
    cluster.nodes(2, gpus=8)
    cluster.operator()
    for number in range(60):
        cluster.add(pod(f"plain-{number}"))
        if number % 20 == 0:
            cluster.add(podgroup(f"g{number}", 4), *pods(f"g{number}", 4))
        await asyncio.sleep(0.05)
        if number > 5 and node_of(cluster.get(PODS, f"plain-{number - 5}") or {"spec": {}}):
            cluster.kubelets.end(f"plain-{number - 5}")
    await cluster.quiet()
    assert all(cluster.bound(f"g{number}") in (0, 4) for number in (0, 20, 40))


async def test_fences_are_raised_where_the_scheduler_is_slow_to_write(cluster: FakeCluster) -> None:
    async with FakeCluster(write_every_s=0.02) as slow:
        slow.nodes(4, gpus=8)
        slow.operator()
        slow.add(*(pod(f"plain-{number}") for number in range(60)))
        await asyncio.sleep(0.1)
        slow.add(podgroup("g", 8), *pods("g", 8))
        await slow.quiet()
        assert slow.bound("g") in (0, 8)


# Gates and labels of others


async def test_a_gate_of_someone_else_keeps_ours_on_every_member(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add(podgroup("g", 3), *pods("g", 2), pod("g-2", "g", gates=["other.dev/gate"]))
    await cluster.until(lambda: cluster.reason("g") == "ForeignGate")
    assert "other.dev/gate" in cluster.condition("g")["message"]
    await cluster.stays(lambda: cluster.count("g", gated=True) == 3, for_s=20)
    gates = [{"name": "scheduling.ganglift.dev/gang"}]
    cluster.edit(PODS, "g-2", {"spec": {"schedulingGates": gates}})
    await cluster.until(lambda: cluster.bound("g") == 3, within_s=1)


async def test_a_released_member_of_another_scheduler_does_not_make_the_gang_smaller(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    other = pod("g-2", "g", schedulerName="volcano")
    del other["spec"]["schedulingGates"]
    cluster.add(podgroup("g", 3), *pods("g", 2), other)
    await cluster.until(lambda: cluster.reason("g") == "OtherScheduler")
    await cluster.stays(lambda: cluster.count("g", gated=True) == 2, for_s=90)


async def test_a_nomination_of_someone_else_is_left_alone(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(*pods("g", 2))
    cluster.edit(PODS, "g-0", {"status": {"nominatedNodeName": "n2"}}, subresource="status")
    cluster.add(podgroup("g", 2))
    await cluster.until(lambda: cluster.bound("g") == 2)
    assert node_of(cluster.get(PODS, "g-0") or {}) == "n2"


async def test_a_pod_of_another_namespace_is_no_member(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    stranger = pod("s-0", "g")
    stranger["metadata"]["namespace"] = "other"
    cluster.add(podgroup("g", 3), *pods("g", 2), stranger)
    await cluster.until(lambda: cluster.reason("g") == "WaitingForMembers")
    assert cluster.condition("g")["message"] == "2 of 3 pods exist"


async def test_pods_of_a_group_without_a_gang_are_let_go_one_by_one(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    cluster.operator()
    cluster.add(podgroup("g", None), *pods("g", 3))
    await cluster.until(lambda: cluster.bound("g") == 1)
    assert cluster.count("g", gated=True) == 0
