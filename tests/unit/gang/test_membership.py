"""Which pods of a group count, and as what."""

import pytest
from tests.builders import PodBuilder, pod
from tests.kinds import BatchJobBuilder, batch_job, podgroup, uid

from ganglift.api.names import COMPLETION_INDEX, JOB_UID, LIFTED_AT, TAKEN_BACK
from ganglift.api.pod import Pod
from ganglift.base.ids import Uid
from ganglift.gang.membership import (
    Membership,
    Owner,
    Standing,
    bound_at,
    child_of,
    child_uid_of,
    lifted_at,
    members_of,
    standing_of,
)

GROUP = podgroup("g").gang(4)
CHILD = batch_job("train").child_of("train").labelled("g")


def member(name: str) -> PodBuilder:
    """A gated pod of CHILD."""
    return pod(name).gang("g").gated().owner("Job", "train", "uid-train-child")


def names(pods: tuple[Pod, ...]) -> list[str]:
    return [p.name for p in pods]


@pytest.mark.parametrize(
    ("builder", "standing"),
    [
        (pod("w").gang("g").gated(), Standing.GATED),
        (pod("w").gang("g").gated("kueue.x-k8s.io/admission"), Standing.BLOCKED),
        (pod("w").gang("g").gated().scheduler("volcano"), Standing.BLOCKED),
        (pod("w").gang("g").gated()._with("spec", "schedulingGroup", value={"podGroupName": "x"}), Standing.BLOCKED),
        (pod("w").gang("g"), Standing.LIFTED),
        (pod("w").gang("g").on("n1"), Standing.BOUND),
        (pod("w").gang("g").on("n1").terminating(), Standing.LEAVING),
        (pod("w").gang("g").gated().terminating(), Standing.LEAVING),
        (pod("w").gang("g").on("n1").annotation(TAKEN_BACK, "true"), Standing.LEAVING),
        (pod("w").gang("g").on("n1", "Succeeded"), Standing.SUCCEEDED),
        (pod("w").gang("g").on("n1", "Succeeded").terminating(), Standing.SUCCEEDED),
        (pod("w").gang("g").on("n1", "Failed"), Standing.FAILED),
    ],
)
def test_a_member_counts_as_one_thing(builder: PodBuilder, standing: Standing) -> None:
    assert standing_of(builder.made) is standing


def test_a_plain_group_counts_every_pod_of_its_namespace_that_bears_its_label() -> None:
    pods = [
        pod("mine").gang("g").gated().made,
        pod("of-a-set").gang("g").gated().owner("StatefulSet", "s", "uid-s", "apps/v1").made,
        pod("elsewhere").gang("g").gated().namespace("other").made,
        pod("of-another-group").gang("h").gated().made,
        pod("without-label").gated().made,
    ]
    assert names(members_of(GROUP.made, pods).gated) == ["mine", "of-a-set"]


def test_a_jobs_group_counts_only_pods_of_its_recorded_child() -> None:
    pods = [member("new").made, pod("old").gang("g").on("n1").owner("Job", "train", "uid-of-the-old-run").made]
    membership = members_of(GROUP.status(childUID="uid-train-child").made, pods, CHILD.made)
    assert names(membership.live) == ["new"]
    assert [stranger.pod.name for stranger in membership.strangers] == ["old"]


def test_nobody_counts_in_a_jobs_group_before_its_child_is_known() -> None:
    group = GROUP.annotation(JOB_UID, "uid-train").made
    membership = members_of(group, [pod("old").gang("g").on("n1").owner("Job", "train", "uid-old").made])
    assert membership.live_count == 0
    assert len(membership.strangers) == 1


def test_a_recorded_child_wins_over_a_later_job() -> None:
    group = GROUP.status(childUID="uid-first").made
    later = CHILD.meta(uid="uid-later").made
    pods = [pod("w").gang("g").gated().owner("Job", "train", "uid-later").made]
    assert members_of(group, pods, later).live_count == 0


def test_members_are_in_order_of_creation_then_index() -> None:
    def indexed(name: str, second: int, index: int) -> PodBuilder:
        return pod(name).gang("g").gated().created(second).annotation(COMPLETION_INDEX, str(index))

    pods = [indexed("a", 2, 0).made, indexed("b", 1, 10).made, indexed("c", 1, 9).made]
    assert names(members_of(GROUP.made, pods).gated) == ["c", "b", "a"]


class TestStrangers:
    GROUP = GROUP.status(childUID="uid-train-child").made
    HELPER = pod("helper").gang("g").gated().owner("Job", "helper", "uid-helper").made

    @pytest.mark.parametrize(
        ("owner", "is_free"),
        [(Owner.LIVE, True), (Owner.LEAVING, False), (Owner.OURS, False), (Owner.UNKNOWN, False)],
    )
    def test_are_free_only_with_a_live_owner_that_is_no_run_of_ours(self, owner: Owner, is_free: bool) -> None:
        membership = members_of(self.GROUP, [self.HELPER], CHILD.made, {Uid("uid-helper"): owner})
        assert [stranger.is_free for stranger in membership.strangers] == [is_free]

    def test_stay_gated_while_the_child_is_not_recorded(self) -> None:
        membership = members_of(GROUP.made, [self.HELPER], CHILD.made, {Uid("uid-helper"): Owner.LIVE})
        assert [stranger.is_free for stranger in membership.strangers] == [False]

    def test_stay_gated_without_an_owner(self) -> None:
        membership = members_of(self.GROUP, [pod("bare").gang("g").gated().made], CHILD.made)
        assert [(s.is_free, s.message) for s in membership.strangers] == [
            (False, "pod bare has no owner, the group's pods belong to a Job")
        ]


class TestIndexedJob:
    CHILD = CHILD.indexed(2).spec(parallelism=2).made

    def members(self, *builders: PodBuilder) -> Membership:
        return members_of(GROUP.made, [builder.made for builder in builders], self.CHILD)

    def test_counts_one_live_pod_for_an_index_and_prefers_the_bound_one(self) -> None:
        waiting = member("a").annotation(COMPLETION_INDEX, "0")
        running = member("b").annotation(COMPLETION_INDEX, "0")._with("spec", "schedulingGates", value=[]).on("n1")
        membership = self.members(waiting, running)
        assert names(membership.live) == ["b"]
        assert names(membership.surplus) == ["a"]

    def test_does_not_count_an_index_it_does_not_have(self) -> None:
        membership = self.members(member("a").annotation(COMPLETION_INDEX, "2"))
        assert names(membership.surplus) == ["a"]
        assert membership.live_count == 0

    def test_counts_a_succeeded_and_a_live_pod_of_one_index_both(self) -> None:
        done = member("a").annotation(COMPLETION_INDEX, "0").phase("Succeeded")
        membership = self.members(done, member("b").annotation(COMPLETION_INDEX, "1"))
        assert (names(membership.succeeded), names(membership.gated)) == (["a"], ["b"])


class TestChildOf:
    def test_is_the_job_noted_on_the_group_and_no_earlier_one(self) -> None:
        group = GROUP.annotation(JOB_UID, "uid-train").made
        earlier = CHILD.meta(uid="uid-earlier").child_of("train", "uid-of-the-earlier-train")
        assert child_of(group, [earlier.made, CHILD.made]) == CHILD.made

    def test_is_the_recorded_one_and_none_once_that_is_gone(self) -> None:
        group = GROUP.annotation(JOB_UID, "uid-train").status(childUID="uid-gone").made
        assert child_of(group, [CHILD.made]) is None

    def test_is_the_job_whose_pods_bear_the_label_where_a_user_made_the_group(self) -> None:
        assert child_of(GROUP.made, [batch_job("x").child_of("x").labelled("other").made, CHILD.made]) == CHILD.made

    @pytest.mark.parametrize(
        "job",
        [CHILD.meta(ownerReferences=[]), CHILD.meta(namespace="other"), CHILD.owned("CronJob", "c", "u", "batch/v1")],
    )
    def test_is_no_job_that_is_not_ours_or_elsewhere(self, job: BatchJobBuilder) -> None:
        assert child_of(GROUP.made, [job.made]) is None

    def test_is_the_owner_of_a_group_made_for_an_adopted_job(self) -> None:
        group = GROUP.owned("Job", "plain", "uid-plain", "batch/v1").made
        adopted = batch_job("plain").meta(uid="uid-plain").made
        assert child_uid_of(group) == uid("plain")
        assert child_of(group, [adopted]) == adopted


def test_times_are_read_from_the_pods() -> None:
    made = pod("a").annotation(LIFTED_AT, "2026-11-30T12:00:00.250Z").made
    at = lifted_at(made)
    assert at is not None
    assert at.isoformat() == "2026-11-30T12:00:00.250000+00:00"
    assert bound_at(made) is None


@pytest.mark.parametrize("text", ["", "yesterday"])
def test_a_time_that_cannot_be_read_is_none(text: str) -> None:
    assert lifted_at(pod("a").annotation(LIFTED_AT, text).made) is None
