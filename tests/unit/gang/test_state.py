"""How a gang stands, and what keeps it from being planned."""

import pytest
from tests.builders import PodBuilder, pod
from tests.kinds import BatchJobBuilder, PodGroupBuilder, batch_job, podgroup, stamp

from ganglift.api.names import JOB_UID, PARKED
from ganglift.gang.membership import members_of
from ganglift.gang.need import need_of
from ganglift.gang.outcome import Waiting
from ganglift.gang.reasons import Reason
from ganglift.gang.state import GangState, Life, gather, observe

GROUP = podgroup("g").gang(4)
RECORDED = GROUP.of("train", "workers", "uid-w").annotation(JOB_UID, "uid-train").status(childUID="uid-train-child")
ADOPTED_GROUP = GROUP.owned("Job", "train", "uid-train-child", "batch/v1")
CHILD = batch_job("train").child_of("train").labelled("g").spec(parallelism=4, completions=4)


def member(name: str) -> PodBuilder:
    return pod(name).gang("g")


def waiting(count: int) -> list[PodBuilder]:
    return [member(f"w-{i}").gated() for i in range(count)]


def look(
    pods: list[PodBuilder],
    group: PodGroupBuilder = GROUP,
    child: BatchJobBuilder | None = None,
    obstacle: Waiting | None = None,
) -> tuple[GangState, Waiting | None]:
    made, job = group.made, child.made if child else None
    membership = members_of(made, [p.made for p in pods], job)
    state = observe(made, membership, need_of(made, job, membership), job, obstacle=obstacle)
    return state, gather(made, membership, state, obstacle)


def owned(name: str) -> PodBuilder:
    return member(name).owner("Job", "train", "uid-train-child")


class TestCounts:
    def test_are_of_live_members_by_where_they_are(self) -> None:
        pods = [
            member("gated").gated(),
            member("reserved").gated().nominated("n1"),
            member("lifted"),
            member("bound").on("n1", "Pending"),
            member("running").on("n1"),
            member("done").on("n1", "Succeeded"),
            member("failed").on("n1", "Failed"),
            member("leaving").on("n1").terminating(),
        ]
        state, _ = look(pods)
        counts = (state.members, state.gated, state.reserved, state.lifted, state.scheduled, state.running)
        assert counts == (5, 2, 1, 1, 2, 1)
        assert (state.succeeded, state.failed, state.leaving) == (1, 1, 1)

    def test_a_blocked_member_is_gated_and_not_ready(self) -> None:
        state, _ = look([*waiting(3), member("f").gated("kueue.x-k8s.io/admission")])
        assert (state.members, state.gated, state.ready, state.missing) == (4, 4, 3, 1)

    def test_to_place_is_what_bound_and_lifted_members_leave_of_need(self) -> None:
        state, _ = look([*waiting(3), member("b").on("n1"), member("l")])
        assert (state.to_place, state.missing) == (2, 0)

    def test_only_reservations_known_to_stand_count_where_these_are_given(self) -> None:
        group = GROUP.made
        membership = members_of(group, [member("a").gated().nominated("n1").made])
        assert observe(group, membership, 4, reserved=frozenset()).reserved == 0


class TestWhole:
    def test_when_need_is_bound(self) -> None:
        state, waits = look([member(f"w-{i}").on("n1") for i in range(4)])
        assert state.is_whole
        assert waits is None

    def test_not_with_one_too_few(self) -> None:
        assert not look([*[member(f"w-{i}").on("n1") for i in range(3)], member("l")])[0].is_whole

    def test_not_while_nothing_is_needed_and_nothing_ran(self) -> None:
        state, waits = look([], child=CHILD.spec(parallelism=0))
        assert not state.is_whole
        assert waits == Waiting(Reason.WAITING_FOR_MEMBERS, "no pods are asked for")

    def test_still_when_all_that_remained_is_done(self) -> None:
        done = [owned(f"w-{i}").on("n1", "Succeeded") for i in range(4)]
        assert look(done, child=CHILD)[0].is_whole

    def test_a_basic_group_when_every_pod_is_bound(self) -> None:
        basic = podgroup("g")
        assert look([member("a").on("n1")], basic)[0].is_whole
        assert not look([member("a").on("n1"), member("b")], basic)[0].is_whole
        assert not look([], basic)[0].is_whole


class TestLife:
    @pytest.mark.parametrize(
        ("child", "life"),
        [
            (CHILD, Life.ACTIVE),
            (CHILD.spec(suspend=True), Life.SUSPENDED),
            (CHILD.condition("SuccessCriteriaMet"), Life.SUCCEEDED),
            (CHILD.condition("Complete"), Life.SUCCEEDED),
            (CHILD.condition("FailureTarget"), Life.FAILED),
            (CHILD.condition("Failed"), Life.FAILED),
            (CHILD.deleting(), Life.DELETING),
        ],
    )
    def test_follows_the_job(self, child: BatchJobBuilder, life: Life) -> None:
        assert look([], child=child)[0].life is life

    @pytest.mark.parametrize("group", [RECORDED, ADOPTED_GROUP])
    def test_goes_with_a_child_that_is_gone(self, group: PodGroupBuilder) -> None:
        state, waits = look([], group)
        assert state.life is Life.DELETING
        assert waits is None

    def test_is_lost_where_our_job_lost_the_child(self) -> None:
        lost = Waiting(Reason.CHILD_DELETED, "the batch/v1 Job was deleted before its end was seen")
        state, waits = look([], RECORDED, obstacle=lost)
        assert state.life is Life.CHILD_DELETED
        assert waits == lost

    @pytest.mark.parametrize(
        ("said", "life"),
        [
            ("ChildDeleted", Life.CHILD_DELETED),
            ("Succeeded", Life.SUCCEEDED),
            ("Failed", Life.FAILED),
            ("Reserved", Life.DELETING),
        ],
    )
    def test_stays_as_it_ended_when_the_child_is_gone(self, said: str, life: Life) -> None:
        assert look([], RECORDED.condition("Scheduled", "False", said))[0].life is life

    def test_f7_of_a_plain_group_stays_over_after_its_pods_are_cleaned_up(self) -> None:
        assert look([member(f"w-{i}").on("n1", "Succeeded") for i in range(4)])[0].life is Life.SUCCEEDED
        assert look([], GROUP.status(phase="Succeeded"))[0].life is Life.SUCCEEDED

    def test_of_a_plain_group_begins_again_with_new_pods(self) -> None:
        assert look(waiting(1), GROUP.status(phase="Succeeded"))[0].life is Life.ACTIVE


class TestWasScheduled:
    def test_by_the_record(self) -> None:
        assert look([], GROUP.status(scheduledTime=stamp(0)))[0].was_scheduled

    def test_by_the_jobs_successes(self) -> None:
        assert look([], child=CHILD.status(succeeded=1))[0].was_scheduled

    def test_by_a_ready_member_where_the_group_was_made_anew(self) -> None:
        ready, started = owned("a").on("n1").condition("Ready", "True"), CHILD.status(startTime=stamp(0))
        anew = GROUP.meta(creationTimestamp=stamp(1))
        assert look([ready], anew, started)[0].was_scheduled
        assert not look([owned("a").on("n1")], anew, started)[0].was_scheduled

    def test_not_by_a_ready_member_of_a_gang_that_is_not_whole_yet(self) -> None:
        ready, started = owned("a").on("n1").condition("Ready", "True"), CHILD.status(startTime=stamp(0))
        assert not look([ready], GROUP.meta(creationTimestamp=stamp(0)), started)[0].was_scheduled


class TestGather:
    def test_i5_says_how_many_of_how_many_exist(self) -> None:
        assert look(waiting(3))[1] == Waiting(Reason.WAITING_FOR_MEMBERS, "3 of 4 pods exist")

    def test_is_done_when_enough_members_are_ready(self) -> None:
        assert look(waiting(4))[1] is None

    def test_f4_a_deleting_member_does_not_count_and_its_replacement_does(self) -> None:
        assert look([*waiting(3), member("old").gated().terminating()])[1] is not None
        assert look([*waiting(3), member("old").gated().terminating(), member("new").gated()])[1] is None

    def test_names_a_pod_that_is_still_leaving_its_node(self) -> None:
        _, waits = look([*waiting(3), member("old").on("n1").terminating()])
        assert waits == Waiting(Reason.WAITING_FOR_MEMBERS, "3 of 4 pods exist; being deleted: old on n1")

    def test_says_how_many_have_succeeded_already(self) -> None:
        _, waits = look([owned("a").gated(), owned("b").on("n1", "Succeeded")], child=CHILD)
        assert waits == Waiting(Reason.WAITING_FOR_MEMBERS, "1 of 3 pods exist, 1 more has succeeded")

    def test_for_a_job_that_can_not_be_made_points_to_who_knows_why(self) -> None:
        group = GROUP.annotation(JOB_UID, "uid-train").spec(
            workloadRef={"workloadName": "train", "templateName": "workers"}
        )
        (_, waits), child = look([], group), CHILD.meta(uid="uid-train-child")
        assert waits == Waiting(
            Reason.WAITING_FOR_MEMBERS,
            "0 of 4 pods exist; its batch/v1 Job is not there: see the conditions of Job train",
        )
        assert look([], group, child)[1] == Waiting(Reason.WAITING_FOR_MEMBERS, "0 of 4 pods exist")

    @pytest.mark.parametrize(
        ("odd", "reason", "words"),
        [
            (
                member("odd").gated("a.io/x"),
                Reason.FOREIGN_GATE,
                "3 of 4 members are ready: pod odd has scheduling gate a.io/x: its owner must remove it",
            ),
            (
                member("odd").gated().scheduler("volcano"),
                Reason.OTHER_SCHEDULER,
                "3 of 4 members are ready: pod odd has schedulerName volcano: remove it from the template",
            ),
            (
                member("odd").gated()._with("spec", "schedulingGroup", value={"podGroupName": "x"}),
                Reason.NATIVE_SCHEDULING_GROUP,
                "3 of 4 members are ready: pod odd has spec.schedulingGroup: remove it, or our label and gate",
            ),
        ],
    )
    def test_f10_r7_names_what_keeps_a_member(self, odd: PodBuilder, reason: Reason, words: str) -> None:
        assert look([*waiting(3), odd])[1] == Waiting(reason, words)

    @pytest.mark.parametrize("reason", [Reason.WAITING_FOR_QUOTA, Reason.WAITING_FOR_MEMBERS])
    def test_says_why_pods_are_missing_where_that_is_known(self, reason: Reason) -> None:
        made = GROUP.made
        membership = members_of(made, [pod.made for pod in waiting(3)])
        state = observe(made, membership, 4)
        assert gather(made, membership, state, Waiting(reason, "no")) == Waiting(reason, "3 of 4 pods exist: no")

    def test_names_the_gang_that_a_parked_one_waits_for(self) -> None:
        made, child = GROUP.made, CHILD.spec(suspend=True).annotation(PARKED, "x").made
        membership = members_of(made, [], child)
        told = Waiting(Reason.WAITING_FOR_QUOTA, "parked while PodGroup x gathers")
        assert gather(made, membership, observe(made, membership, 0, child), told) == told

    def test_does_not_mind_a_blocked_member_beyond_need(self) -> None:
        assert look([*waiting(4), member("odd").gated("a.io/x")])[1] is None

    @pytest.mark.parametrize(
        ("group", "name"),
        [
            (GROUP.of("train", "workers", "uid-w").annotation(JOB_UID, "uid-train"), "gjob/train"),
            (ADOPTED_GROUP, "job/train"),
            (GROUP, "its batch/v1 Job"),
        ],
    )
    def test_of_a_suspended_job_names_the_one_that_the_user_made(self, group: PodGroupBuilder, name: str) -> None:
        assert look([], group, child=CHILD.spec(suspend=True))[1] == Waiting(
            Reason.SUSPENDED, f"{name} has spec.suspend: true"
        )

    @pytest.mark.parametrize(
        ("first", "words"),
        [
            (member("s-0").gated().owner("StatefulSet", "s", "uid-s", "apps/v1"), "podManagementPolicy"),
            (member("l-0").gated().label("leaderworkerset.sigs.k8s.io/name", "l"), "startupPolicy is LeaderReady"),
            (member("j-0").gated().label("jobset.sigs.k8s.io/jobset-name", "j"), "startupPolicy is InOrder"),
            (
                member("j-0").gated().annotation("alpha.jobset.sigs.k8s.io/exclusive-topology", "rack"),
                "exclusive-topology",
            ),
            (member("m-0").gated().label("training.kubeflow.org/job-role", "worker"), "launcher"),
        ],
    )
    def test_r13_r15_r23_names_owners_that_make_pods_one_after_another(self, first: PodBuilder, words: str) -> None:
        _, waits = look([first])
        assert waits is not None
        assert waits.message.startswith("1 of 4 pods exist; ")
        assert words in waits.message
