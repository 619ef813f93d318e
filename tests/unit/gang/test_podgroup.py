"""PodGroups of a Workload: names, seats, what is carried over, and what its status says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kinds import PodGroupBuilder, WorkloadBuilder, at, podgroup, workload

from ganglift.api.names import FULL_NAME, JOB_UID, TEMPLATE_MIN_COUNT, TEMPLATE_TIMEOUT
from ganglift.api.scheduling import PodGroup, Workload, WorkloadStatus
from ganglift.gang.actions import Create, Patch, Step
from ganglift.gang.naming import LIMIT, group_names, hashed
from ganglift.gang.podgroup import carry_over, group_actions, missing_workload, seats_of
from ganglift.gang.reasons import ConditionType, Reason
from ganglift.gang.workload import workload_step

SERVE = workload("serve").template("prefill", gang=2).template("decode", gang=4)


def ours(name: str, template: str, min_count: int = 2) -> PodGroupBuilder:
    """A PodGroup as it is made for SERVE."""
    group = podgroup(name).gang(min_count).of("serve", template, "uid-serve")
    return group.annotation(TEMPLATE_MIN_COUNT, str(min_count)).annotation(TEMPLATE_TIMEOUT, "")


BOTH = [ours("serve-prefill", "prefill").made, ours("serve-decode", "decode", 4).made]


def made(builder: WorkloadBuilder, *groups: PodGroup) -> list[dict[str, Any]]:
    """Bodies of what is to be created."""
    actions = group_actions(builder.made, seats_of(builder.made, groups))
    return [dict(action.body) for action in actions if isinstance(action, Create)]


class TestNames:
    def test_of_a_podgroup_join_workload_and_template(self) -> None:
        assert group_names("train", "workers")[0] == "train-workers"

    def test_up_to_63_characters_stay(self) -> None:
        assert group_names("a" * 55, "workers")[0] == "a" * 55 + "-workers"

    def test_p1_beyond_63_characters_are_hashed_and_say_the_full_one(self) -> None:
        name, second = group_names("a" * 56, "workers")
        assert name == second == hashed("a" * 56 + "-workers")
        assert len(name) <= LIMIT
        (body,) = made(workload("a" * 56).template("workers", gang=1))
        assert body["metadata"]["name"] == name
        assert body["metadata"]["annotations"][FULL_NAME] == "a" * 56 + "-workers"

    @given(
        st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]{1,20}){0,3}", fullmatch=True),
        st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True),
    )
    def test_are_always_label_values_and_object_names(self, parent: str, template: str) -> None:
        for name in group_names(parent, template):
            assert len(name) <= LIMIT
            assert all(part and part[0] != "-" and part[-1] != "-" for part in name.split("."))

    def test_of_different_templates_differ_also_when_hashed(self) -> None:
        assert group_names("a" * 70, "x")[0] != group_names("a" * 70, "y")[0]


class TestMaking:
    def test_gives_each_template_a_podgroup_with_its_fields(self) -> None:
        builder = workload("serve").template(
            "prefill", gang=2, priorityClassName="high", disruptionMode={"all": {}}, scheduleTimeoutSeconds=30
        )
        (body,) = made(builder)
        assert body["metadata"]["name"] == "serve-prefill"
        assert body["spec"] == {
            "workloadRef": {"workloadName": "serve", "templateName": "prefill"},
            "schedulingPolicy": {"gang": {"minCount": 2}},
            "priorityClassName": "high",
            "disruptionMode": {"all": {}},
            "scheduleTimeoutSeconds": 30,
        }
        assert body["metadata"]["annotations"] == {TEMPLATE_MIN_COUNT: "2", TEMPLATE_TIMEOUT: "30"}

    def test_owns_it_without_blocking_the_owners_deletion(self) -> None:
        (owner,) = made(SERVE)[0]["metadata"]["ownerReferences"]
        assert owner == {
            "apiVersion": "scheduling.ganglift.dev/v1beta1",
            "kind": "Workload",
            "name": "serve",
            "uid": "uid-serve",
            "controller": True,
            "blockOwnerDeletion": False,
        }

    def test_makes_only_what_is_missing(self) -> None:
        assert [body["metadata"]["name"] for body in made(SERVE, BOTH[0])] == ["serve-decode"]
        assert made(SERVE, *BOTH) == []

    def test_notes_the_job_that_a_jobs_workload_was_made_for(self) -> None:
        builder = SERVE.owned("Job", "serve", "uid-of-the-job", "batch.ganglift.dev/v1")
        assert made(builder)[0]["metadata"]["annotations"][JOB_UID] == "uid-of-the-job"


class TestSeats:
    def seat(self, *groups: PodGroupBuilder, builder: WorkloadBuilder = SERVE) -> Any:
        return seats_of(builder.made, [group.made for group in groups])[0]

    def test_are_taken_by_a_users_group_that_refers_to_the_template(self) -> None:
        users = podgroup("mine").gang(7).of("serve", "prefill")
        seat = self.seat(users)
        assert (seat.name, seat.is_ours, seat.obstacle) == ("mine", False, None)
        assert group_actions(SERVE.made, [seat]) == ()

    def test_of_another_workload_or_template_are_not_taken(self) -> None:
        seat = self.seat(podgroup("x").of("other", "prefill"), podgroup("y").of("serve", "decode"))
        assert seat.group is None

    def test_take_the_hashed_name_where_someone_else_has_the_wanted_one(self) -> None:
        seat = self.seat(podgroup("serve-prefill"))
        assert seat.name == hashed("serve-prefill")
        assert seat.obstacle is None

    def test_are_in_conflict_where_both_names_are_taken(self) -> None:
        seat = self.seat(podgroup("serve-prefill"), podgroup(hashed("serve-prefill")))
        assert seat.obstacle.reason is Reason.NAME_CONFLICT
        assert "belongs to someone else" in seat.obstacle.message

    def test_wait_for_a_group_of_an_earlier_workload_of_that_name(self) -> None:
        seat = self.seat(podgroup("serve-prefill").of("serve", "prefill", "uid-earlier"))
        assert seat.obstacle.reason is Reason.WAITING_FOR_OLD_JOB

    @pytest.mark.parametrize("group", [podgroup("serve-prefill"), ours("serve-prefill", "prefill")])
    def test_wait_for_a_group_that_is_being_deleted(self, group: PodGroupBuilder) -> None:
        assert self.seat(group.deleting()).obstacle.reason is Reason.WAITING_FOR_OLD_JOB

    def test_keep_a_name_that_was_chosen_once(self) -> None:
        chosen = hashed("serve-prefill")
        recorded = [{"templateName": "prefill", "podGroupName": chosen}]
        assert self.seat(builder=SERVE.status(podGroups=recorded)).name == chosen

    def test_can_take_no_other_name_than_the_one_that_pods_bear(self) -> None:
        foreign = podgroup("serve-prefill").made
        seat = seats_of(SERVE.made, [foreign], {"prefill": "serve-prefill"})[0]
        assert seat.obstacle is not None
        assert seat.obstacle.reason is Reason.NAME_CONFLICT


class TestCarryOver:
    TEMPLATE = workload("serve").template("prefill", gang=3).made.spec.pod_group_templates[0]

    def test_brings_a_new_min_count_and_notes_it(self) -> None:
        patch = carry_over(ours("serve-prefill", "prefill", 2).made, self.TEMPLATE)
        assert patch is not None
        assert patch.body["spec"] == {"schedulingPolicy": {"gang": {"minCount": 3}}}
        assert patch.body["metadata"]["annotations"][TEMPLATE_MIN_COUNT] == "3"
        assert patch.body["metadata"]["uid"] == "uid-serve-prefill"

    def test_leaves_an_edit_on_the_group_alone_until_the_template_changes(self) -> None:
        edited = ours("serve-prefill", "prefill", 3).gang(2)
        assert carry_over(edited.made, self.TEMPLATE) is None

    def test_is_done_once(self) -> None:
        assert carry_over(ours("serve-prefill", "prefill", 3).made, self.TEMPLATE) is None

    def test_brings_a_new_timeout_and_takes_it_away(self) -> None:
        group = ours("serve-prefill", "prefill", 3).annotation(TEMPLATE_TIMEOUT, "30").made
        patch = carry_over(group, self.TEMPLATE)
        assert patch is not None
        assert patch.body["spec"] == {"scheduleTimeoutSeconds": None}

    def test_never_touches_a_users_group(self) -> None:
        users = podgroup("mine").gang(7).of("serve", "prefill").made
        assert [a for a in group_actions(SERVE.made, seats_of(SERVE.made, [users])) if isinstance(a, Patch)] == []


class TestStatus:
    def status(self, builder: WorkloadBuilder, *groups: PodGroup) -> WorkloadStatus:
        patch = workload_step(builder.made, groups, at(0)).actions[-1]
        assert isinstance(patch, Patch)
        return WorkloadStatus.model_validate(patch.body["status"])

    def test_says_which_podgroup_stands_for_which_template(self) -> None:
        status = self.status(SERVE, *BOTH)
        assert [(seat.template_name, seat.pod_group_name) for seat in status.pod_groups] == [
            ("prefill", "serve-prefill"),
            ("decode", "serve-decode"),
        ]
        assert (status.groups, status.conditions[0].status) == (2, "True")

    def test_i8_is_not_written_again(self) -> None:
        status = self.status(SERVE, *BOTH)
        settled = SERVE.status(**status.wire()).made
        assert workload_step(settled, BOTH, at(60)) == Step()

    def test_shows_a_name_conflict_in_words(self) -> None:
        taken = [podgroup(name).made for name in group_names("serve", "prefill")]
        status = self.status(SERVE, *taken, BOTH[1])
        assert (status.phase, status.conditions[0].reason) == ("NameConflict", "NameConflict")
        assert status.conditions[0].type == ConditionType.POD_GROUPS_READY

    @pytest.mark.parametrize(
        ("phases", "phase"),
        [
            (("Running", "Running"), "Running"),
            (("Running", "Scheduled"), "Running"),
            (("Scheduled", "Scheduled"), "Scheduled"),
            (("Running", "Unschedulable"), "Unschedulable"),
            (("Degraded", "Running"), "Degraded"),
            (("Failed", "Degraded"), "Failed"),
            (("Succeeded", "Running"), "Running"),
            (("Succeeded", "Succeeded"), "Succeeded"),
            (("", "Running"), "Queued"),
        ],
    )
    def test_has_one_word_for_all_podgroups(self, phases: tuple[str, str], phase: str) -> None:
        first = ours("serve-prefill", "prefill").status(phase=phases[0]).made
        second = ours("serve-decode", "decode", 4).status(phase=phases[1]).made
        assert self.status(SERVE, first, second).phase == phase

    def test_counts_groups_that_are_whole(self) -> None:
        whole = ours("serve-prefill", "prefill").condition("Scheduled").made
        assert self.status(SERVE, whole, BOTH[1]).scheduled_groups == 1


def test_a_workload_that_is_being_deleted_asks_for_nothing() -> None:
    deleting: Workload = SERVE.deleting().made
    assert workload_step(deleting, [], at(0)) == Step()


def test_the_podgroup_of_a_jobs_workload_is_left_for_the_job_to_make() -> None:
    step = workload_step(SERVE.owned("Job", "serve", "uid-j", "batch.ganglift.dev/v1").made, [], at(0))
    assert step == Step()


def test_a_group_whose_own_workload_is_gone_goes_with_it_and_lacks_nothing() -> None:
    missing = missing_workload(ours("serve-prefill", "prefill").made, None)
    assert missing is not None
    assert missing.reason is Reason.DELETING


def test_a_group_that_refers_to_a_workload_that_does_not_exist_says_so() -> None:
    missing = missing_workload(podgroup("mine").of("serve", "prefill").made, None)
    assert missing is not None
    assert missing.reason is Reason.WORKLOAD_MISSING
