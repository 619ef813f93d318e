"""Adopting a batch/v1 Job by annotation: when, how, once; and what is said instead."""

from __future__ import annotations

from typing import Any

import pytest
from tests.kinds import BatchJobBuilder, PodGroupBuilder, batch_job, podgroup, stamp

from ganglift.api.names import ADOPTED, FULL_NAME, GATE, GROUP_LABEL, SCHEDULING, TEMPLATE_MIN_COUNT, TEMPLATE_TIMEOUT
from ganglift.gang.actions import Announce, Create, Patch, PatchType, Step
from ganglift.gang.adopt import adoption_step, names_for
from ganglift.gang.naming import hashed

ASKS = '{"schedulingPolicy":{"gang":{}}}'
JOB = batch_job("plain").meta(uid="uid-plain").spec(suspend=True, parallelism=4).annotation(SCHEDULING, ASKS)
DONE = JOB.annotation(ADOPTED, "plain").labelled("plain").spec(suspend=False)


def step(job: BatchJobBuilder, *groups: PodGroupBuilder, minor: int = 37) -> Step:
    return adoption_step(job.made, [group.made for group in groups], minor)


def said(job: BatchJobBuilder, *groups: PodGroupBuilder, minor: int = 37) -> tuple[str, str]:
    """The event that is all there is."""
    (event,) = step(job, *groups, minor=minor).actions
    assert isinstance(event, Announce)
    return event.reason, event.message


def kept(min_count: int = 4) -> PodGroupBuilder:
    group = podgroup("plain").gang(min_count).owned("Job", "plain", "uid-plain", "batch/v1")
    return group.annotation(TEMPLATE_MIN_COUNT, str(min_count)).annotation(TEMPLATE_TIMEOUT, "")


class TestAdoption:
    def test_tries_the_group_then_labels_gates_marks_and_resumes_in_one_patch_and_then_makes_it(self) -> None:
        trial, patch, create = step(JOB).actions
        assert isinstance(trial, Create)
        assert trial.is_trial
        assert isinstance(patch, Patch)
        assert patch.type is PatchType.STRATEGIC
        assert patch.body == {
            "metadata": {"uid": "uid-plain", "annotations": {ADOPTED: "plain"}, "labels": {GROUP_LABEL: "plain"}},
            "spec": {
                "suspend": False,
                "template": {
                    "metadata": {"labels": {GROUP_LABEL: "plain"}},
                    "spec": {"schedulingGates": [{"name": GATE}]},
                },
            },
        }
        assert create == Create(trial.kind, trial.body)
        assert create.body["spec"] == {"schedulingPolicy": {"gang": {"minCount": 4}}}
        assert create.body["metadata"]["ownerReferences"][0]["uid"] == "uid-plain"

    def test_of_a_basic_one_gates_nothing(self) -> None:
        patch = step(JOB.annotation(SCHEDULING, '{"schedulingPolicy":{"basic":{}}}')).actions[1]
        assert isinstance(patch, Patch)
        assert "spec" not in patch.body["spec"]["template"]

    def test_takes_constraints_and_the_priority_class_along(self) -> None:
        asks = '{"schedulingPolicy":{"gang":{"minCount":2}},"disruptionMode":{"all":{}}}'
        job = JOB.annotation(SCHEDULING, asks)._merged("spec", "template", "spec", priorityClassName="high")
        create = step(job).actions[-1]
        assert isinstance(create, Create)
        assert create.body["spec"] == {
            "schedulingPolicy": {"gang": {"minCount": 2}},
            "disruptionMode": {"all": {}},
            "priorityClassName": "high",
        }

    def test_takes_a_cronjobs_job(self) -> None:
        assert len(step(JOB.owned("CronJob", "nightly", "uid-c", "batch/v1")).actions) == 3

    def test_gives_way_to_a_podgroup_of_that_name(self) -> None:
        create = step(JOB, podgroup("plain")).actions[-1]
        assert isinstance(create, Create)
        assert create.key.name == hashed("plain")
        assert create.body["metadata"]["annotations"][FULL_NAME] == "plain"

    @pytest.mark.parametrize("job", [JOB.deleting(), JOB.condition("Complete"), JOB.condition("Failed")])
    def test_is_nothing_for_a_job_that_ends(self, job: BatchJobBuilder) -> None:
        assert step(job) == Step()

    def test_names_fit_into_a_label(self) -> None:
        assert max(len(name) for name in names_for(batch_job("a" * 70).made)) <= 63


class TestRefusal:
    @pytest.mark.parametrize(
        ("job", "words"),
        [
            (JOB.spec(suspend=False), "create it with spec.suspend true"),
            (JOB.meta(labels={"kueue.x-k8s.io/queue-name": "q"}), "queued by Kueue"),
            (JOB.owned("JobSet", "set", "uid-s", "jobset.x-k8s.io/v1alpha2"), "belongs to JobSet set"),
            (JOB.status(startTime=stamp(0), active=2), "still being removed"),
        ],
    )
    def test_says_what_to_do_instead_and_touches_nothing(self, job: BatchJobBuilder, words: str) -> None:
        reason, message = said(job)
        assert reason == "NotAdopted"
        assert words in message

    def test_before_1_36_meets_every_job_that_has_run(self) -> None:
        ran = JOB.status(startTime=stamp(0)).condition("Suspended")
        assert "has run before" in said(ran, minor=34)[1]
        assert len(step(ran, minor=36).actions) == 3

    @pytest.mark.parametrize(
        ("asks", "words"),
        [
            ("{", "can't be read"),
            ("null", "can't be read: is not an object"),
            ("{}", "schedulingPolicy: is missing"),
            ('{"gang":{}}', "gang: there is no such field, schedulingPolicy.gang is meant"),
            ('{"schedulingpolicy":{"gang":{}}}', "schedulingpolicy: there is no such field, schedulingPolicy is meant"),
            ('{"spec":{"schedulingPolicy":{"gang":{}}}}', "spec: there is no such field"),
            ('{"schedulingPolicy":{"gang":null}}', "exactly one of gang and basic"),
            ('{"schedulingPolicy":{"gang":{"mincount":2}}}', "schedulingPolicy.gang.minCount is meant"),
            ('{"schedulingPolicy":{"gang":{"minCount":"2"}}}', "schedulingPolicy.gang.minCount: is not a whole number"),
            ('{"schedulingPolicy":{"gang":{}},"disruptionmode":{"all":{}}}', "disruptionMode is meant"),
            ('{"schedulingPolicy":{"gang":{}},"priorityClassName":"x"}', "taken from the Job's pod template"),
            (
                '{"schedulingPolicy":{"gang":{"minCount":2}},"schedulingConstraints":{"topology":[{"key":"z","slices":3}]}}',
                "slices 3 is above minCount 2",
            ),
            ('{"schedulingPolicy":{}}', "exactly one of gang and basic"),
            ('{"schedulingPolicy":{"gang":{},"basic":{}}}', "exactly one of gang and basic"),
            ('{"schedulingPolicy":{"gang":{"minCount":0}}}', "minCount 0 is not between 1 and parallelism 4"),
            ('{"schedulingPolicy":{"gang":{"minCount":5}}}', "minCount 5 is not between 1 and parallelism 4"),
        ],
    )
    def test_names_what_is_wrong_with_the_annotation(self, asks: str, words: str) -> None:
        reason, message = said(JOB.annotation(SCHEDULING, asks))
        assert reason == "Invalid"
        assert words in message

    def test_where_every_name_is_taken_is_a_conflict(self) -> None:
        assert said(JOB, podgroup("plain"), podgroup(hashed("plain")))[0] == "NameConflict"


class TestCrash:
    def test_before_the_mark_leaves_the_patch_to_be_done_where_the_group_stands(self) -> None:
        (patch,) = step(JOB, kept()).actions
        assert isinstance(patch, Patch)


class TestAfterwards:
    def test_nothing_is_done_a_second_time(self) -> None:
        assert step(DONE, kept()) == Step()

    def test_a_users_own_suspension_is_left_alone(self) -> None:
        assert step(DONE.spec(suspend=True), kept()) == Step()

    def test_the_group_is_made_where_a_crash_or_a_user_left_none(self) -> None:
        (create,) = step(DONE).actions
        assert isinstance(create, Create)
        assert create.key.name == "plain"

    def test_the_group_is_made_again_for_a_job_that_was_scaled_down_below_its_min_count(self) -> None:
        asks = '{"schedulingPolicy":{"gang":{"minCount":4}}}'
        (create,) = step(DONE.annotation(SCHEDULING, asks).spec(parallelism=2)).actions
        assert isinstance(create, Create)
        assert create.body["spec"] == {"schedulingPolicy": {"gang": {"minCount": 4}}}

    def test_min_count_follows_parallelism_where_none_is_named(self) -> None:
        (patch,) = step(DONE.spec(parallelism=2), kept(4)).actions
        assert isinstance(patch, Patch)
        spec: dict[str, Any] = dict(patch.body["spec"])
        assert spec == {"schedulingPolicy": {"gang": {"minCount": 2}}}

    def test_an_edit_of_the_group_stands(self) -> None:
        assert step(DONE, kept().gang(3)) == Step()

    def test_a_name_that_someone_else_took_meanwhile_is_a_conflict(self) -> None:
        assert said(DONE, podgroup("plain"))[0] == "NameConflict"
