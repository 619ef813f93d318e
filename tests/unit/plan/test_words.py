"""What users read of a verdict."""

import pytest
from tests.builders import GPU, HOST, RACK, ZONE, NodeBuilder, PodBuilder, books, gang, members, node, pod

from ganglift.api.scheduling import TopologyConstraint
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.plan.plan import plan
from ganglift.plan.request import GroupRequest
from ganglift.plan.verdict import (
    Behind,
    Cause,
    CauseKind,
    DoesNotFit,
    Fits,
    FreeUp,
    Label,
    MoreNodes,
    Placement,
    Tolerate,
    Uncordon,
    Verdict,
)
from ganglift.plan.words import cause_words, near_miss_words, words_of

WORKER = pod("w").gpu(1)


def said(nodes: list[NodeBuilder], group: GroupRequest, bound: list[PodBuilder] | None = None) -> str:
    return words_of(plan(books(nodes, bound).snapshot(), [group]).verdicts[group.key])


def test_counts_and_causes_are_told_as_in_the_design() -> None:
    nodes = [
        node("n1").gpus(2),
        node("n2").gpus(1),
        node("n3"),
        node("n4"),
        node("n5").gpus(8).taint("gpu", "spot"),
    ]
    told = said(nodes, gang("g", members(4, WORKER)))
    assert told.startswith(
        "3 of 4 members fit: 5 nodes: 2 insufficient nvidia.com/gpu, 1 untolerated taint gpu=spot:NoSchedule; 2 fit"
    )


def test_room_is_told_with_its_largest_hole() -> None:
    nodes = [node(f"n{i}").gpus(8) for i in range(3)]
    bound = [pod(f"b{i}").gpu(7).on(f"n{i}") for i in range(3)]
    told = said(nodes, gang("g", members(1, pod("w").gpu(2))), bound)
    assert "3 nvidia.com/gpu free on 3 nodes, largest hole 1" in told
    assert "would fit if 1 nvidia.com/gpu on n0 frees up or with one more node that has 2 nvidia.com/gpu free" in told


def test_what_members_keep_each_other_from_is_told() -> None:
    own = {"app": "x"}
    apart = pod("w").gpu(1).label("app", "x").apart(HOST, own)
    nodes = [node(name).gpus(8) for name in ("n1", "n2")]
    assert said(nodes, gang("g", members(3, apart))).startswith(
        "2 of 3 members fit: 2 nodes: 2 fit, after that 2 kept apart by anti-affinity over kubernetes.io/hostname"
    )
    spread = pod("w").gpu(1).label("app", "x").spread(ZONE, labelSelector={"matchLabels": own})
    zones = [node("n1").gpus(8).zone("a"), node("n2").gpus(1).zone("b")]
    assert said(zones, gang("g", members(5, spread))).startswith(
        "3 of 5 members fit: 2 nodes: 2 fit, after that 1 insufficient nvidia.com/gpu, "
        "1 would break the spread over topology.kubernetes.io/zone"
    )


@pytest.mark.parametrize(
    "closed",
    [node("n1").cordoned(), node("n1").taint("gpu", "spot"), node("n1").unready(), node("n1")],
    ids=["cordoned", "tainted", "unready", "without the label"],
)
def test_room_on_nodes_that_refuse_the_gang_is_not_called_taken(closed: NodeBuilder) -> None:
    told = said([closed.gpus(4), node("n2").label("pool", "a")], gang("g", members(1, WORKER.selects(pool="a"))))
    assert "; no nvidia.com/gpu free on nodes open to it, 4 free on 1 other node" in told


def test_room_is_told_apart_by_the_nodes_being_open_to_the_gang() -> None:
    nodes = [node("n1").gpus(3), node("n2").gpus(8).cordoned()]
    told = said(nodes, gang("g", members(4, WORKER)))
    assert "; 3 nvidia.com/gpu free on 1 node open to it, largest hole 3, 8 free on 1 other node" in told


def test_that_nothing_is_free_is_said_where_nothing_is_free_anywhere() -> None:
    told = said([node("n1").gpus(1)], gang("g", members(1, WORKER)), [pod("b").gpu(1).on("n1")])
    assert "; no nvidia.com/gpu free; " in told


def test_room_that_the_gang_holds_itself_is_not_named_as_what_should_come_free() -> None:
    nodes = [node("n1").gpus(2), node("n2").gpus(1)]
    bound = [pod("a").gpu(1).on("n1"), pod("b").gpu(1).on("n1"), pod("stranger").gpu(1).on("n2")]
    anchors = {Uid("uid-a"): NodeName("n1"), Uid("uid-b"): NodeName("n1")}
    assert "1 nvidia.com/gpu on n2 frees up" in said(nodes, gang("g", members(1, WORKER), anchors=anchors), bound)
    assert "frees up" not in said(nodes[:1], gang("g", members(1, WORKER), anchors=anchors), bound[:2])


def test_a_node_short_of_two_resources_is_counted_under_both() -> None:
    told = said([node("n1").offers(cpu=1, memory="1Gi")], gang("g", members(1, pod("w").asks(cpu=2, memory="2Gi"))))
    assert "1 node: 1 insufficient cpu, 1 insufficient memory; 0 fit" in told


def test_a_taint_alone_in_the_way_is_told() -> None:
    nodes = [node("n1").gpus(4).taint("gpu", "spot"), node("n2")]
    assert "would fit if the pods tolerate gpu=spot:NoSchedule, which 1 node has" in said(
        nodes, gang("g", members(4, WORKER))
    )


def test_a_resource_that_nobody_offers_is_told() -> None:
    told = said([node("n1")], gang("g", members(2, pod("w").resource("rdma/x", 1))))
    assert told == (
        "0 of 2 members fit: 1 node: 1 insufficient rdma/x; 0 fit; "
        "would fit with 2 more nodes that each have 1 rdma/x free"
    )


def test_too_few_pod_slots_are_called_too_many_pods() -> None:
    assert "1 too many pods" in said([node("n1").offers(pods=1)], gang("g", members(1, pod("w"))), [pod("b").on("n1")])


def test_an_empty_cluster_is_told() -> None:
    assert said([], gang("g", members(1, WORKER))).startswith("0 of 1 member fits: there are no nodes")


def test_a_topology_key_that_no_node_has_is_told() -> None:
    group = gang("g", members(1, WORKER), topology=(TopologyConstraint(key=RACK),))
    assert f"no node has the label {RACK}" in said([node("n1").gpus(1)], group)


def test_domains_that_are_too_small_are_told_with_the_best_of_them() -> None:
    nodes = [node("n1").gpus(2).rack("r1"), node("n2").gpus(3).rack("r2")]
    group = gang("g", members(4, WORKER), topology=(TopologyConstraint(key=RACK),))
    told = said(nodes, group)
    assert told.startswith(f"3 of 4 members fit: 2 nodes: 1 in other domains of {RACK}; 1 fit")
    assert f"no domain of {RACK} holds the gang, r2 holds most of it" in told


def test_a_rule_between_pods_is_told_where_it_is_in_the_way() -> None:
    nodes = [node("n1").gpus(1).zone("a"), node("n2").gpus(3).zone("b")]
    told = said(nodes, gang("g", members(4, WORKER.gang("g").spread(ZONE))))
    assert told.startswith("3 of 4 members fit: 2 nodes: 2 fit")


def test_what_is_not_judged_is_told_of_those_that_fit_and_of_those_that_do_not() -> None:
    claiming = WORKER.resource_claim("imex")
    assert said([node("n1").gpus(1)], gang("g", members(1, claiming))) == (
        "1 of 1 member fits: not judged: resource claim imex"
    )
    assert "not judged: resource claim imex" in said([node("n1")], gang("g", members(1, claiming)))


def test_a_search_that_was_cut_short_is_told() -> None:
    verdict = DoesNotFit(need=2, fit=1, nodes=3, fitting_nodes=1, causes=(), proven=False)
    assert "a plan may exist that was not found" in words_of(verdict)


def test_fitting_and_waiting_behind_are_told() -> None:
    assert words_of(Fits((Placement(Uid("u"), NodeName("n")),))) == "1 of 1 member fits"
    assert words_of(Behind(Key("default", "big"))) == (
        "waits behind default/big, which does not fit yet (queue policy strict)"
    )


@pytest.mark.parametrize("kind", list(CauseKind))
def test_every_cause_has_words_that_name_its_subject(kind: CauseKind) -> None:
    named = {
        CauseKind.TAINT,
        CauseKind.INSUFFICIENT,
        CauseKind.CLAIM,
        CauseKind.CLAIM_IN_USE,
        CauseKind.VOLUME_AFFINITY,
        CauseKind.VOLUME_ZONE,
        CauseKind.NO_LABEL,
        CauseKind.SPREAD,
        CauseKind.AFFINITY,
        CauseKind.ANTI_AFFINITY,
        CauseKind.DOMAIN,
    }
    assert ("SUBJECT" in cause_words(Cause(kind, "SUBJECT"))) == (kind in named)


def test_near_misses_are_told_in_the_units_people_write() -> None:
    assert near_miss_words(MoreNodes(3, (("cpu", 1500),))) == (
        "would fit with 3 more nodes that each have 1500m cpu free"
    )
    assert near_miss_words(FreeUp("memory", 2**31, NodeName("n7"))) == "would fit if 2Gi memory on n7 free up"
    assert near_miss_words(FreeUp(GPU, 2, NodeName("n7"))) == "would fit if 2 nvidia.com/gpu on n7 free up"
    assert near_miss_words(Tolerate("a:NoExecute", 2)) == (
        "would fit if the pods tolerate a:NoExecute, which 2 nodes have"
    )


def test_all_that_a_new_node_must_offer_is_told() -> None:
    wide = WORKER.asks(cpu=48, memory="192Gi").selects(pool="a", tier="b").needs_node(("zone", "In", ["z"]))
    told = said([node("n1").gpus(8)], gang("g", members(2, wide)))
    assert told.endswith(
        "would fit with 2 more nodes that each have 1 nvidia.com/gpu, 48 cpu and 192Gi memory free, "
        "labelled pool=a and tier=b, as the pods' node affinity asks"
    )


def test_nodes_without_the_label_are_named_to_be_labelled() -> None:
    nodes = [node(f"n{i}").gpus(1) for i in range(4)]
    told = said(nodes, gang("g", members(2, WORKER.selects(pool="a"))))
    assert "would fit if n0 and n1 are labelled pool=a or with 2 more nodes that each have" in told


def test_nodes_that_have_another_value_are_not_to_be_labelled_anew() -> None:
    told = said([node("n1").gpus(1).label("pool", "b")], gang("g", members(1, WORKER.selects(pool="a"))))
    assert "would fit with one more node" in told


def test_cordoned_nodes_that_are_enough_are_named() -> None:
    unschedulable = "node.kubernetes.io/unschedulable"
    nodes = [node(f"n{i}").gpus(1).cordoned().taint(unschedulable) for i in range(5)]
    assert "would fit if n0 is uncordoned or" in said(nodes, gang("g", members(1, WORKER)))
    assert "would fit if n0, n1, n2 and 2 more nodes are uncordoned or" in said(nodes, gang("g", members(5, WORKER)))


def test_a_cordoned_node_that_would_still_refuse_is_not_named() -> None:
    told = said([node("n1").gpus(1).cordoned().taint("gpu")], gang("g", members(1, WORKER)))
    assert "would fit with one more node" in told


def test_a_taint_is_not_told_where_another_is_in_the_way_too() -> None:
    told = said([node("n1").gpus(1).taint("a").taint("b")], gang("g", members(1, WORKER)))
    assert "would fit with one more node" in told


def test_no_new_node_is_promised_to_a_pod_that_must_go_to_a_named_one() -> None:
    named = WORKER.needs_node(("metadata.name", "In", ["n7"]), fields=True)
    assert "would fit" not in said([node("n1").gpus(1)], gang("g", members(1, named)))


def test_room_alone_is_not_promised_to_help_where_a_host_port_is_taken() -> None:
    bound = [pod("b").gpu(1).host_port(80).on("n1")]
    told = said([node("n1").gpus(1)], gang("g", members(1, WORKER.host_port(80))), bound)
    assert "frees up" not in told


def fixed_by(made: NodeBuilder) -> NodeBuilder:
    """The node uncordoned, and with the label that the members of these tests select."""
    return made._with("spec", "unschedulable", value=False).label("pool", "a")


@pytest.mark.parametrize(
    ("made", "needed"),
    [
        (node("n0").gpus(1).cordoned().label("pool", "a"), 3),
        (node("n0").gpus(1), 3),
        (node("n0").gpus(2).cordoned().label("pool", "a"), 3),
        (node("n0").gpus(2), 4),
    ],
    ids=["cordoned", "without label", "cordoned, of two", "without label, of two"],
)
def test_what_is_told_to_do_to_nodes_is_enough_and_no_more_than_is_needed(made: NodeBuilder, needed: int) -> None:
    nodes = {f"n{i}": made._with("metadata", "name", value=f"n{i}") for i in range(4)}
    group = gang("g", members(needed, WORKER.selects(pool="a")))

    def verdict(changed: tuple[NodeName, ...]) -> Verdict:
        all_nodes = [fixed_by(one) if name in changed else one for name, one in nodes.items()]
        return plan(books(all_nodes).snapshot(), [group]).verdicts[group.key]

    told = verdict(())
    assert isinstance(told, DoesNotFit)
    (names,) = [miss.nodes for miss in told.near_misses if isinstance(miss, Uncordon | Label)]
    assert isinstance(verdict(names), Fits)
    assert isinstance(verdict(names[1:]), DoesNotFit)


def test_members_that_do_not_exist_yet_are_told() -> None:
    told = said([node("n1").gpus(4)], gang("g", members(3, WORKER), need=4))
    assert told == "3 of 4 members fit: 1 node: 1 fit; 1 more must exist"
