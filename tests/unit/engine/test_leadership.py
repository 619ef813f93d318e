"""Leadership that is lost and won again, and faults in our own logic: neither ends the work on what is sound."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.fakes.apiserver import Refuse, on
from tests.fakes.apiserver.refusals import internal_error
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import Operator
from tests.support.manifests import job, node, nominated, pod, podgroup, pods

from ganglift.api.scheduling import PodGroup
from ganglift.engine.entry import Entry
from ganglift.engine.look import Look, look_at
from ganglift.engine.tasks import Tasks, Work
from ganglift.kube.resources import POD_GROUPS, PODS
from ganglift.plan.plan import plan


async def standby(cluster: FakeCluster) -> Operator:
    operator = cluster.operator(stands_by=True)
    await operator.synced()
    return operator


def left_over() -> list[str]:
    """Names of the engine's tasks that still run."""
    words = ("fence", "sweep", "tidy", "report", "status", "admit", "repair", "take back", "release", "free", "remove")
    return [name for task in asyncio.all_tasks() if (name := task.get_name()).startswith(words)]


async def test_a_replica_that_stands_by_writes_nothing(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    await standby(cluster)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await asyncio.sleep(60)
    assert cluster.core.writes == []


async def test_a_replica_that_wins_begins_at_once_with_what_it_has_seen(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    operator = await standby(cluster)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await asyncio.sleep(60)
    operator.lead()
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=1)


@pytest.mark.parametrize("notices_late_s", [0.0, 2.0], ids=["noticed at once", "noticed late"])
@pytest.mark.parametrize("moment", ["at the fence", "while reserving", "while lifting", "while settling"])
async def test_leadership_lost_and_won_again_ends_with_the_gang_whole(
    cluster: FakeCluster, moment: str, notices_late_s: float
) -> None:
    cluster.nodes(3)
    operator = await standby(cluster)
    operator.lead()
    cluster.add(pod("rival", gpus=9))
    await asyncio.sleep(0.1)
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 3), *pods("g", 3))
    reached = {
        "while reserving": lambda: any(nominated(one) for one in cluster.pods("g")),
        "at the fence": cluster.fences,
        "while lifting": cluster.fences,
        "while settling": cluster.fences,
    }
    await cluster.until(reached[moment], every_s=0.0001)
    if moment in ("while lifting", "while settling"):
        cluster.scheduler.go_on()
        await cluster.until(lambda: cluster.count("g", gated=False) > 0, every_s=0.0001)
        cluster.scheduler.stop()
    if moment == "while settling":
        await cluster.until(lambda: cluster.count("g", gated=False) == 3)
    await operator.lose(notices_late_s=notices_late_s)
    assert left_over() == []
    cluster.scheduler.go_on()
    await asyncio.sleep(5)
    operator.lead()
    await cluster.until(lambda: cluster.reason("g") == "Scheduled", within_s=20)
    await cluster.until(lambda: not cluster.fences(), within_s=60)


async def test_another_replica_goes_on_where_the_first_was_stopped(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    first, second = await standby(cluster), await standby(cluster)
    first.lead()
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 3), *pods("g", 3))
    await cluster.until(lambda: cluster.count("g", gated=False) > 0, every_s=0.0001)
    await first.lose()
    second.lead()
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.reason("g") == "Scheduled", within_s=20)
    await first.stop()


async def test_a_replica_that_led_before_does_not_trust_what_it_knew_then(cluster: FakeCluster) -> None:
    """While it stood by another one may have placed the gang's members elsewhere: it asks the API again."""
    cluster.nodes(3)
    operator = await standby(cluster)
    operator.lead()
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.count("g", gated=False) == 2)
    await operator.lose()
    elsewhere = ({"n1", "n2", "n3"} - {nominated(one) for one in cluster.pods("g")}).pop()
    cluster.edit(PODS, "g-0", {"status": {"nominatedNodeName": elsewhere}}, subresource="status")
    operator.lead()
    await cluster.until(lambda: any(seen.verb == "get" and seen.name == "g-0" for seen in cluster.core.seen))
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.reason("g") == "Scheduled", within_s=5)


async def test_what_was_about_to_begin_when_leadership_was_lost_leaves_nothing_behind(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.nodes(2)
    operator = await standby(cluster)
    reigns: list[asyncio.Task[None]] = []
    start = Tasks.start

    def start_and_lose(tasks: Tasks, entry: Entry, work: Work, name: str) -> None:
        start(tasks, entry, work, name)
        assert entry.task is not None
        entry.task.cancel()
        reigns[0].cancel()

    monkeypatch.setattr(Tasks, "start", start_and_lose)
    reigns.append(operator.lead())
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await asyncio.wait(reigns)
    assert operator.engine.cache.reserved_uids() == frozenset()
    monkeypatch.undo()
    operator.lead()
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=2)


async def test_a_sweep_that_finds_out_that_leadership_is_lost_ends_nothing(cluster: FakeCluster) -> None:
    operator = await standby(cluster)
    operator.lead()
    await asyncio.sleep(5)
    operator.leadership.is_leading = False
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await asyncio.sleep(60)
    operator.leadership.is_leading = True
    cluster.nodes(2)
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=12)


# Faults of our own


async def test_a_fault_in_the_look_at_one_group_leaves_the_others_alone(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def look(group: PodGroup, *rest: Any) -> Look:
        if group.name == "bad":
            raise ZeroDivisionError("a fault")
        return look_at(group, *rest)

    monkeypatch.setattr("ganglift.engine.engine.look_at", look)
    cluster.nodes(2)
    cluster.operator()
    cluster.add(podgroup("bad", 2), *pods("bad", 2), podgroup("good", 2), *pods("good", 2))
    await cluster.until(lambda: cluster.bound("good") == 2, within_s=2)
    await asyncio.sleep(120)
    assert 1 <= sum("could not be dealt with" in record.message for record in caplog.records) <= 30


async def test_a_fault_in_the_plan_of_one_group_leaves_the_others_alone(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(snapshot: Any, requests: Any, *rest: Any) -> Any:
        if any(request.key.name == "bad" for request in requests):
            raise ZeroDivisionError("a fault")
        return plan(snapshot, requests, *rest)

    monkeypatch.setattr("ganglift.engine.planning.plan", broken)
    cluster.nodes(2)
    cluster.operator()
    cluster.add(podgroup("bad", 2), *pods("bad", 2), podgroup("good", 2), *pods("good", 2))
    await cluster.until(lambda: cluster.bound("good") == 2, within_s=2)
    await asyncio.sleep(120)
    assert 1 <= sum("could not be dealt with" in record.message for record in caplog.records) <= 12


async def test_a_fault_in_what_is_done_for_one_group_leaves_the_others_alone(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*args: Any) -> Any:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("ganglift.engine.admit.rival_of", broken)
    cluster.nodes(2)
    cluster.operator()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await asyncio.sleep(30)
    assert 1 <= sum("could not be dealt with" in record.message for record in caplog.records) <= 12
    assert cluster.count("g", gated=True) == 2
    monkeypatch.undo()
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=70)


# The API server says no to the status


async def test_a_status_that_cannot_be_written_is_tried_ever_more_seldom(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.nodes(2)
    cluster.operator()
    statuses = on("patch", POD_GROUPS, subresource="status")
    fault = cluster.core.faults.add(statuses, Refuse(internal_error("a webhook is away")), times=None)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=5)
    await asyncio.sleep(300)
    assert fault.struck <= 15
    assert sum("status not written" in record.message for record in caplog.records) <= 15
    cluster.core.faults.remove(fault)
    await cluster.until(lambda: cluster.reason("g") == "Scheduled", within_s=70)


async def test_statuses_of_many_groups_that_cannot_be_written_keep_no_other_from_it(cluster: FakeCluster) -> None:
    cluster.operator()
    cluster.core.faults.add(
        lambda seen: on("patch", POD_GROUPS)(seen) and seen.name.startswith("bad"),
        Refuse(internal_error("x")),
        times=None,
    )
    cluster.add(*(podgroup(f"bad{number}", 1) for number in range(20)), podgroup("good", 1))
    await cluster.until(lambda: cluster.reason("good") == "WaitingForMembers", within_s=5)


async def test_a_status_written_to_by_someone_else_meanwhile_is_put_right(cluster: FakeCluster) -> None:
    cluster.operator()
    cluster.add(podgroup("g", 1))
    await cluster.until(lambda: cluster.reason("g") == "WaitingForMembers")
    cluster.edit(POD_GROUPS, "g", {"status": {"phase": "Nonsense"}}, subresource="status")
    await cluster.until(lambda: cluster.status("g")["phase"] == "WaitingForMembers", within_s=12)


async def test_each_change_of_condition_is_one_event(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    operator = cluster.operator()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    cluster.add(node("n2"))
    await cluster.until(lambda: cluster.reason("g") == "Scheduled")
    await cluster.quiet()
    reasons = operator.announcer.reasons("g")
    assert len(reasons) == len(set(reasons))
    assert [reason for reason in reasons if reason in ("Unschedulable", "Scheduled")] == ["Unschedulable", "Scheduled"]


async def test_counts_alone_cost_few_writes(cluster: FakeCluster) -> None:
    cluster.nodes(40)
    cluster.operator()
    cluster.add(job("train", 40))
    await cluster.until(lambda: cluster.reason("train-workers") == "Scheduled")
    await cluster.quiet()
    statuses = [seen for seen in cluster.core.writes if seen.resource == POD_GROUPS and seen.subresource == "status"]
    assert len(statuses) <= 10
