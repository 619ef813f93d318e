"""The admission of a gang: reserve, confirm, lift; and every way in which it can end."""

from __future__ import annotations

import asyncio

import pytest
from tests.fakes.apiserver import Delay, Distort, Drop, Hang, Refuse, Seen, on
from tests.fakes.apiserver.faults import Condition, Effect
from tests.fakes.apiserver.refusals import Refusal, conflict, forbidden, internal_error, modified, not_found
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import NAMESPACE, Operator
from tests.support.manifests import nominated, pod, podgroup, pods

from ganglift.api.names import GROUP_LABEL
from ganglift.base.settings import Settings
from ganglift.kube.resources import NODES, POD_GROUPS, PODS

DENIED = Refusal(422, "Invalid", "ValidatingAdmissionPolicy 'freeze' denied request: not now", details={"causes": []})
SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {GROUP_LABEL: "g"}},
    }
]


def nominations() -> Condition:
    return lambda seen: on("patch", PODS, subresource="status")(seen) and bool(_status(seen).get("nominatedNodeName"))


def lifts(*, dry: bool, name: str | None = None) -> Condition:
    return lambda seen: on("patch", PODS, name=name)(seen) and not seen.subresource and seen.is_dry_run is dry


def _status(seen: Seen) -> dict[str, str]:
    return (seen.body or {}).get("status") or {}


def sent(cluster: FakeCluster, wanted: Condition) -> int:
    return sum(1 for seen in cluster.core.seen if wanted(seen))


def reserved(cluster: FakeCluster, group: str = "g") -> int:
    return sum(1 for one in cluster.pods(group) if nominated(one) and one["spec"].get("schedulingGates"))


async def at_the_fence(cluster: FakeCluster) -> Operator:
    """Let a gang of two come as far as the fence, with room for it."""
    cluster.nodes(2, first=8)
    operator = cluster.operator()
    await operator.synced()
    cluster.add(pod("rival", gpus=9))
    await cluster.until(lambda: cluster.scheduler.pods)
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(cluster.fences)
    assert reserved(cluster) == 2
    return operator


# It goes well


async def test_a_gang_without_competition_needs_no_fence(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    operator = cluster.operator()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=2)
    assert operator.engine.fence.raised == 0


async def test_every_member_is_nominated_before_the_first_gate_goes(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add(podgroup("g", 3), *pods("g", 3))
    await cluster.until(lambda: cluster.bound("g") == 3)
    kinds = ["nominate" if nominations()(seen) else "lift" for seen in cluster.core.writes if seen.resource == PODS]
    assert kinds == ["nominate"] * 3 + ["lift"] * 3


async def test_a_fence_holds_the_lift_until_it_is_answered(cluster: FakeCluster) -> None:
    operator = await at_the_fence(cluster)
    await cluster.stays(lambda: cluster.count("g", gated=True) == 2, for_s=10)
    assert cluster.reason("g") == "Reserved"
    assert "default/rival" in cluster.condition("g")["message"]
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=2)
    assert operator.engine.fence.raised == 1


async def test_members_with_rules_among_themselves_are_lifted_one_after_another(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.core.faults.add(lifts(dry=False), Delay(1), times=1)
    cluster.add(podgroup("g", 2), *pods("g", 2, topologySpreadConstraints=SPREAD))
    await cluster.until(lambda: sent(cluster, lifts(dry=False)) == 1)
    await cluster.stays(lambda: sent(cluster, lifts(dry=False)) == 1, for_s=0.9)
    await cluster.until(lambda: cluster.bound("g") == 2)


async def half_lifted(cluster: FakeCluster, **spec: object) -> None:
    """Let a gang of four, spread over two nodes, wait halfway: the other two go once the first two are bound."""
    cluster.auditor.excused.add("I1")
    cluster.nodes(2, gpus=2)
    operator = cluster.operator()
    await operator.synced()
    await asyncio.sleep(0.1)
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 4, **spec), *pods("g", 4, topologySpreadConstraints=SPREAD))
    await cluster.until(lambda: cluster.count("g", gated=True) == 2)


async def test_members_that_count_on_others_wait_until_those_are_bound(cluster: FakeCluster) -> None:
    await half_lifted(cluster)
    await cluster.stays(lambda: cluster.count("g", gated=True) == 2, for_s=2)
    assert cluster.condition("g")["message"] == "2 of 4 members released"
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 4, within_s=2)


async def test_members_that_count_on_one_that_was_refused_do_not_wait_longer(cluster: FakeCluster) -> None:
    await half_lifted(cluster)
    refused = next(one for one in cluster.pods("g") if not one["spec"].get("schedulingGates"))
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}
    cluster.edit(PODS, refused["metadata"]["name"], {"status": {"conditions": [told]}}, subresource="status")
    await cluster.until(lambda: cluster.reason("g") not in ("Lifting", "Reserved"), within_s=1)


async def test_members_that_count_on_others_wait_no_longer_than_the_gang_may(cluster: FakeCluster) -> None:
    await half_lifted(cluster, scheduleTimeoutSeconds=3)
    await cluster.until(lambda: cluster.reason("g") == "Stuck", within_s=5)


# It is lost


@pytest.mark.parametrize(
    "refusal",
    [modified(PODS, "g-0"), conflict(PODS, "g-0", "x"), DENIED, not_found(PODS, "g-0")],
    ids=["modified", "conflict", "invalid", "not found"],
)
async def test_a_nomination_that_is_refused_once_is_planned_again_at_once(
    cluster: FakeCluster, refusal: Refusal
) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.core.faults.add(nominations(), Refuse(refusal))
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=1)


async def test_nominations_that_are_always_refused_are_tried_ever_more_seldom(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.core.faults.add(nominations(), Refuse(DENIED), times=None)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await asyncio.sleep(120)
    assert sent(cluster, nominations()) <= 2 * 10
    assert cluster.reason("g") == "BackOff"
    assert "not now" in cluster.condition("g")["message"]


async def test_pods_that_end_all_the_time_make_nobody_spin(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.core.faults.add(nominations(), Refuse(DENIED), times=None)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    for number in range(120):
        cluster.add(pod(f"short-{number}", gpus=0))
        await cluster.until(lambda: cluster.all(PODS)[-1]["status"]["phase"] == "Running")
        cluster.delete(PODS, f"short-{number}")
        await asyncio.sleep(0.5)
    assert sent(cluster, nominations()) <= 2 * 65, "one attempt a second is the most"


async def test_two_gangs_that_cannot_start_do_not_wake_each_other(cluster: FakeCluster) -> None:
    cluster.nodes(4)
    cluster.operator()
    cluster.core.faults.add(nominations(), Refuse(DENIED), times=None)
    cluster.add(podgroup("g", 2), *pods("g", 2), podgroup("h", 2), *pods("h", 2))
    await asyncio.sleep(120)
    assert sent(cluster, nominations()) <= 2 * 2 * 10


async def test_a_nomination_wiped_while_the_fence_stands_is_made_again(cluster: FakeCluster) -> None:
    await at_the_fence(cluster)
    cluster.edit(PODS, "g-0", {"status": {"nominatedNodeName": None}}, subresource="status")
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=3)


async def test_room_taken_while_the_fence_stands_lets_the_gang_wait_whole(cluster: FakeCluster) -> None:
    cluster.priority_class("high", 100)
    await at_the_fence(cluster)
    cluster.add(pod("important", priorityClassName="high"))
    cluster.bind("important", "n8")
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    await cluster.until(lambda: (cluster.count("g", gated=True), reserved(cluster)) == (2, 0), within_s=0.1)


async def test_a_node_that_goes_while_the_fence_stands_is_not_lifted_onto(cluster: FakeCluster) -> None:
    await at_the_fence(cluster)
    cluster.delete(NODES, "n8")
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    await cluster.until(lambda: reserved(cluster) == 0, within_s=1)
    assert cluster.count("g", gated=True) == 2


async def test_a_member_deleted_while_the_fence_stands_leaves_nothing_reserved(cluster: FakeCluster) -> None:
    await at_the_fence(cluster)
    cluster.delete(PODS, "g-0")
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.reason("g") == "WaitingForMembers")
    await cluster.until(lambda: reserved(cluster) == 0, within_s=2)
    assert cluster.count("g", gated=True) == 1


async def test_more_members_needed_while_the_fence_stands_are_all_waited_for(cluster: FakeCluster) -> None:
    await at_the_fence(cluster)
    cluster.set_min_count("g", 3)
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.reason("g") == "WaitingForMembers")
    assert cluster.count("g", gated=True) == 2


async def test_a_group_deleted_while_the_fence_stands_starts_nobody(cluster: FakeCluster) -> None:
    await at_the_fence(cluster)
    cluster.delete(POD_GROUPS, "g")
    cluster.scheduler.go_on()
    await cluster.until(lambda: reserved(cluster) == 0, within_s=2)
    await cluster.stays(lambda: cluster.count("g", gated=True) == 2, for_s=30)


async def test_nominations_that_the_watch_does_not_show_are_given_up(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.core.faults.add(on("watch", PODS), Distort(after=2, then="silence"))
    operator = cluster.operator()
    await operator.synced()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: reserved(cluster) == 2)
    await cluster.stays(lambda: cluster.count("g", gated=True) == 2, for_s=60)
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=120)


# It is refused


async def test_a_lift_that_a_policy_refuses_costs_nothing_and_is_shown(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    fault = cluster.core.faults.add(lifts(dry=True), Refuse(DENIED), times=None)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "LiftRefused")
    assert "ValidatingAdmissionPolicy 'freeze' denied request: not now" in cluster.condition("g")["message"]
    await asyncio.sleep(60)
    assert (cluster.count("g", gated=True), reserved(cluster)) == (2, 0)
    assert sent(cluster, lifts(dry=False)) == 0
    cluster.core.faults.remove(fault)
    await cluster.until(lambda: cluster.bound("g") == 2)


async def test_a_refused_gang_does_not_keep_others_from_the_room(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.core.faults.add(
        lambda seen: lifts(dry=True)(seen) and seen.name.startswith("a-"), Refuse(DENIED), times=None
    )
    cluster.add(podgroup("a", 2), *pods("a", 2))
    await cluster.until(lambda: cluster.reason("a") == "LiftRefused")
    cluster.add(podgroup("b", 2), *pods("b", 2))
    await cluster.until(lambda: cluster.bound("b") == 2, within_s=2)


async def test_one_member_that_may_not_be_lifted_does_not_make_the_gang_spin(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.core.faults.add(lifts(dry=False, name="g-1"), Refuse(DENIED), times=None)
    cluster.add(podgroup("g", 3, scheduleTimeoutSeconds=30), *pods("g", 3))
    await cluster.until(lambda: cluster.count("g", gated=False) == 2)
    await asyncio.sleep(25)
    assert sent(cluster, lifts(dry=False, name="g-1")) <= 6
    await cluster.until(lambda: cluster.reason("g") == "Stuck", within_s=20)


# It fails


@pytest.mark.parametrize("effect", [Drop(), Drop(performed=True), Refuse(internal_error("etcd is away"))], ids=repr)
async def test_an_api_server_that_fails_for_a_while_delays_the_gang_only(cluster: FakeCluster, effect: Effect) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.core.faults.add(on("patch", PODS), effect, times=7)
    cluster.add(podgroup("g", 3), *pods("g", 3))
    await cluster.until(lambda: cluster.bound("g") == 3, within_s=60)


async def test_an_answer_that_never_comes_is_waited_for_no_longer_than_the_clients_time(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.core.faults.add(nominations(), Hang())
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=40)


async def test_no_fence_to_be_had_means_no_lift_while_there_is_competition(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.add(pod("rival", gpus=9))
    fault = cluster.core.faults.add(
        on("create", PODS, namespace=NAMESPACE), Refuse(forbidden(PODS, "fence", "no right")), times=None
    )
    cluster.operator()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "FenceUnavailable")
    assert "no right" in cluster.condition("g")["message"]
    await asyncio.sleep(60)
    assert (cluster.count("g", gated=True), reserved(cluster)) == (2, 0)
    cluster.core.faults.remove(fault)
    await cluster.until(lambda: cluster.bound("g") == 2)


async def test_an_unanswered_fence_means_no_lift_while_there_is_competition(cluster: FakeCluster) -> None:
    await at_the_fence(cluster)
    await cluster.until(lambda: cluster.reason("g") == "FenceUnavailable", within_s=20)
    assert "did not answer" in cluster.condition("g")["message"]
    await cluster.until(lambda: reserved(cluster) == 0, within_s=1)
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=30)


# How much is reserved at a time


async def test_no_more_than_the_most_is_reserved_at_a_time(cluster: FakeCluster) -> None:
    cluster.nodes(8)
    cluster.operator(settings=Settings(namespace=NAMESPACE, max_reserved=4))
    most = 0
    cluster.add(*(one for name in "abcd" for one in (podgroup(name, 2), *pods(name, 2))))
    while any(cluster.bound(name) < 2 for name in "abcd"):
        most = max(most, sum(reserved(cluster, name) for name in "abcd"))
        await asyncio.sleep(0.001)
    assert 0 < most <= 4


async def test_a_gang_bigger_than_the_most_is_reserved_alone(cluster: FakeCluster) -> None:
    cluster.nodes(5)
    cluster.operator(settings=Settings(namespace=NAMESPACE, max_reserved=2))
    cluster.add(podgroup("big", 3), *pods("big", 3), podgroup("small", 2), *pods("small", 2))
    await cluster.until(lambda: cluster.bound("big") == 3 and cluster.bound("small") == 2, within_s=10)


async def test_a_gangs_own_reservations_do_not_count_against_it(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator(settings=Settings(namespace=NAMESPACE, max_reserved=3))
    cluster.core.faults.add(lambda seen: nominations()(seen) and seen.name == "g-2", Refuse(modified(PODS, "g-2")))
    cluster.add(podgroup("g", 3), *pods("g", 3))
    await cluster.until(lambda: cluster.bound("g") == 3, within_s=1)
