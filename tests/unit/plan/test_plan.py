"""The plan of waiting gangs, over the rules of single nodes."""

from tests.builders import books, gang, members, node, pod

from ganglift.base.ids import Key
from ganglift.plan.plan import plan
from ganglift.plan.queue import Policy
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
        "one more node with 1 nvidia.com/gpu would do"
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


def test_members_beyond_need_are_placed_after_all_gangs() -> None:
    snapshot = books([node("n").gpus(4)]).snapshot()
    groups = [gang("a", members(4, WORKER, "a"), need=2), gang("b", members(1, WORKER, "b"), created=1)]
    result = plan(snapshot, groups)
    assert isinstance(result.verdicts[key("b")], Fits)
    assert [p.uid for p in result.extras[key("a")]] == ["uid-a-2"]
