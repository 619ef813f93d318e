"""Questions about plans that are already made."""

import pytest
from tests.builders import HOST, RACK, ZONE, books, members, node, pod

from ganglift.base.ids import NodeName
from ganglift.plan.check import Broken, could_use, replace_one, still_fits
from ganglift.plan.request import Member
from ganglift.plan.shape import shape_of
from ganglift.plan.verdict import Cause, CauseKind

WORKER = pod("w").gpu(1).gang("g").gated()


def on(*nodes: str, like: object = None) -> list[tuple[Member, NodeName]]:
    made = members(len(nodes), like or WORKER)  # type: ignore[arg-type]
    return [(member, NodeName(name)) for member, name in zip(made, nodes, strict=True)]


def test_a_plan_holds_over_its_own_reservations() -> None:
    reserved = [pod(f"w-{i}").gpu(1).gang("g").gated().nominated("a") for i in range(2)]
    assert still_fits(books([node("a").gpus(2)], reserved).snapshot(), on("a", "a")) == ()


def test_room_that_was_taken_breaks_the_last_of_those_who_were_to_share_it() -> None:
    snapshot = books([node("a").gpus(2)], [pod("x").gpu(1).on("a")]).snapshot()
    assert still_fits(snapshot, on("a", "a")) == (
        Broken(on("a", "a")[1][0].uid, NodeName("a"), (Cause(CauseKind.INSUFFICIENT, "nvidia.com/gpu"),)),
    )


def test_a_node_that_is_gone_breaks_a_plan_without_further_causes() -> None:
    (broken,) = still_fits(books([node("a").gpus(1)]).snapshot(), on("b"))
    assert (broken.node, broken.causes) == ("b", ())


def test_room_of_others_may_be_given_up_for_the_question() -> None:
    snapshot = books([node("a").gpus(1)], [pod("low").gpu(1).nominated("a").gated()]).snapshot()
    assert still_fits(snapshot, on("a")) != ()
    assert still_fits(snapshot, on("a"), own=[pod("low").made.uid]) == ()


def test_rules_between_pods_are_asked_step_by_step() -> None:
    nodes = [node("a").zone("a").gpus(2), node("b").zone("b").gpus(2)]
    spread = WORKER.spread(ZONE)
    snapshot = books(nodes).snapshot()
    assert still_fits(snapshot, on("a", "b", like=spread)) == ()
    (broken,) = still_fits(snapshot, on("a", "a", like=spread))
    assert broken.causes == (Cause(CauseKind.SPREAD, ZONE),)


def test_a_node_that_left_the_promised_domain_breaks_the_plan() -> None:
    snapshot = books([node("a").rack("r2").gpus(1)]).snapshot()
    ((member, name),) = on("a")
    assert still_fits(snapshot, [(member, name)], pins={member.uid: ((RACK, "r2"),)}) == ()
    (broken,) = still_fits(snapshot, [(member, name)], pins={member.uid: ((RACK, "r1"),)})
    assert broken.causes == (Cause(CauseKind.DOMAIN, RACK),)


def test_one_member_is_placed_again_elsewhere() -> None:
    snapshot = books(
        [node("a").gpus(1), node("b").gpus(1)], [pod("w-0").gpu(1).gang("g").gated().nominated("a")]
    ).snapshot()
    (member,) = members(1, WORKER)
    again, elsewhere = replace_one(snapshot, member), replace_one(snapshot, member, avoid=[NodeName("a")])
    assert again is not None
    assert elsewhere is not None
    assert (again.node, elsewhere.node) == ("a", "b")
    assert replace_one(snapshot, member, avoid=[NodeName("a"), NodeName("b")]) is None


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        (pod("x"), True),
        (pod("x").selects(tier="gold"), False),
        (pod("x").node_selector({HOST: "b"}), False),
        (pod("x").gpu(8), True),
    ],
)
def test_a_stranger_could_use_a_node_if_the_nodes_own_rules_let_it(who: object, expected: bool) -> None:
    snapshot = books([node("a").gpus(1), node("b").gpus(8)]).snapshot()
    assert could_use(snapshot, shape_of(who.made), [NodeName("a")]) is expected  # type: ignore[attr-defined]


def test_a_stranger_is_asked_about_room_where_that_is_wanted() -> None:
    snapshot = books([node("a").gpus(1)], [pod("r").gpu(1).gated().nominated("a")]).snapshot()
    stranger = shape_of(pod("x").gpu(1).made)
    assert could_use(snapshot, stranger, [NodeName("a")], ignoring=()) is False
    assert could_use(snapshot, stranger, [NodeName("a")], ignoring=[pod("r").made.uid]) is True
