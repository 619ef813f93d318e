"""What is said about pods that don't count, and pods that wait for nobody."""

from datetime import UTC, datetime

import pytest
from tests.builders import PodBuilder, pod
from tests.kinds import batch_job, podgroup

from ganglift.api.names import COMPLETION_INDEX, JOB_UID, LIFTED_AT
from ganglift.base.ids import Key
from ganglift.gang.membership import members_of
from ganglift.gang.remarks import lost_pods, remarks_of, replaced_members

GROUP = podgroup("g").gang(2)
CHILD = batch_job("train").child_of("train").labelled("g").indexed(1)


def said(*pods: PodBuilder) -> list[tuple[str, str]]:
    group = GROUP.status(childUID="uid-train-child").made
    membership = members_of(group, [p.made for p in pods], CHILD.made)
    return [(remark.reason, remark.message) for remark in remarks_of(group, membership, {})]


def member(name: str) -> PodBuilder:
    builder = pod(name).gang("g").gated().owner("Job", "train", "uid-train-child")
    return builder.annotation(COMPLETION_INDEX, "0")


def test_nothing_is_said_about_members_as_they_should_be() -> None:
    assert said(member("a")) == []


@pytest.mark.parametrize(
    ("parallelism", "words"),
    [
        (2, []),
        (
            1,
            ["minCount 2 is above the Job's parallelism 1, so 1 starts alone: lower minCount or raise parallelism"],
        ),
    ],
)
def test_a_min_count_that_the_job_can_not_reach_is_told(parallelism: int, words: list[str]) -> None:
    child = CHILD.spec(parallelism=parallelism).made
    remarks = remarks_of(GROUP.made, members_of(GROUP.made, [], child), {}, child)
    assert [remark.message for remark in remarks] == words


def test_a_gang_whose_waiting_members_are_replaced_is_told_how_often() -> None:
    remark = replaced_members(GROUP.made, 4)
    assert (remark.reason, remark.is_warning) == ("MembersReplaced", True)
    assert remark.message.startswith("x4: the gated members were deleted and made anew")


def test_strangers_that_wait_are_told_by_what_they_share_however_many_there_are() -> None:
    words = "pods with its label have no owner, the group's pods belong to a Job: they are not counted"
    assert said(pod("x").gang("g").gated()) == [("NotAMember", words)]
    assert said(pod("y").gang("g").gated(), pod("z").gang("g").gated()) == [("NotAMember", words)]


def test_pods_of_an_earlier_job_of_the_same_name_are_told_as_such() -> None:
    group = podgroup("train").gang(2).owned("Job", "train", "uid-new", "batch/v1").made
    old = [pod(f"old-{i}").gang("train").gated().owner("Job", "train", "uid-old").made for i in range(3)]
    (remark,) = remarks_of(group, members_of(group, old), {})
    assert remark.message == (
        "pods with its label belong to an earlier Job of this name, not to this one: they are not counted"
    )


def test_nobody_is_said_to_be_no_member_before_it_is_known_who_is() -> None:
    group = GROUP.annotation(JOB_UID, "uid-train").made
    early = pod("new").gang("g").gated().owner("Job", "train", "uid-train-child").made
    assert remarks_of(group, members_of(group, [early]), {}) == ()


def test_strangers_of_an_old_run_that_run_are_not_worth_a_word() -> None:
    assert said(pod("x").gang("g").on("n1").owner("Job", "train", "uid-old")) == []


def test_a_second_pod_of_an_index_is_told_of() -> None:
    assert said(member("a"), member("b")) == [
        (
            "NotAMember",
            "its Job has made more pods than it has completion indexes: those beyond are not counted and not started",
        )
    ]


def test_members_that_never_had_the_gate_are_told_of_and_one_that_was_lifted_is_not() -> None:
    lifted = pod("b").gang("g").annotation(LIFTED_AT, "2026-11-30T00:00:00Z").on("n1")
    membership = members_of(GROUP.made, [pod("a").gang("g").on("n1").made, lifted.made])
    assert [(remark.reason, remark.message) for remark in remarks_of(GROUP.made, membership, {})] == [
        (
            "NotGated",
            "pods of the gang are created without scheduling gate scheduling.ganglift.dev/gang, so they start alone",
        )
    ]


def test_pods_of_a_basic_group_need_no_gate() -> None:
    basic = podgroup("g").made
    assert remarks_of(basic, members_of(basic, [pod("a").gang("g").on("n1").made]), {}) == ()


def test_mixed_priorities_are_warned_of() -> None:
    membership = members_of(GROUP.made, [pod(n).gang("g").gated().priority(p).made for n, p in (("a", 0), ("b", 9))])
    assert [remark.reason for remark in remarks_of(GROUP.made, membership, {})] == ["PriorityMismatch"]


class TestLostPods:
    NOW = datetime(2026, 11, 30, 0, 2, 0, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("builder", "words"),
        [
            (pod("p").gang("missing").gated().created(30), "PodGroup missing does not exist in namespace default"),
            (pod("p").gated().created(30), "no label scheduling.ganglift.dev/pod-group"),
        ],
    )
    def test_are_told_after_a_minute(self, builder: PodBuilder, words: str) -> None:
        (event,) = lost_pods([builder.made], {Key("default", "g")}, self.NOW)
        assert words in event.message
        assert event.is_warning

    @pytest.mark.parametrize(
        "builder",
        [
            pod("of-a-group").gang("g").gated().created(0),
            pod("young").gang("missing").gated().created(61),
            pod("without-gate").gang("missing").created(0),
            pod("going").gang("missing").gated().created(0).terminating(),
        ],
    )
    def test_are_no_others(self, builder: PodBuilder) -> None:
        assert lost_pods([builder.made], {Key("default", "g")}, self.NOW) == ()
