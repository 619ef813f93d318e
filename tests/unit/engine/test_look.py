"""One look at a group: whether to plan it, and what of it is asked of the planner."""

import pytest
from tests.builders import PodBuilder, pod
from tests.kinds import PodGroupBuilder, podgroup

from ganglift.api.names import LIFTED_AT
from ganglift.base.ids import NodeName, Uid
from ganglift.engine.look import Look, look_at, member_of
from ganglift.gang.outcome import Waiting
from ganglift.gang.reasons import Reason
from ganglift.plan.verdict import DoesNotFit


def gated(name: str) -> PodBuilder:
    return pod(name).gang("g").gated()


def lifted(name: str) -> PodBuilder:
    return pod(name).gang("g").annotation(LIFTED_AT, "2026-11-30T12:00:00.250Z")


def look(*pods: PodBuilder, group: PodGroupBuilder | None = None, foreign: str = "") -> Look:
    group = group or podgroup("g").gang(2)
    return look_at(group.made, [one.made for one in pods], (), lambda one: one.name == foreign)


def test_a_gang_with_enough_gated_members_is_to_be_planned() -> None:
    assert look(gated("a"), gated("b")).is_ready


@pytest.mark.parametrize(
    "pods",
    [
        (gated("a"),),
        (gated("a"), gated("b").terminating()),
        (gated("a"), pod("b").gang("g").gated("other.dev/gate")),
        (gated("a"), pod("b").gang("g").scheduler("volcano")),
        (lifted("a"), gated("b")),
        (lifted("a").on("n1"), lifted("b").on("n2")),
    ],
    ids=["one too few", "one leaving", "one with another gate", "one of another scheduler", "one loose", "all bound"],
)
def test_a_gang_is_not_planned(pods: tuple[PodBuilder, ...]) -> None:
    assert not look(*pods).is_ready


def test_a_gang_is_not_planned_while_something_is_in_the_way() -> None:
    obstacle = Waiting(Reason.WORKLOAD_MISSING, "no Workload")
    seen = look_at(podgroup("g").gang(1).made, [gated("a").made], (), lambda _: False, obstacle)
    assert not seen.is_ready


def test_a_group_that_is_being_deleted_is_not_planned() -> None:
    assert not look(gated("a"), gated("b"), group=podgroup("g").gang(2).deleting()).is_ready


def test_the_rest_of_a_gang_is_planned_once_every_loose_member_has_a_place() -> None:
    assert look(lifted("a").nominated("n1"), gated("b")).is_ready
    assert look(lifted("a").on("n1"), gated("b")).is_ready


def test_members_beyond_need_are_planned_once_the_gang_is_whole() -> None:
    seen = look(lifted("a").on("n1"), lifted("b").on("n2"), lifted("c"), gated("d"))
    assert seen.is_ready
    assert seen.request(member_of, frozenset()).need == 0


def test_the_planner_is_asked_for_what_is_missing_and_told_who_holds_what() -> None:
    request = look(lifted("a").on("n1"), gated("b").priority(7), gated("c").priority(7)).request(
        member_of, frozenset({NodeName("bad")})
    )
    assert (request.need, [member.name for member in request.members]) == (1, ["b", "c"])
    assert (dict(request.anchors), sorted(request.avoid)) == ({Uid("uid-a"): "n1"}, ["bad"])
    assert sorted(request.own) == ["uid-b", "uid-c"]


def test_room_is_defended_at_the_lowest_priority_of_the_members() -> None:
    assert look(gated("a").priority(7), gated("b").priority(3)).priority == 3


def test_a_member_that_someone_else_nominated_is_asked_for_on_that_node() -> None:
    seen = look(gated("a").nominated("n7"), gated("b"), foreign="a")
    affinity = seen.request(member_of, frozenset()).members[0].shape.demand.node_affinity
    assert affinity is not None
    assert affinity.node_selector_terms[0].match_fields[0].values == ("n7",)


def test_members_that_have_a_place_are_told_before_those_that_lack_one() -> None:
    seen = look(lifted("a").on("n1"), lifted("b").on("n2"), gated("c"), group=podgroup("g").gang(3))
    verdict = DoesNotFit(need=1, fit=0, nodes=2, fitting_nodes=0, causes=())
    assert seen.words_of(verdict) == (
        "2 of 3 members have a place, 1 more is needed; 0 of 1 member fits: 2 nodes: 0 fit"
    )


def test_a_gang_of_which_nobody_has_a_place_is_told_of_its_verdict_alone() -> None:
    verdict = DoesNotFit(need=2, fit=0, nodes=2, fitting_nodes=0, causes=())
    assert look(gated("a"), gated("b")).words_of(verdict) == "0 of 2 members fit: 2 nodes: 0 fit"


def test_a_foreign_nomination_is_no_reservation_of_the_gang() -> None:
    assert look(gated("a").nominated("n7"), gated("b").nominated("n8"), foreign="a").state.reserved == 1
