"""Members kept together in domains."""

from collections import Counter

from tests.builders import RACK, ZONE, NodeBuilder, PodBuilder, books, gang, members, node, pod

from ganglift.api.scheduling import TopologyConstraint
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.plan.plan import plan
from ganglift.plan.request import GroupRequest
from ganglift.plan.verdict import DoesNotFit, Fits

ONE = pod("w").gpu(1)
RACKED = TopologyConstraint(key=RACK)
ZONED = TopologyConstraint(key=ZONE)


def racks(sizes: dict[str, tuple[str, int]]) -> list[NodeBuilder]:
    """A node for each name, in a rack, with GPUs."""
    return [node(name).rack(rack).gpus(gpus) for name, (rack, gpus) in sizes.items()]


def fitting(nodes: list[NodeBuilder], group: GroupRequest, bound: list[PodBuilder] | None = None) -> Fits:
    verdict = plan(books(nodes, bound).snapshot(), [group]).verdicts[group.key]
    assert isinstance(verdict, Fits), verdict
    return verdict


def rack_sizes(nodes: list[NodeBuilder], fits: Fits) -> dict[str, int]:
    rack = {one.made.name: one.made.metadata.labels.get(RACK, "") for one in nodes}
    return dict(Counter(rack[placement.node] for placement in fits.placements))


def test_the_smallest_domain_that_holds_the_gang_is_used() -> None:
    nodes = racks({"a": ("big", 8), "b": ("small", 3), "c": ("tiny", 1)})
    assert rack_sizes(nodes, fitting(nodes, gang("g", members(3, ONE), topology=(RACKED,)))) == {"small": 3}


def test_nodes_without_the_label_are_in_no_domain() -> None:
    nodes = [node("a").gpus(8), *racks({"b": ("r", 2)})]
    assert rack_sizes(nodes, fitting(nodes, gang("g", members(2, ONE), topology=(RACKED,)))) == {"r": 2}


def test_an_inner_domain_is_looked_for_inside_the_outer_one() -> None:
    nodes = [
        node("a").zone("z1").rack("r1").gpus(2),
        node("b").zone("z1").rack("r2").gpus(2),
        node("c").zone("z2").rack("r3").gpus(3),
    ]
    fits = fitting(nodes, gang("g", members(3, ONE), topology=(ZONED, RACKED)))
    assert [placement.pins for placement in fits.placements] == [((ZONE, "z2"), (RACK, "r3"))] * 3


def test_racks_of_one_name_in_two_zones_are_not_one_domain() -> None:
    nodes = [node("a").zone("z1").rack("r").gpus(2), node("b").zone("z2").rack("r").gpus(2)]
    group = gang("g", members(3, ONE), topology=(ZONED, RACKED))
    assert isinstance(plan(books(nodes).snapshot(), [group]).verdicts[group.key], DoesNotFit)


def test_a_preferred_level_is_kept_where_it_can_be_and_dropped_where_it_can_not() -> None:
    nodes = racks({"a": ("r1", 2), "b": ("r2", 2), "c": ("r3", 4)})
    preferred = (TopologyConstraint(key=RACK, mode="Preferred"),)
    assert rack_sizes(nodes, fitting(nodes, gang("g", members(3, ONE), topology=preferred))) == {"r3": 3}
    assert rack_sizes(nodes, fitting(nodes, gang("g", members(6, ONE), topology=preferred))) == {"r3": 4, "r1": 2}


def test_a_preferred_level_pins_nobody() -> None:
    nodes = racks({"a": ("r1", 2)})
    preferred = (TopologyConstraint(key=RACK, mode="Preferred"),)
    assert all(not p.pins for p in fitting(nodes, gang("g", members(2, ONE), topology=preferred)).placements)


def test_members_join_the_domain_of_those_that_are_there() -> None:
    nodes = racks({"a": ("r1", 3), "b": ("r2", 2)})
    bound = [pod("old").gpu(1).on("a")]
    anchors = {Uid("uid-old"): NodeName("a")}
    group = gang("g", members(2, ONE), topology=(RACKED,), anchors=anchors)
    assert rack_sizes(nodes, fitting(nodes, group, bound)) == {"r1": 2}


def test_members_wait_where_the_domain_of_the_others_is_full() -> None:
    nodes = racks({"a": ("r1", 1), "b": ("r2", 2)})
    group = gang("g", members(1, ONE), topology=(RACKED,), anchors={Uid("uid-old"): NodeName("a")})
    snapshot = books(nodes, [pod("old").gpu(1).on("a")]).snapshot()
    assert isinstance(plan(snapshot, [group]).verdicts[group.key], DoesNotFit)


def test_slices_are_equal_and_each_is_whole_in_one_domain() -> None:
    nodes = racks({"a": ("r1", 5), "b": ("r2", 5), "c": ("r3", 1)})
    sliced = (TopologyConstraint(key=RACK, slices=2),)
    assert rack_sizes(nodes, fitting(nodes, gang("g", members(8, ONE), topology=sliced))) == {"r1": 4, "r2": 4}


def test_sizes_that_do_not_divide_make_the_first_slices_one_larger() -> None:
    nodes = racks({"a": ("r1", 3), "b": ("r2", 2)})
    sliced = (TopologyConstraint(key=RACK, slices=2),)
    assert rack_sizes(nodes, fitting(nodes, gang("g", members(5, ONE), topology=sliced))) == {"r1": 3, "r2": 2}


def test_a_slice_that_finds_no_domain_keeps_all_of_them_waiting() -> None:
    nodes = racks({"a": ("r1", 4), "b": ("r2", 3)})
    group = gang("g", members(8, ONE), topology=(TopologyConstraint(key=RACK, slices=2),))
    verdict = plan(books(nodes).snapshot(), [group]).verdicts[group.key]
    assert isinstance(verdict, DoesNotFit)
    assert verdict.fit < 8


def test_members_of_different_sizes_share_a_domain() -> None:
    nodes = racks({"a": ("r1", 4), "b": ("r1", 4), "c": ("r2", 8), "d": ("r2", 4)})
    group = gang("g", (*members(1, pod("l").gpu(8)), *members(4, ONE)), topology=(RACKED,))
    assert rack_sizes(nodes, fitting(nodes, group)) == {"r2": 5}


def test_members_beyond_need_stay_in_the_domain_too() -> None:
    nodes = racks({"a": ("r1", 3), "b": ("r2", 8)})
    snapshot = books(nodes).snapshot()
    group = gang("g", members(4, ONE), 2, topology=(RACKED,), anchors={Uid("x"): NodeName("a")})
    result = plan(snapshot, [group])
    assert [placement.node for placement in result.extras[Key("default", "g")]] == ["a"]
