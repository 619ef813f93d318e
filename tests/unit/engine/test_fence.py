"""The fence: raised, joined, answered or not, and never left standing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.fakes.apiserver import Delay, Drop, Hang, Refuse, on
from tests.fakes.apiserver.faults import Effect
from tests.fakes.apiserver.refusals import forbidden, internal_error, not_found
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import NAMESPACE, Operator

from ganglift.engine.fence import Answer, Fence
from ganglift.kube.resources import NAMESPACES, PODS, PRIORITY_CLASSES


@pytest.fixture
async def operator(cluster: FakeCluster) -> AsyncIterator[Operator]:
    """One that watches, and does nothing by itself."""
    operator = cluster.operator(stands_by=True)
    await operator.synced()
    await operator.engine.fence.provide()
    yield operator
    await operator.engine.fence.close()


@pytest.fixture
def fence(operator: Operator) -> Fence:
    return operator.engine.fence


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_fence_is_passed_once_the_scheduler_has_refused_it(cluster: FakeCluster, fence: Fence) -> None:
    cluster.scheduler.stop()
    passage = asyncio.create_task(fence.passed("default/rival"))
    await cluster.until(lambda: len(cluster.fences()) == 1)
    await cluster.stays(lambda: not passage.done(), for_s=5)
    cluster.scheduler.go_on()
    assert (await passage).answer is Answer.PASSED


async def test_a_moment_passes_after_the_answer_until_all_binds_are_seen(cluster: FakeCluster, fence: Fence) -> None:
    passage = asyncio.create_task(fence.passed("default/rival"))
    await cluster.until(lambda: any(_is_refused(pod) for pod in cluster.fences()))
    answered_at = now()
    await passage
    assert now() - answered_at >= 0.09


async def test_nothing_is_left_of_a_fence(cluster: FakeCluster, fence: Fence) -> None:
    await fence.passed("default/rival")
    assert cluster.fences() == []


async def test_who_asks_at_the_same_moment_shares_a_fence(fence: Fence) -> None:
    passages = await asyncio.gather(*(fence.passed(f"default/rival-{number}") for number in range(5)))
    assert [passage.answer for passage in passages] == [Answer.PASSED] * 5
    assert fence.raised == 1


async def test_who_asks_later_gets_a_fence_of_its_own(cluster: FakeCluster, fence: Fence) -> None:
    first = asyncio.create_task(fence.passed("default/rival"))
    await cluster.until(cluster.fences)
    await fence.passed("default/rival")
    assert fence.raised == 2
    await first


async def test_no_answer_is_waited_for_no_longer_than_fifteen_seconds(cluster: FakeCluster, fence: Fence) -> None:
    cluster.scheduler.stop()
    begun = now()
    passage = await fence.passed("default/rival")
    assert (passage.answer, passage.message) == (Answer.NO_ANSWER, "kube-scheduler did not answer within 15 s")
    assert 15 <= now() - begun < 16
    assert cluster.fences() == []


async def test_the_next_fence_after_one_without_an_answer_is_a_new_one(cluster: FakeCluster, fence: Fence) -> None:
    cluster.scheduler.stop()
    await fence.passed("default/rival")
    cluster.scheduler.go_on()
    assert (await fence.passed("default/rival")).answer is Answer.PASSED


@pytest.mark.parametrize(
    ("effect", "answer", "words"),
    [
        (Refuse(forbidden(PODS, "fence", "no right")), Answer.UNAVAILABLE, "no right"),
        (Refuse(not_found(NAMESPACES, NAMESPACE)), Answer.UNAVAILABLE, "not found"),
        (Refuse(internal_error("a webhook is away")), Answer.UNAVAILABLE, "a webhook is away"),
        (Drop(), Answer.NO_ANSWER, "dropped"),
        (Hang(), Answer.NO_ANSWER, "no answer within 30 s"),
    ],
    ids=["forbidden", "no namespace", "failing", "unreachable", "silent"],
)
async def test_where_no_fence_can_be_made_it_is_said_why(
    cluster: FakeCluster, fence: Fence, effect: Effect, answer: Answer, words: str
) -> None:
    cluster.core.faults.add(on("create", PODS, namespace=NAMESPACE), effect)
    passage = await fence.passed("default/rival")
    assert passage.answer is answer
    assert words in passage.message


async def test_a_replica_that_leads_no_more_makes_no_fence(
    cluster: FakeCluster, operator: Operator, fence: Fence
) -> None:
    operator.leadership.is_leading = False
    assert (await fence.passed("default/rival")).answer is Answer.UNAVAILABLE
    assert cluster.fences() == []


async def test_one_that_gives_up_waiting_leaves_the_others_their_fence(cluster: FakeCluster, fence: Fence) -> None:
    cluster.scheduler.stop()
    impatient, patient = (asyncio.create_task(fence.passed("default/rival")) for _ in range(2))
    await cluster.until(cluster.fences)
    impatient.cancel()
    await asyncio.wait({impatient})
    cluster.scheduler.go_on()
    assert (await patient).answer is Answer.PASSED


async def test_closing_takes_standing_fences_down(cluster: FakeCluster, fence: Fence) -> None:
    cluster.scheduler.stop()
    passage = asyncio.create_task(fence.passed("default/rival"))
    await cluster.until(cluster.fences)
    passage.cancel()
    await fence.close()
    assert cluster.fences() == []
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "fence"]


async def test_closing_does_not_wait_for_an_api_server_that_is_silent(cluster: FakeCluster, fence: Fence) -> None:
    cluster.scheduler.stop()
    passage = asyncio.create_task(fence.passed("default/rival"))
    await cluster.until(cluster.fences)
    cluster.core.faults.add(on("delete", PODS), Hang(), times=None)
    passage.cancel()
    begun = now()
    await fence.close()
    assert now() - begun < 5
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "fence"]


async def test_a_fence_that_could_not_be_deleted_is_swept_up_later(cluster: FakeCluster, fence: Fence) -> None:
    cluster.core.faults.add(on("delete", PODS), Refuse(internal_error("x")))
    assert (await fence.passed("default/rival")).answer is Answer.PASSED
    await fence.sweep()
    assert len(cluster.fences()) == 1, "it may still be waited for by the process that raised it"
    await asyncio.sleep(31)
    await fence.sweep()
    assert cluster.fences() == []


async def test_the_sweep_touches_no_pod_but_fences(cluster: FakeCluster, fence: Fence) -> None:
    other = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "operator-0", "namespace": NAMESPACE}}
    cluster.add(other | {"spec": {"containers": [{"name": "main", "image": "i"}]}})
    await asyncio.sleep(60)
    await fence.sweep()
    assert [pod["metadata"]["name"] for pod in cluster.fences()] == ["operator-0"]


async def test_a_sweep_without_leadership_ends_nothing(cluster: FakeCluster, operator: Operator, fence: Fence) -> None:
    cluster.core.faults.add(on("delete", PODS), Refuse(internal_error("x")))
    await fence.passed("default/rival")
    await asyncio.sleep(31)
    operator.leadership.is_leading = False
    await fence.sweep()
    assert len(cluster.fences()) == 1


async def test_the_priority_class_is_made_where_it_is_missing(cluster: FakeCluster, fence: Fence) -> None:
    made = cluster.get(PRIORITY_CLASSES, "ganglift-fence")
    assert made is not None
    assert (made["value"], made["preemptionPolicy"]) == (1_000_000_000, "Never")
    await fence.provide()


async def test_a_priority_class_that_is_deleted_while_the_operator_runs_is_made_again(
    cluster: FakeCluster, fence: Fence
) -> None:
    cluster.delete(PRIORITY_CLASSES, "ganglift-fence")
    assert (await fence.passed("default/rival")).answer is Answer.PASSED
    assert cluster.get(PRIORITY_CLASSES, "ganglift-fence") is not None


async def test_an_api_server_that_learns_late_of_the_class_is_asked_again(cluster: FakeCluster, fence: Fence) -> None:
    cluster.delete(PRIORITY_CLASSES, "ganglift-fence")
    unknown = Refuse(forbidden(PODS, "fence", "no PriorityClass with name ganglift-fence was found"))
    cluster.core.faults.add(on("create", PODS, namespace=NAMESPACE), unknown, times=3)
    assert (await fence.passed("default/rival")).answer is Answer.PASSED


async def test_a_priority_class_that_cannot_be_made_again_is_named(cluster: FakeCluster, fence: Fence) -> None:
    cluster.delete(PRIORITY_CLASSES, "ganglift-fence")
    no_right = Refuse(forbidden(PRIORITY_CLASSES, "ganglift-fence", "no right"))
    cluster.core.faults.add(on("create", PRIORITY_CLASSES), no_right, times=None)
    passage = await fence.passed("default/rival")
    assert passage.answer is Answer.UNAVAILABLE
    assert "no PriorityClass with name ganglift-fence" in passage.message


@pytest.mark.parametrize("effect", [Refuse(forbidden(PRIORITY_CLASSES, "ganglift-fence", "no right")), Drop()])
async def test_where_the_priority_class_cannot_be_had_the_operator_starts_all_the_same(
    cluster: FakeCluster, fence: Fence, effect: Effect
) -> None:
    cluster.delete(PRIORITY_CLASSES, "ganglift-fence")
    cluster.core.faults.add(on(resource=PRIORITY_CLASSES), effect, times=None)
    await fence.provide()


async def test_an_answer_that_is_late_by_the_watch_is_an_answer(cluster: FakeCluster, fence: Fence) -> None:
    cluster.core.faults.add(on("create", PODS, namespace=NAMESPACE), Delay(3, performed=True))
    assert (await fence.passed("default/rival")).answer is Answer.PASSED


def _is_refused(pod: dict[str, dict[str, list[dict[str, str]]]]) -> bool:
    return any(condition.get("reason") == "Unschedulable" for condition in pod["status"].get("conditions", ()))
