"""The cache: what counts where, who is told, what is waited for."""

from __future__ import annotations

import asyncio

import pytest
from tests.builders import NodeBuilder, PodBuilder, node, pod
from tests.unit.engine.keptcache import KeptCache

from ganglift.api.pod import Pod
from ganglift.base.ids import Key, Uid
from ganglift.plan.snapshot import Kind

G = Key("default", "g")


@pytest.fixture
def cache() -> KeptCache:
    return KeptCache()


def member(name: str) -> PodBuilder:
    return pod(name).gang("g").gpu(1)


GATED, A = member("a").gated(), Uid("uid-a")


# What counts


@pytest.mark.parametrize(
    ("shown", "kind"),
    [
        (member("a").on("n1"), Kind.BOUND),
        (member("a").on("n1").terminating(), Kind.TERMINATING),
        (GATED.nominated("n1"), Kind.RESERVED),
        (member("a").nominated("n1"), Kind.LIFTED),
        (member("a").needs_node(("metadata.name", "In", ["n1"]), fields=True), Kind.PINNED),
        (member("a"), None),
        (GATED, None),
        (member("a").on("n1", "Succeeded"), None),
        (member("a").on("n1", "Failed"), None),
        (GATED.needs_node(("metadata.name", "In", ["n1"]), fields=True), None),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_pod_counts_by_how_it_holds_its_place(cache: KeptCache, shown: PodBuilder, kind: Kind | None) -> None:
    cache.show(shown)
    assert cache.kind("a") == kind
    assert cache.used("n1") == (kind is not None)


def test_a_pod_that_may_go_to_one_of_two_named_nodes_is_pinned_to_none(cache: KeptCache) -> None:
    cache.show(member("a").needs_node(("metadata.name", "In", ["n1", "n2"]), fields=True))
    assert cache.kind("a") is None


def test_a_pod_on_a_node_that_is_not_there_counts_once_the_node_is(cache: KeptCache) -> None:
    cache.show(member("a").on("n9"))
    cache.upsert_node(node("n9").gpus(1).made)
    assert cache.used("n9") == 1


def test_pods_that_a_full_list_lacks_are_gone(cache: KeptCache) -> None:
    cache.show(member("a").on("n1"), member("b").on("n2"))
    cache.replace_pods([member("b").on("n2").made, member("c").on("n3").made])
    assert [cache.used(f"n{number}") for number in (1, 2, 3)] == [0, 1, 1]
    assert [one.name for one in cache.pods_of(G)] == ["b", "c"]


def test_nodes_that_a_full_list_lacks_are_gone(cache: KeptCache) -> None:
    cache.replace_nodes([node("n2").gpus(1).made])
    assert cache.snapshot().names == ("n2",)


def test_a_snapshot_is_the_same_until_something_changes(cache: KeptCache) -> None:
    before = cache.snapshot()
    cache.upsert_node(node("n1").gpus(1).made)
    assert cache.snapshot() is before
    cache.show(member("a").on("n1"))
    assert cache.snapshot() is not before


# Assumptions


def test_an_assumed_place_counts_before_the_watch_shows_it(cache: KeptCache) -> None:
    cache.show(GATED)
    cache.assume(A, "n1")
    assert (cache.kind("a"), sorted(cache.reserved_uids())) == (Kind.RESERVED, [A])


def test_an_event_from_before_the_nomination_takes_no_assumption_away(cache: KeptCache) -> None:
    cache.show(GATED)
    cache.assume(A, "n1")
    cache.show(GATED.label("some", "thing"))
    assert cache.used("n1") == 1


def test_once_shown_a_nomination_counts_by_itself(cache: KeptCache) -> None:
    cache.show(GATED)
    cache.assume(A, "n1")
    cache.show(GATED.nominated("n1"))
    cache.forget([A])
    assert cache.used("n1") == 1
    cache.show(GATED)
    assert cache.used("n1") == 0


def test_a_forgotten_assumption_gives_the_room_back(cache: KeptCache) -> None:
    cache.show(GATED)
    cache.assume(A, "n1")
    cache.quiet()
    cache.forget([A])
    assert (cache.used("n1"), sorted(cache.reserved_uids()), cache.told.returned) == (0, [], 1)


def test_an_assumption_for_a_pod_that_is_not_there_counts_nowhere_and_can_be_forgotten(cache: KeptCache) -> None:
    cache.assume(Uid("uid-ghost"), "n1")
    cache.forget([Uid("uid-ghost")])
    cache.show(member("ghost").gated())
    assert cache.used("n1") == 0


def test_a_pod_being_lifted_is_reserved_no_more(cache: KeptCache) -> None:
    cache.show(GATED.nominated("n1"))
    cache.lifting([A])
    assert (cache.kind("a"), sorted(cache.reserved_uids())) == (Kind.LIFTED, [])
    cache.forget([A])
    assert cache.kind("a") == Kind.RESERVED


def test_nothing_is_assumed_once_nobody_is_at_work(cache: KeptCache) -> None:
    cache.show(GATED, member("b").gated().nominated("n2"))
    cache.assume(A, "n1")
    cache.lifting([Uid("uid-b")])
    cache.assume_nothing()
    assert (cache.kind("a"), cache.kind("b")) == (None, Kind.RESERVED)


def test_a_pod_that_goes_takes_its_assumption_along(cache: KeptCache) -> None:
    cache.show(GATED)
    cache.assume(A, "n1")
    cache.delete_pod(GATED.made)
    cache.show(GATED)
    assert cache.used("n1") == 0


def test_reservations_of_lower_priority_are_told_apart(cache: KeptCache) -> None:
    cache.show(member("low").gated().priority(1).nominated("n1"), member("high").gated().priority(9).nominated("n2"))
    assert cache.reserved_below(9) == (Uid("uid-low"),)


# Who is told


def test_a_group_is_told_of_its_pods_that_come_change_and_go(cache: KeptCache) -> None:
    cache.show(GATED)
    cache.show(GATED.nominated("n1"))
    cache.delete_pod(GATED.made)
    assert cache.told.changed == [G, G, G]


def test_a_pod_that_changes_its_group_concerns_both(cache: KeptCache) -> None:
    cache.show(GATED)
    cache.quiet()
    cache.show(GATED.gang("h"))
    assert set(cache.told.changed) == {G, Key("default", "h")}
    assert cache.pods_of(G) == ()


@pytest.mark.parametrize(
    "now",
    [
        member("a").on("n1", "Succeeded"),
        member("a").on("n1", "Failed"),
        pod("a").gang("g").gpu(0).on("n1"),
        member("a").on("n1").label("other", "label"),
    ],
    ids=["succeeded", "failed", "resized in place", "labelled otherwise"],
)
def test_a_bound_pod_that_ends_or_changes_makes_room(cache: KeptCache, now: PodBuilder) -> None:
    cache.show(member("a").on("n1"))
    cache.quiet()
    cache.show(now)
    assert cache.told.grew == [G]


def test_a_bound_pod_that_goes_makes_room(cache: KeptCache) -> None:
    cache.show(pod("a").gpu(1).on("n1"))
    cache.quiet()
    cache.delete_pod(pod("a").gpu(1).on("n1").made)
    assert cache.told.grew == [None]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (member("a").on("n1"), member("a").on("n1").condition("Ready", "True")),
        (member("a").on("n1"), member("a").on("n1").terminating()),
        (member("a").nominated("n1"), member("a").on("n1")),
        (GATED.nominated("n1"), member("a").nominated("n1")),
        (GATED, GATED.condition("PodScheduled", "False")),
    ],
    ids=["ready", "leaving", "bound", "lifted", "still gated"],
)
def test_a_change_that_frees_nothing_wakes_nobody(cache: KeptCache, before: PodBuilder, now: PodBuilder) -> None:
    cache.show(before)
    cache.quiet()
    cache.show(now)
    assert (cache.told.grew, cache.told.returned) == ([], 0)


@pytest.mark.parametrize("now", [GATED, member("a")], ids=["released", "wiped"])
def test_room_that_was_only_kept_is_no_growth(cache: KeptCache, now: PodBuilder) -> None:
    cache.show(now.nominated("n1"))
    cache.quiet()
    cache.show(now)
    assert (cache.told.grew, cache.told.returned) == ([], 1)


def test_a_reserved_pod_that_goes_is_no_growth(cache: KeptCache) -> None:
    cache.show(GATED.nominated("n1"))
    cache.quiet()
    cache.delete_pod(GATED.nominated("n1").made)
    assert (cache.told.grew, cache.told.returned) == ([], 1)


def test_a_heartbeat_wakes_nobody(cache: KeptCache) -> None:
    cache.upsert_node(node("n1").gpus(1).annotation("heartbeat", "now").made)
    assert cache.told.grew == []


@pytest.mark.parametrize(
    "now", [node("n1").gpus(2), node("n1").gpus(1).label("a", "b"), node("n1").gpus(1).cordoned(), node("n4")]
)
def test_a_node_that_comes_or_changes_is_told(cache: KeptCache, now: NodeBuilder) -> None:
    cache.upsert_node(now.made)
    assert cache.told.grew == [None]


# Order


def test_a_pod_is_loose_from_when_kube_scheduler_may_place_it(cache: KeptCache) -> None:
    cache.show(pod("plain"), GATED, pod("elsewhere").scheduler("other"), member("bound").on("n1"))
    cache.show(pod("plain").label("later", "event"))
    assert [(one.name, since) for one, since in cache.loose()] == [("plain", 1)]
    cache.show(member("a"))
    assert [(one.name, since) for one, since in cache.loose()] == [("plain", 1), ("a", 6)]


@pytest.mark.parametrize("now", [pod("plain").on("n1"), pod("plain").phase("Failed"), pod("plain").terminating()])
def test_a_pod_that_is_bound_over_or_leaving_is_loose_no_more(cache: KeptCache, now: PodBuilder) -> None:
    cache.show(pod("plain"))
    cache.show(now)
    assert list(cache.loose()) == []


def test_a_nomination_counts_from_the_event_that_showed_it(cache: KeptCache) -> None:
    cache.show(GATED)
    cache.show(GATED.nominated("n1"))
    cache.show(pod("plain"))
    cache.show(GATED.nominated("n1").label("other", "change"))
    assert cache.nominated_at(A) == 2
    cache.show(GATED.nominated("n2"))
    assert cache.nominated_at(A) == 5


def test_of_what_a_listing_showed_every_pod_may_have_been_first(cache: KeptCache) -> None:
    cache.disordered(True)
    cache.show(GATED.nominated("n1"), pod("plain"))
    assert cache.nominated_at(A) > max(since for _, since in cache.loose())
    cache.disordered(False)
    assert cache.nominated_at(A) == 2
    cache.show(pod("later"))
    assert cache.nominated_at(A) == 2


# Expectations


async def test_what_is_expected_is_waited_for(cache: KeptCache) -> None:
    cache.show(GATED)
    seen = cache.expect([A], lambda pod: pod.nominated == "n1")
    waiting = asyncio.create_task(seen.wait(10))
    cache.show(GATED.nominated("n2"))
    await asyncio.sleep(1)
    assert not waiting.done()
    cache.show(GATED.nominated("n1"))
    assert await waiting


async def test_what_does_not_come_is_waited_for_no_longer_than_told(cache: KeptCache) -> None:
    cache.show(GATED)
    seen = cache.expect([A], lambda pod: pod.nominated == "n1")
    assert not await seen.wait(10)
    assert asyncio.get_running_loop().time() == 10


async def test_what_is_so_already_is_not_waited_for(cache: KeptCache) -> None:
    cache.show(GATED.nominated("n1"))
    assert await cache.expect([A], lambda pod: pod.nominated == "n1").wait(0)


async def test_a_pod_that_goes_is_waited_for_no_longer(cache: KeptCache) -> None:
    cache.show(GATED)
    seen = cache.expect([A, Uid("uid-gone")], lambda pod: pod.nominated == "n1")
    cache.delete_pod(GATED.made)
    assert await seen.wait(0)


async def test_a_pod_that_is_yet_to_come_can_be_waited_for(cache: KeptCache) -> None:
    seen = cache.expect([A], lambda pod: pod.condition("PodScheduled") is not None, may_come=True)
    assert not await seen.wait(1)
    cache.show(GATED)
    cache.show(GATED.condition("PodScheduled", "False", "Unschedulable"))
    assert await seen.wait(0)


async def test_nothing_is_left_of_what_was_expected(cache: KeptCache) -> None:
    for number in range(100):
        one = member(f"w-{number}").gated()
        cache.show(one)
        seen = cache.expect([one.made.uid], _has_no_gate)
        cache.show(member(f"w-{number}"))
        assert await seen.wait(0)
    cache.expect([], _has_no_gate)
    assert len(cache._expectations) <= 1


def _has_no_gate(pod: Pod) -> bool:
    return not pod.has_gate


@pytest.mark.parametrize(
    "ending",
    [pod("a").gang("g").on("n1", "Failed"), pod("a").gang("g").on("n1").terminating()],
    ids=["failed", "deleted"],
)
def test_a_member_that_ends_is_told_of_even_if_nothing_shows_it_a_moment_later(ending: PodBuilder) -> None:
    cache = KeptCache()
    cache.show(pod("a").gang("g").on("n1"))
    assert cache.told.ended == []
    cache.delete_pod(ending.made)
    assert cache.told.ended == ["a"]


def test_nobody_is_told_of_the_end_of_a_pod_that_was_not_bound_or_is_no_member() -> None:
    cache = KeptCache()
    cache.show(pod("a").gang("g").gated().terminating(), pod("b").on("n1", "Failed"))
    assert cache.told.ended == []


# For whom room is held


PINNED = pod("d").needs_node(("metadata.name", "In", ["n1"]), fields=True)


def test_a_pod_that_can_go_to_one_node_alone_is_told_of_until_it_is_there_or_gone(cache: KeptCache) -> None:
    cache.show(PINNED)
    assert cache.told.pinned == ["n1"]
    cache.show(PINNED.on("n1"))
    assert cache.told.pinned == ["n1", "n1"]
    cache.show(PINNED.on("n1").label("a", "b"))
    assert cache.told.pinned == ["n1", "n1"]


def test_a_pinned_pod_that_is_deleted_is_told_of(cache: KeptCache) -> None:
    cache.show(PINNED)
    cache.delete_pod(PINNED.made)
    assert cache.told.pinned == ["n1", "n1"]


def test_a_pod_that_ends_has_left_and_one_that_is_told_to_go_has_not(cache: KeptCache) -> None:
    cache.show(member("a").on("n1"), member("b").on("n2").terminating())
    assert cache.told.left == []
    cache.show(member("a").on("n1", "Succeeded"))
    cache.delete_pod(member("b").on("n2").terminating().made)
    assert cache.told.left == ["a", "b"]


def test_priorities_are_counted_of_pods_that_have_their_place_for_good(cache: KeptCache) -> None:
    cache.show(member("a").on("n1").priority(5), member("b").nominated("n2").gated().priority(3))
    assert cache.priorities == {5: 1}
    cache.show(member("b").on("n2").priority(3), member("a").on("n1").priority(5).terminating())
    assert cache.priorities == {3: 1}
    cache.delete_pod(member("b").on("n2").priority(3).made)
    assert cache.priorities == {}
