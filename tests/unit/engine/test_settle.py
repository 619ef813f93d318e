"""What is done about a gang whose gates are lifted while not all that are needed are bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.builders import NodeBuilder, PodBuilder, books, node, pod
from tests.kinds import PodGroupBuilder, at, podgroup, stamp

from ganglift.api.names import LIFTED_AT
from ganglift.base.ids import NodeName, Uid
from ganglift.engine.look import Look, look_at
from ganglift.engine.settle import Repair, Situation, Step, TakeBack, Wait, settle

THREE_FREE = [node(f"n{number}").gpus(1) for number in range(1, 4)]


def member(name: str) -> PodBuilder:
    return pod(name).gang("g").gpu(1)


def lifted(name: str, second: float = 0.0) -> PodBuilder:
    """A member whose gate we lifted at that second."""
    return member(name).annotation(LIFTED_AT, stamp(second))


def refused(builder: PodBuilder, message: str = "0/3 nodes are available") -> PodBuilder:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return builder._with("status", "conditions", value=[condition])


def bound(name: str, on: str, second: float = 0.0) -> PodBuilder:
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(second)}
    return lifted(name).on(on)._with("status", "conditions", value=[condition])


def look(*pods: PodBuilder, group: PodGroupBuilder | None = None) -> Look:
    group = group or podgroup("g").gang(2)
    return look_at(group.made, [one.made for one in pods], (), lambda _: False)


def situation(pods: tuple[PodBuilder, ...], nodes: list[NodeBuilder] = THREE_FREE, **more: Any) -> Situation:
    """As it is a second after the gates were lifted."""
    planned = more.pop("planned", None)
    if planned is None:
        planned = {one.made.uid: NodeName(one.made.nominated) for one in pods if one.made.nominated}
    plain = Situation(
        snapshot=books(nodes, list(pods)).snapshot(),
        now=at(1.0),
        partial_since=at(0.0),
        planned=planned,
        avoid=frozenset(),
        unrepairable_for_s=0.0,
        may_repair=True,
    )
    return replace(plain, **more)


def step(*pods: PodBuilder, group: PodGroupBuilder | None = None, **more: Any) -> Step:
    return settle(look(*pods, group=group), situation(pods, **more))


def places(step: Step) -> Mapping[Uid, NodeName]:
    assert isinstance(step, Repair)
    return step.places


# Waiting


def test_members_that_the_scheduler_has_not_tried_yet_are_waited_for() -> None:
    found = step(lifted("a").nominated("n1"), lifted("b").nominated("n2"))
    assert found == Wait(at(60))


def test_one_that_was_refused_keeps_its_place_while_it_fits_there() -> None:
    found = step(refused(lifted("a").nominated("n1")), lifted("b").nominated("n2"))
    assert found == Wait(at(60))


def test_a_member_that_kube_scheduler_preempts_for_is_waited_for() -> None:
    full = [node("n1").gpus(1), node("n2").gpus(1)]
    pods = (refused(lifted("a").nominated("n2")), bound("b", "n1"), pod("low").gpu(1).on("n2"))
    assert step(*pods, nodes=full, planned={Uid("uid-a"): NodeName("n1")}) == Wait(at(60))


# Repair


def test_a_refused_member_without_a_nomination_gets_another_place() -> None:
    pods = (refused(lifted("a")), bound("b", "n2"))
    assert places(step(*pods, planned={Uid("uid-a"): NodeName("n1")})) == {"uid-a": "n3"}


def test_the_node_that_has_just_refused_a_member_is_not_tried_again() -> None:
    pods = (refused(lifted("a")), bound("b", "n2"))
    found = step(*pods, nodes=THREE_FREE[:2], planned={Uid("uid-a"): NodeName("n1")})
    assert isinstance(found, Wait)
    assert found.is_without_place


@pytest.mark.parametrize(("times", "node"), [(1, "n1"), (2, "n3")])
def test_r35_a_repair_that_was_wiped_is_made_again_where_there_is_room_but_once(times: int, node: str) -> None:
    at_n1 = {Uid("uid-a"): NodeName("n1")}
    pods = (refused(lifted("a")), bound("b", "n2"))
    repairs = {(Uid("uid-a"), NodeName("n1")): times}
    assert places(step(*pods, planned=at_n1, repairs=repairs)) == {"uid-a": node}


def test_r35_a_repair_whose_room_is_taken_is_made_elsewhere() -> None:
    at_n1 = {Uid("uid-a"): NodeName("n1")}
    pods = (refused(lifted("a")), bound("b", "n2"), pod("thief").gpu(1).on("n1"))
    repairs = {(Uid("uid-a"), NodeName("n1")): 1}
    assert places(step(*pods, planned=at_n1, repairs=repairs)) == {"uid-a": "n3"}


def test_nodes_that_are_avoided_are_not_tried() -> None:
    found = step(refused(lifted("a")), bound("b", "n2"), avoid=frozenset({NodeName("n1")}))
    assert places(found) == {"uid-a": "n3"}


def test_a_standing_nomination_on_a_node_that_is_full_is_no_place() -> None:
    never = refused(lifted("a").priority(0, preempts=False).nominated("n1"))
    pods = (never, bound("b", "n2"), pod("thief").gpu(1).on("n1"))
    assert places(step(*pods)) == {"uid-a": "n3"}


def test_a_standing_nomination_on_a_node_that_is_gone_is_no_place() -> None:
    found = step(refused(lifted("a").nominated("gone")), bound("b", "n2"), planned={Uid("uid-a"): NodeName("gone")})
    assert places(found) == {"uid-a": "n1"}


def test_two_members_that_block_each_other_get_different_places() -> None:
    pods = (refused(lifted("a").nominated("n1")), refused(lifted("b").nominated("n1")))
    found = step(*pods, group=podgroup("g").gang(2))
    assert len(set(places(found).values())) == len(places(found)) > 0


def test_a_repair_keeps_to_the_racks_that_the_gang_was_promised() -> None:
    group = podgroup("g").gang(2).spec(schedulingConstraints={"topology": [{"key": "rack"}]})
    nodes = [node("n1").gpus(1).label("rack", "x"), node("n2").gpus(1).label("rack", "y"), node("n3").gpus(1)]
    nodes.append(node("n4").gpus(1).label("rack", "x"))
    assert places(step(refused(lifted("a")), bound("b", "n1"), group=group, nodes=nodes)) == {"uid-a": "n4"}


def test_nothing_is_repaired_twice_for_one_state_of_the_world() -> None:
    found = step(refused(lifted("a")), bound("b", "n2"), may_repair=False)
    assert isinstance(found, Wait)
    assert (found.until, found.is_without_place) == (at(60), False)


def test_a_wait_names_who_was_refused_and_why() -> None:
    found = step(refused(lifted("a"), "no luck"), refused(lifted("b"), "none either"), may_repair=False)
    assert found.trouble == "kube-scheduler refused a and 1 more: no luck"


# Taking back


def test_no_other_place_is_borne_for_a_moment() -> None:
    pods = (refused(lifted("a")), bound("b", "n2"), pod("x").gpu(1).on("n1"), pod("y").gpu(1).on("n3"))
    early = step(*pods, unrepairable_for_s=0.9)
    assert isinstance(early, Wait)
    assert (early.is_without_place, early.wait_s(at(1.0))) == (True, 1.0)
    late = step(*pods, unrepairable_for_s=1.0)
    assert isinstance(late, TakeBack)
    assert "kube-scheduler refused a: 0/3 nodes are available; there is no other place: " in late.why


@pytest.mark.parametrize(("second", "kind"), [(59.9, Wait), (60.0, TakeBack)])
def test_a_gang_without_progress_is_taken_back_at_its_timeout(second: float, kind: type[Step]) -> None:
    found = step(lifted("a").nominated("n1"), lifted("b").nominated("n2"), now=at(second))
    assert isinstance(found, kind)


def test_the_timeout_is_the_groups_own() -> None:
    group = podgroup("g").gang(2).spec(scheduleTimeoutSeconds=5)
    found = step(lifted("a").nominated("n1"), lifted("b").nominated("n2"), group=group, now=at(5))
    assert isinstance(found, TakeBack)
    assert "no member was bound for 5 s: kube-scheduler has not bound the released members" in found.why


def test_the_timeout_runs_anew_from_each_bind() -> None:
    pods = (bound("a", "n1", second=50), lifted("b").nominated("n2"))
    assert step(*pods, now=at(61)) == Wait(at(110))
    assert isinstance(step(*pods, now=at(110)), TakeBack)


def test_the_timeout_of_a_replacement_runs_from_its_own_lift() -> None:
    pods = (bound("a", "n1", second=0), lifted("b", second=4000).nominated("n2"))
    assert step(*pods, now=at(4001)) == Wait(at(4060))


def test_the_times_on_the_pods_count_also_for_a_process_that_has_just_begun() -> None:
    found = step(lifted("a").nominated("n1"), lifted("b").nominated("n2"), now=at(61), partial_since=at(61))
    assert isinstance(found, TakeBack)


def test_a_gate_that_someone_else_removed_counts_from_when_it_was_seen() -> None:
    pods = (bound("a", "n1", second=0), member("b"))
    assert step(*pods, now=at(4001), partial_since=at(4000)) == Wait(at(4060))
    assert isinstance(step(*pods, now=at(4060), partial_since=at(4000)), TakeBack)


# When settling is called for


def test_a_gang_of_which_nothing_was_let_loose_is_not_partial() -> None:
    assert not look(member("a").gated(), member("b").gated()).is_partial


def test_a_gang_with_all_it_needs_bound_is_not_partial() -> None:
    assert not look(bound("a", "n1"), bound("b", "n2"), lifted("c")).is_partial


def test_bound_members_alone_make_a_gang_partial_that_was_never_whole() -> None:
    assert look(bound("a", "n1"), member("b").gated()).is_partial


def test_a_gang_that_was_whole_and_lacks_a_member_is_left_alone() -> None:
    group = podgroup("g").gang(2).status(scheduledTime=stamp(0))
    assert not look(bound("a", "n1"), member("b").gated(), group=group).is_partial


def test_the_replacement_of_a_lost_member_must_not_stay_loose_for_ever() -> None:
    group = podgroup("g").gang(2).status(scheduledTime=stamp(0))
    assert look(bound("a", "n1"), lifted("b"), group=group).is_partial


def test_a_pod_of_another_scheduler_is_no_member_that_we_let_loose() -> None:
    assert not look(member("a").scheduler("volcano"), member("b").gated()).is_partial


def test_a_group_that_is_being_deleted_is_left_alone() -> None:
    assert not look(lifted("a"), lifted("b"), group=podgroup("g").gang(2).deleting()).is_partial
