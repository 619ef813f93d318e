"""The child of our Job: what goes down when it is made, and what is passed on later."""

from typing import Any

import pytest
from tests.kinds import BatchJobBuilder, GangJobBuilder, at, batch_job, gang_job

from ganglift.api.names import GATE, GROUP_LABEL
from ganglift.gang.child import child_body, child_change, deadline_change, deadline_s, is_hands_off, member_template

JOB = gang_job("train").gang().spec(parallelism=4, completions=4)
CHILD = batch_job("train").child_of("train").labelled("train-workers").spec(parallelism=4, completions=4)


def body(job: GangJobBuilder) -> dict[str, Any]:
    return dict(child_body(job.made, "train-workers"))


def change(job: GangJobBuilder, child: BatchJobBuilder = CHILD) -> Any:
    patch = child_change(job.made, child.made)
    return patch.body["spec"] if patch else None


class TestMaking:
    def test_labels_and_gates_the_template_and_keeps_what_is_there(self) -> None:
        job = JOB.template(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}], nodeSelector={"a": "b"})
        job = job._merged("spec", "template", "metadata", labels={"app": "x"}, annotations={"n": "o"})
        template = body(job)["spec"]["template"]
        assert template["metadata"] == {
            "labels": {"app": "x", GROUP_LABEL: "train-workers"},
            "annotations": {"n": "o"},
        }
        assert template["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/admission"}, {"name": GATE}]
        assert template["spec"]["nodeSelector"] == {"a": "b"}

    def test_does_not_change_the_template_of_our_job(self) -> None:
        job = JOB.made
        child_body(job, "train-workers")
        assert "schedulingGates" not in job.spec.template["spec"]
        assert "metadata" not in job.spec.template

    def test_gates_nothing_of_a_basic_job(self) -> None:
        template = body(gang_job("plain"))["spec"]["template"]
        assert "schedulingGates" not in template["spec"]
        assert template["metadata"]["labels"] == {GROUP_LABEL: "train-workers"}

    def test_gates_once(self) -> None:
        template = member_template({"spec": {"schedulingGates": [{"name": GATE}]}}, "g", is_gang=True)
        assert template["spec"]["schedulingGates"] == [{"name": GATE}]

    def test_keeps_back_what_is_ours_to_do(self) -> None:
        job = JOB.spec(ttlSecondsAfterFinished=0, activeDeadlineSeconds=60, managedBy="kubernetes.io/job-controller")
        spec = body(job)["spec"]
        assert not spec.keys() & {"ttlSecondsAfterFinished", "activeDeadlineSeconds", "managedBy", "scheduling"}

    def test_passes_fields_down_that_only_the_api_server_knows(self) -> None:
        job = JOB.spec(podFailurePolicy={"rules": []}, backoffLimitPerIndex=2, selector={"matchLabels": {"a": "b"}})
        job = job.template(futureField={"deep": [1, None]})
        spec = body(job)["spec"]
        assert spec["podFailurePolicy"] == {"rules": []}
        assert spec["backoffLimitPerIndex"] == 2
        assert spec["selector"] == {"matchLabels": {"a": "b"}}
        assert spec["template"]["spec"]["futureField"] == {"deep": [1, None]}

    def test_gives_a_basic_job_its_deadline_at_once(self) -> None:
        assert body(gang_job("plain").spec(activeDeadlineSeconds=60))["spec"]["activeDeadlineSeconds"] == 60

    def test_keeps_native_scheduling_from_making_a_group_of_its_own(self) -> None:
        (owner,) = body(JOB)["metadata"]["ownerReferences"]
        assert (owner["controller"], owner["blockOwnerDeletion"], owner["uid"]) == (True, False, "uid-train")

    def test_copies_notes_but_not_those_by_which_other_tools_claim_objects(self) -> None:
        ours_to_copy = {"team": "a", "app.kubernetes.io/name": "x"}
        others = {
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "argocd.argoproj.io/tracking-id": "x",
            "kustomize.toolkit.fluxcd.io/name": "x",
            "meta.helm.sh/release-name": "x",
        }
        labels = {"team": "a", "app.kubernetes.io/instance": "x", "kueue.x-k8s.io/queue-name": "q"}
        metadata = body(JOB.meta(annotations=ours_to_copy | others, labels=labels))["metadata"]
        assert metadata["annotations"] == ours_to_copy
        assert metadata["labels"] == {"team": "a", GROUP_LABEL: "train-workers"}


class TestPassingOn:
    def test_is_nothing_where_the_child_has_it_all(self) -> None:
        assert change(JOB) is None

    @pytest.mark.parametrize(
        ("job", "spec"),
        [
            (JOB.spec(parallelism=2), {"parallelism": 2}),
            (JOB.spec(suspend=True), {"suspend": True}),
            (JOB.spec(backoffLimit=3), {"backoffLimit": 3}),
            (JOB.spec(maxFailedIndexes=1), {"maxFailedIndexes": 1}),
            (JOB.spec(podReplacementPolicy="Failed"), {"podReplacementPolicy": "Failed"}),
            (JOB.spec(parallelism=2, suspend=True), {"parallelism": 2, "suspend": True}),
        ],
    )
    def test_brings_what_may_change(self, job: GangJobBuilder, spec: dict[str, Any]) -> None:
        assert change(job) == spec

    def test_brings_completions_of_an_indexed_job_together_with_parallelism(self) -> None:
        job = JOB.spec(completionMode="Indexed", completions=6, parallelism=6)
        child = CHILD.indexed(4).spec(parallelism=6)
        assert change(job, child) == {"completions": 6, "parallelism": 6}

    def test_leaves_defaults_of_the_api_server_alone(self) -> None:
        assert change(JOB, CHILD.spec(backoffLimit=6, podReplacementPolicy="TerminatingOrFailed")) is None

    def test_removes_what_was_removed(self) -> None:
        assert change(JOB, CHILD.spec(maxFailedIndexes=1)) == {"maxFailedIndexes": None}

    @pytest.mark.parametrize("suspend", [True, False])
    def test_takes_the_deadline_away_in_the_patch_that_suspends_or_resumes(self, suspend: bool) -> None:
        job = JOB.spec(suspend=suspend, activeDeadlineSeconds=60)
        child = CHILD.spec(suspend=not suspend, activeDeadlineSeconds=75)
        assert change(job, child) == {"suspend": suspend, "activeDeadlineSeconds": None}

    def test_brings_the_deadline_of_a_basic_job(self) -> None:
        assert change(gang_job("plain").spec(activeDeadlineSeconds=9), batch_job("plain")) == {
            "activeDeadlineSeconds": 9
        }

    def test_names_the_childs_uid(self) -> None:
        patch = child_change(JOB.spec(parallelism=2).made, CHILD.made)
        assert patch is not None
        assert patch.body["metadata"] == {"uid": "uid-train-child"}


class TestDeadline:
    JOB = JOB.spec(activeDeadlineSeconds=60)
    STARTED = CHILD.status(startTime="2026-11-30T12:00:00Z")

    @pytest.mark.parametrize(("waited", "deadline"), [(0, 60), (90, 150), (90.2, 151), (-5, 60)])
    def test_h12_counts_from_when_the_gang_was_scheduled(self, waited: float, deadline: int) -> None:
        assert deadline_s(self.JOB.made, self.STARTED.made, at(waited)) == deadline

    def test_is_absent_while_the_gang_waits(self) -> None:
        assert deadline_s(self.JOB.made, self.STARTED.made, None) is None

    def test_is_absent_while_the_job_is_suspended_or_not_started(self) -> None:
        assert deadline_s(self.JOB.made, self.STARTED.spec(suspend=True).made, at(9)) is None
        assert deadline_s(self.JOB.made, CHILD.made, at(9)) is None

    def test_is_set_once(self) -> None:
        assert deadline_change(self.JOB.made, self.STARTED.spec(activeDeadlineSeconds=69).made, at(9)) is None

    def test_is_not_touched_on_a_finished_or_a_basic_job(self) -> None:
        basic = gang_job("train").spec(activeDeadlineSeconds=60).made
        assert deadline_change(self.JOB.made, self.STARTED.condition("Complete").made, at(9)) is None
        assert deadline_change(basic, self.STARTED.spec(activeDeadlineSeconds=60).made, at(9)) is None

    def test_is_removed_when_our_job_has_none_any_more(self) -> None:
        patch = deadline_change(JOB.made, self.STARTED.spec(activeDeadlineSeconds=69).made, at(9))
        assert patch is not None
        assert patch.body["spec"] == {"activeDeadlineSeconds": None}


@pytest.mark.parametrize(
    ("managed_by", "is_off"),
    [(None, False), ("kubernetes.io/job-controller", False), ("kueue.x-k8s.io/multikueue", True)],
)
def test_a_job_of_another_controller_is_left_alone(managed_by: str | None, is_off: bool) -> None:
    job = JOB.spec(managedBy=managed_by) if managed_by else JOB
    assert is_hands_off(job.made) is is_off
