"""Which of several possible nodes are used."""

from collections import Counter

from tests.builders import NodeBuilder, PodBuilder, books, gang, members, node, pod

from ganglift.base.ids import Key
from ganglift.plan.plan import plan
from ganglift.plan.verdict import Fits

ONE = pod("w").gpu(1)


def used(nodes: list[NodeBuilder], bound: list[PodBuilder], count: int, like: PodBuilder = ONE) -> dict[str, int]:
    verdict = plan(books(nodes, bound).snapshot(), [gang("g", members(count, like))]).verdicts[Key("default", "g")]
    assert isinstance(verdict, Fits)
    return dict(Counter(str(placement.node) for placement in verdict.placements))


def test_nodes_in_use_are_filled_before_whole_ones() -> None:
    nodes = [node("a").gpus(8), node("b").gpus(8), node("c").gpus(8)]
    assert used(nodes, [pod("x").gpu(1).on("b")], 4) == {"b": 4}


def test_the_tightest_hole_is_filled_first() -> None:
    nodes = [node("a").gpus(8), node("b").gpus(8)]
    assert used(nodes, [pod("x").gpu(2).on("a"), pod("y").gpu(7).on("b")], 1) == {"b": 1}


def test_the_rest_of_a_gang_goes_into_the_tightest_hole_that_holds_it() -> None:
    nodes = [node("a").gpus(8), node("b").gpus(8), node("c").gpus(8)]
    bound = [pod("x").gpu(6).on("a"), pod("y").gpu(3).on("b"), pod("z").gpu(5).on("c")]
    assert used(nodes, bound, 4) == {"a": 2, "c": 2}


def test_pods_without_devices_leave_nodes_with_devices_alone() -> None:
    nodes = [node("a").gpus(8), node("b")]
    assert used(nodes, [pod("x").gpu(1).on("a")], 1, pod("w").asks(cpu=1)) == {"b": 1}


def test_a_soft_taint_comes_last() -> None:
    nodes = [node("a").gpus(1).taint("old", effect="PreferNoSchedule"), node("b").gpus(1)]
    assert used(nodes, [], 1) == {"b": 1}
    assert used(nodes, [], 1, ONE.tolerates("old")) == {"a": 1}


def test_names_decide_between_nodes_that_are_alike() -> None:
    assert used([node("c").gpus(1), node("a").gpus(1), node("b").gpus(1)], [], 2) == {"a": 1, "b": 1}


def test_members_fill_nodes_in_the_order_they_were_made() -> None:
    snapshot = books([node("a").gpus(2), node("b").gpus(2)]).snapshot()
    verdict = plan(snapshot, [gang("g", members(4, ONE))]).verdicts[Key("default", "g")]
    assert isinstance(verdict, Fits)
    assert [(p.uid, p.node) for p in verdict.placements] == [
        ("uid-w-0", "a"),
        ("uid-w-1", "a"),
        ("uid-w-2", "b"),
        ("uid-w-3", "b"),
    ]


def test_members_of_different_sizes_are_packed_where_largest_first_fails() -> None:
    # Filling the tight hole of 3 with the pod of 3 is what breaks it: 4 + 4 must share a node of 8, and 3 + 3 one of 6.
    nodes = [node("a").gpus(8), node("b").gpus(7)]
    group = gang("g", (*members(2, pod("x").gpu(4)), *members(1, pod("y").gpu(3)), *members(2, pod("z").gpu(2))))
    verdict = plan(books(nodes).snapshot(), [group]).verdicts[Key("default", "g")]
    assert isinstance(verdict, Fits)


def test_that_no_packing_exists_is_proven() -> None:
    nodes = [node("a").gpus(5), node("b").gpus(5)]
    group = gang("g", (*members(2, pod("x").gpu(3)), *members(1, pod("y").gpu(4))))
    verdict = plan(books(nodes).snapshot(), [group]).verdicts[Key("default", "g")]
    assert not isinstance(verdict, Fits)
    assert verdict.proven  # type: ignore[union-attr]


def test_other_members_than_the_oldest_are_taken_where_those_do_not_fit() -> None:
    group = gang("g", (*members(1, pod("big").gpu(4)), *members(3, pod("small").gpu(1))), need=3)
    verdict = plan(books([node("a").gpus(3)]).snapshot(), [group]).verdicts[Key("default", "g")]
    assert isinstance(verdict, Fits)
    assert [placement.uid for placement in verdict.placements] == ["uid-small-0", "uid-small-1", "uid-small-2"]
