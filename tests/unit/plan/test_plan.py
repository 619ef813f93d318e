"""The plan of waiting gangs, over the rules of single nodes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import books, gang, members, node, node_names, pod

from ganglift.base.ids import Key
from ganglift.plan.plan import plan
from ganglift.plan.queue import Policy
from ganglift.plan.refusals import Refusals
from ganglift.plan.verdict import Behind, DoesNotFit, Fits
from ganglift.plan.words import words_of

WORKER = pod("w").gpu(1)


def key(name: str) -> Key:
    return Key("default", name)


def test_a_gang_of_four_on_three_gpus_gets_nothing_and_is_told_why() -> None:
    nodes = [node(f"n{i}").gpus(1) for i in range(3)]
    verdict = plan(books(nodes).snapshot(), [gang("g", members(4, WORKER))]).verdicts[key("g")]
    assert words_of(verdict) == (
        "3 of 4 members fit: 3 nodes: 3 fit; 3 nvidia.com/gpu free on 3 nodes, largest hole 1; "
        "would fit with one more node that has 1 nvidia.com/gpu free"
    )


def test_a_fourth_node_makes_it_fit_with_one_member_on_each() -> None:
    nodes = [node(f"n{i}").gpus(1) for i in range(4)]
    verdict = plan(books(nodes).snapshot(), [gang("g", members(4, WORKER))]).verdicts[key("g")]
    assert isinstance(verdict, Fits)
    assert [p.node for p in verdict.placements] == ["n0", "n1", "n2", "n3"]


def test_gangs_do_not_interleave() -> None:
    nodes = [node("n").gpus(4)]
    older, younger = gang("a", members(3, WORKER, "a")), gang("b", members(3, WORKER, "b"), created=1)
    verdicts = plan(books(nodes).snapshot(), [younger, older]).verdicts
    assert isinstance(verdicts[key("a")], Fits)
    assert isinstance(verdicts[key("b")], DoesNotFit)


def test_a_smaller_gang_passes_a_bigger_one_by_default_and_waits_under_strict() -> None:
    snapshot = books([node("n").gpus(2)]).snapshot()
    groups = [gang("big", members(3, WORKER, "big")), gang("small", members(2, WORKER, "small"), created=1)]
    assert isinstance(plan(snapshot, groups).verdicts[key("small")], Fits)
    assert plan(snapshot, groups, Policy.STRICT).verdicts[key("small")] == Behind(key("big"))


def test_a_namespace_that_asks_for_strict_waits_for_its_own_first_alone() -> None:
    snapshot = books([node("n").gpus(3)]).snapshot()
    groups = [
        gang("big", members(4, WORKER, "big")),
        gang("small", members(1, WORKER, "small"), created=1),
        replace(gang("other", members(1, WORKER, "other"), created=2), key=Key("elsewhere", "other")),
    ]
    verdicts = plan(snapshot, groups, exceptions={"default": Policy.STRICT}).verdicts
    assert verdicts[key("small")] == Behind(key("big"))
    assert isinstance(verdicts[Key("elsewhere", "other")], Fits)


def test_a_namespace_that_asks_for_backfill_passes_in_a_strict_cluster() -> None:
    snapshot = books([node("n").gpus(3)]).snapshot()
    groups = [
        gang("big", members(4, WORKER, "big")),
        gang("small", members(1, WORKER, "small"), created=1),
        replace(gang("other", members(1, WORKER, "other"), created=2), key=Key("elsewhere", "other")),
    ]
    verdicts = plan(snapshot, groups, Policy.STRICT, {"elsewhere": Policy.BACKFILL}).verdicts
    assert verdicts[key("small")] == Behind(key("big"))
    assert isinstance(verdicts[Key("elsewhere", "other")], Fits)


def test_members_beyond_need_are_placed_after_all_gangs() -> None:
    snapshot = books([node("n").gpus(4)]).snapshot()
    groups = [gang("a", members(4, WORKER, "a"), need=2), gang("b", members(1, WORKER, "b"), created=1)]
    result = plan(snapshot, groups)
    assert isinstance(result.verdicts[key("b")], Fits)
    assert [p.uid for p in result.extras[key("a")]] == ["uid-a-2"]


def test_a_higher_group_sees_past_the_reservations_of_a_lower_one() -> None:
    low = [pod(f"low-{i}").gpu(1).gated().nominated("n") for i in range(2)]
    snapshot = books([node("n").gpus(2)], low).snapshot()
    lower = gang("low", tuple(one.member() for one in low), own=frozenset(one.made.uid for one in low))
    higher = gang("high", members(2, WORKER, "high"), priority=1, created=1)
    verdicts = plan(snapshot, [lower, higher]).verdicts
    assert isinstance(verdicts[key("high")], Fits)
    assert isinstance(verdicts[key("low")], DoesNotFit)


def test_an_equal_group_leaves_the_reservations_of_a_later_one_alone() -> None:
    late = [pod(f"late-{i}").gpu(1).gated().nominated("n") for i in range(2)]
    snapshot = books([node("n").gpus(2)], late).snapshot()
    later = gang("late", tuple(one.member() for one in late), own=frozenset(one.made.uid for one in late), created=1)
    earlier = gang("early", members(2, WORKER, "early"))
    verdicts = plan(snapshot, [later, earlier]).verdicts
    assert isinstance(verdicts[key("early")], DoesNotFit)
    assert isinstance(verdicts[key("late")], Fits)


def test_a_reservation_that_is_of_no_use_any_more_is_given_up_for_a_plan_that_fits() -> None:
    held = [pod(f"w-{i}").gpu(1).gated().nominated("a") for i in range(2)]
    nodes = [node("a").gpus(1), node("b").gpus(2)]
    group = gang("g", tuple(one.member() for one in held), own=frozenset(one.made.uid for one in held))
    verdict = plan(books(nodes, held).snapshot(), [group]).verdicts[key("g")]
    assert isinstance(verdict, Fits)
    assert sorted(placement.node for placement in verdict.placements) == ["a", "b"]


def test_a_group_that_does_not_fit_keeps_the_room_it_has_reserved() -> None:
    held = pod("w-0").gpu(1).gated().nominated("n")
    snapshot = books([node("n").gpus(1)], [held]).snapshot()
    group = gang("g", (held.member(), *members(1, WORKER, "more")), own=frozenset({held.made.uid}))
    other = gang("h", members(1, WORKER, "other"), created=1)
    assert isinstance(plan(snapshot, [group, other]).verdicts[key("h")], DoesNotFit)


def test_nodes_to_avoid_are_not_used_and_said() -> None:
    snapshot = books([node("a").gpus(1), node("b").gpus(1)]).snapshot()
    group = gang("g", members(2, WORKER), avoid=frozenset(node_names("a")))
    assert "1 avoided after refusing or losing pods" in words_of(plan(snapshot, [group]).verdicts[key("g")])


def test_a_group_that_needs_nobody_fits_and_still_gets_its_extras() -> None:
    result = plan(books([node("n").gpus(1)]).snapshot(), [gang("g", members(2, WORKER), need=0)])
    assert result.verdicts[key("g")] == Fits(())
    assert len(result.extras[key("g")]) == 1


def test_extras_wait_while_their_own_gang_does() -> None:
    snapshot = books([node("n").gpus(1)]).snapshot()
    group = gang("g", members(2, WORKER), extras=members(1, WORKER, "more"))
    assert plan(snapshot, [group]).extras == {}


def test_a_hundred_thousand_members_are_planned() -> None:
    snapshot = books([node(f"n{i:03}").offers(pods=2000, cpu=2000) for i in range(100)]).snapshot()
    verdict = plan(snapshot, [gang("g", members(1, pod("w").asks(cpu=1)) * 100_000)]).verdicts[key("g")]
    assert isinstance(verdict, Fits)


def test_like_gangs_are_told_the_same_and_each_what_is_left_when_its_turn_comes() -> None:
    snapshot = books([node("n").gpus(5)]).snapshot()
    groups = [
        gang("a", members(6, WORKER, "a")),
        gang("b", members(6, WORKER, "b"), created=1),
        gang("c", members(3, WORKER, "c"), created=2),
        gang("d", members(6, WORKER, "d"), created=3),
    ]
    verdicts = plan(snapshot, groups).verdicts
    assert verdicts[key("a")] == verdicts[key("b")]
    found = [verdicts[key(name)] for name in "abd"]
    assert [verdict.fit for verdict in found if isinstance(verdict, DoesNotFit)] == [5, 5, 2]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(0, 2)), max_size=8))
def test_a_plan_is_the_same_as_if_each_gang_were_looked_at_by_itself(asked: list[tuple[int, int, int]]) -> None:
    nodes = [node(f"n{i}").gpus(i + 1) for i in range(3)]
    low = [pod(f"low-{i}").gpu(1).gated().nominated(f"n{i}") for i in range(2)]
    snapshot = books(nodes, low).snapshot()
    own = gang("low", tuple(one.member() for one in low), own=frozenset(one.made.uid for one in low))
    groups = [
        gang(f"g{i}", members(count, WORKER.gpu(gpus), f"g{i}"), created=i, priority=priority)
        for i, (count, gpus, priority) in enumerate(asked)
    ]
    together = plan(snapshot, [*groups, own]).verdicts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Refusals, "_likeness", lambda self, group: None)
        assert plan(snapshot, [*groups, own]).verdicts == together
