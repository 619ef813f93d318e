"""Members that bear on each other: the order of the plan, and what may stand nominated meanwhile."""

from collections import Counter

from tests.builders import HOST, ZONE, NodeBuilder, PodBuilder, books, gang, members, node, pod

from ganglift.api.names import GROUP_LABEL
from ganglift.base.ids import Key
from ganglift.plan.plan import plan
from ganglift.plan.request import GroupRequest
from ganglift.plan.verdict import DoesNotFit, Fits

OWN = {GROUP_LABEL: "g"}
WORKER = pod("w").gpu(1).gang("g")


def fitting(nodes: list[NodeBuilder], group: GroupRequest, bound: list[PodBuilder] | None = None) -> Fits:
    verdict = plan(books(nodes, bound).snapshot(), [group]).verdicts[group.key]
    assert isinstance(verdict, Fits), verdict
    return verdict


def test_members_without_rules_need_no_order() -> None:
    assert not fitting([node("a").gpus(2)], gang("g", members(2, WORKER))).in_sequence


def test_spread_members_take_turns_between_zones() -> None:
    nodes = [node(f"{zone}{i}").zone(zone).gpus(1) for zone in "ab" for i in range(16)]
    fits = fitting(nodes, gang("g", members(32, WORKER.spread(ZONE))))
    assert fits.in_sequence
    assert [placement.node[0] for placement in fits.placements] == ["a", "b"] * 16


def test_spread_members_use_nodes_that_have_none_yet_while_there_are_any() -> None:
    nodes = [node(f"{zone}{i}").zone(zone).gpus(4) for zone in "ab" for i in range(2)]
    fits = fitting(nodes, gang("g", members(4, WORKER.spread(ZONE))))
    assert set(Counter(placement.node for placement in fits.placements).values()) == {1}
    assert fits.held_back == frozenset()


def test_later_members_on_a_node_that_would_push_earlier_ones_away_are_held_back() -> None:
    nodes = [node("a").zone("a").gpus(4), node("b").zone("b").gpus(4)]
    fits = fitting(nodes, gang("g", members(4, WORKER.spread(ZONE))))
    assert [placement.node for placement in fits.placements] == ["a", "b", "a", "b"]
    # The third would be counted on `a` while the first is looked at there; the fourth is counted on `b` only once the
    # first is bound, and then the skew allows it.
    assert fits.held_back == {fits.placements[2].uid}


def test_more_skew_lets_more_members_stand_nominated() -> None:
    nodes = [node("a").zone("a").gpus(4), node("b").zone("b").gpus(4)]
    fits = fitting(nodes, gang("g", members(4, WORKER.spread(ZONE, 2))))
    assert fits.held_back == frozenset()


UNSELECTIVE = WORKER.spread(ZONE, labelSelector={})


def test_an_empty_selector_spreads_no_pods_that_are_bound() -> None:
    fits = fitting([node("a").zone("a").gpus(3), node("b").zone("b")], gang("g", members(3, UNSELECTIVE)))
    assert [placement.node for placement in fits.placements] == ["a", "a", "a"]


def test_with_an_empty_selector_members_are_held_back_until_earlier_ones_on_their_node_are_bound() -> None:
    fits = fitting([node("a").zone("a").gpus(3)], gang("g", members(3, UNSELECTIVE)))
    assert fits.held_back == {placement.uid for placement in fits.placements[1:]}


def test_an_empty_selector_counts_pods_that_are_nominated_to_the_same_node_alone() -> None:
    nodes = [node(name).zone("a").gpus(2) for name in ("n1", "n2")]
    reserved = pod("x").nominated("n1").gated()
    fits = fitting(nodes, gang("g", members(1, UNSELECTIVE)), [reserved, pod("y").on("n2")])
    assert [placement.node for placement in fits.placements] == ["n2"]


def test_the_leader_comes_first_whatever_the_order_of_creation() -> None:
    nodes = [node("a").zone("a").gpus(1), node("b").zone("b").gpus(3)]
    worker = WORKER.near(ZONE, {"role": "leader"})
    group = gang("g", (*members(2, worker), *members(1, WORKER.label("role", "leader"), "leader")))
    fits = fitting(nodes, group)
    assert fits.placements[0].uid == "uid-leader-0"
    assert {placement.node for placement in fits.placements} == {"b"}


def test_a_gang_that_wants_to_be_together_goes_where_all_have_room() -> None:
    nodes = [node("a").zone("a").gpus(1), node("b1").zone("b").gpus(1), node("b2").zone("b").gpus(1)]
    fits = fitting(nodes, gang("g", members(2, WORKER.near(ZONE, OWN))))
    assert sorted(placement.node for placement in fits.placements) == ["b1", "b2"]


def test_a_gang_joins_the_pods_that_it_wants_to_be_near() -> None:
    nodes = [node("a").zone("a").gpus(4), node("b").zone("b").gpus(4)]
    near = WORKER.near(ZONE, {"app": "cache"})
    fits = fitting(nodes, gang("g", members(2, near)), [pod("cache").label("app", "cache").on("b")])
    assert [placement.node for placement in fits.placements] == ["b", "b"]
    assert not fits.in_sequence


def test_a_pod_that_only_holds_a_nomination_is_not_near_yet() -> None:
    nodes = [node("b").zone("b").gpus(4)]
    group = gang("g", members(2, WORKER.near(ZONE, {"app": "cache"})))
    standing = [pod("cache").label("app", "cache").nominated("b")]
    assert isinstance(plan(books(nodes, standing).snapshot(), [group]).verdicts[group.key], DoesNotFit)


def test_a_gang_that_joins_pods_in_two_domains_uses_both() -> None:
    nodes = [node("a").zone("a").gpus(3), node("b").zone("b").gpus(3)]
    bound = [pod(f"p{zone}").label("app", "db").gpu(1).on(zone) for zone in "ab"]
    fits = fitting(nodes, gang("g", members(4, WORKER.near(ZONE, {"app": "db"}))), bound)
    assert Counter(placement.node for placement in fits.placements) == {"a": 2, "b": 2}


def test_a_gang_that_wants_to_be_together_and_is_larger_than_any_domain_is_refused_with_proof_at_once() -> None:
    nodes = [node(f"{zone}{i}").zone(zone).gpus(8).offers(pods=999) for zone in "abc" for i in range(100)]
    verdict = plan(books(nodes).snapshot(), [gang("g", members(2_000, WORKER.near(ZONE, OWN)))]).verdicts[
        Key("default", "g")
    ]
    assert isinstance(verdict, DoesNotFit)
    assert (verdict.fit, verdict.proven) == (800, True)


def test_members_apart_take_one_node_each() -> None:
    nodes = [node(f"n{i}").gpus(4) for i in range(3)]
    assert len({p.node for p in fitting(nodes, gang("g", members(3, WORKER.apart(HOST, OWN)))).placements}) == 3


def test_more_members_apart_than_domains_are_refused_with_proof() -> None:
    nodes = [node(f"n{i}").gpus(4) for i in range(3)]
    verdict = plan(books(nodes).snapshot(), [gang("g", members(4, WORKER.apart(HOST, OWN)))]).verdicts[
        Key("default", "g")
    ]
    assert isinstance(verdict, DoesNotFit)
    assert (verdict.fit, verdict.proven) == (3, True)


def test_others_that_want_to_be_apart_are_respected_also_while_nominated() -> None:
    nodes = [node("a").gpus(4), node("b").gpus(4)]
    loner = pod("loner").apart(HOST, OWN).nominated("a")
    assert {p.node for p in fitting(nodes, gang("g", members(2, WORKER)), [loner]).placements} == {"b"}


def test_gangs_planned_together_respect_each_other() -> None:
    nodes = [node("a").gpus(4), node("b").gpus(4)]
    first = gang("a", members(1, pod("x").gpu(1).label("app", "x").apart(HOST, {"app": "y"}), "x"))
    second = gang("b", members(1, pod("y").gpu(1).label("app", "y"), "y"), created=1)
    verdicts = plan(books(nodes).snapshot(), [first, second]).verdicts
    places = [v.placements[0].node for v in verdicts.values() if isinstance(v, Fits)]
    assert places == ["a", "b"]


def test_members_with_one_host_port_take_one_node_each() -> None:
    nodes = [node("a").gpus(4), node("b").gpus(4)]
    fits = fitting(nodes, gang("g", members(2, WORKER.host_port(9000))))
    assert sorted(placement.node for placement in fits.placements) == ["a", "b"]


def test_members_of_different_demands_with_one_host_port_are_kept_apart() -> None:
    nodes = [node("a").gpus(4), node("b").gpus(4)]
    group = gang("g", (*members(1, WORKER.host_port(9000), "x"), *members(1, WORKER.gpu(2).host_port(9000), "y")))
    assert len({placement.node for placement in fitting(nodes, group).placements}) == 2


def test_a_gang_of_a_thousand_under_spread_is_planned() -> None:
    nodes = [node(f"n{i:04}").zone("abcd"[i % 4]).gpus(8) for i in range(200)]
    fits = fitting(nodes, gang("g", members(1000, WORKER.spread(ZONE))))
    assert Counter("abcd"[int(p.node[1:]) % 4] for p in fits.placements) == {"a": 250, "b": 250, "c": 250, "d": 250}
