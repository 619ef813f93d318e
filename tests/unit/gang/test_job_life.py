"""Our Job: what it shows of its child and gang, its deadline, its end, and what the API server refuses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.jobcluster import JOB, Cluster, ended
from tests.kinds import at, batch_job, podgroup, stamp

from ganglift.api.model import condition_of
from ganglift.gang.actions import Delete, Kind
from ganglift.gang.job import job_step, stopped_step
from ganglift.gang.naming import hashed
from ganglift.gang.outcome import Waiting
from ganglift.gang.reasons import ConditionType, Reason


class TestMirroring:
    def test_takes_the_childs_counts_and_times(self, running: Cluster) -> None:
        running.child_says(active=3, ready=2, succeeded=1, failed=2, terminating=1, startTime=stamp(5))
        running.settle()
        status = running.job.status
        assert (status.active, status.ready, status.succeeded, status.failed, status.terminating) == (3, 2, 1, 2, 1)
        assert status.start_time == at(5)
        assert status.completions == "1/4"

    def test_skips_pods_that_are_not_yet_counted(self, running: Cluster) -> None:
        running.child_says(uncountedTerminatedPods={"succeeded": ["a"], "failed": []})
        running.settle()
        assert running.job.status.succeeded == 0
        assert "uncountedTerminatedPods" not in running.objects[Kind.GANG_JOB, "train"]["status"]

    def test_removes_what_the_child_no_longer_says(self, running: Cluster) -> None:
        running.child_says(startTime=stamp(5))
        running.settle()
        running.child_says(startTime=None)
        running.settle()
        assert "startTime" not in running.objects[Kind.GANG_JOB, "train"]["status"]

    def test_completes_with_the_child(self, running: Cluster) -> None:
        running.child_says(
            succeeded=4, completionTime=stamp(9), conditions=[ended("SuccessCriteriaMet"), ended("Complete")]
        )
        running.settle()
        assert running.shows("Complete") == ("True", "")
        assert running.job.status.phase == "Complete"

    def test_shows_what_the_gang_waits_for(self, running: Cluster) -> None:
        waits = {"type": "Scheduled", "status": "False", "reason": "Unschedulable", "message": "3 of 4"}
        running.group_says(phase="Unschedulable", need=4, conditions=[waits])
        running.settle()
        assert running.shows(ConditionType.SCHEDULED) == ("False", "Unschedulable")
        assert (running.job.status.phase, running.job.status.need) == ("Unschedulable", 4)
        assert running.job.status.pod_group_name == "train-workers"

    @pytest.mark.parametrize(
        ("spec", "shown"), [({"completions": 4}, "1/4"), ({"completions": None, "parallelism": 3}, "1/1 of 3")]
    )
    def test_words_completions_as_kubectl_does(self, running: Cluster, spec: dict[str, Any], shown: str) -> None:
        running.objects[Kind.BATCH_JOB, "train"]["spec"] |= spec
        running.child_says(succeeded=1)
        running.settle()
        assert running.job.status.completions == shown


class TestGone:
    def test_a_child_that_is_gone_without_an_end_fails_the_job_and_is_never_made_again(self, running: Cluster) -> None:
        running.remove(Kind.BATCH_JOB, "train")
        running.settle()
        running.settle(second=60)
        assert running.said() == ["Patch GangJob/status"]
        assert running.shows("Failed") == ("True", "ChildDeleted")
        assert running.job.status.phase == "Failed"
        assert running.events == ["ChildDeleted"]

    def test_a_job_that_took_the_childs_name_is_not_adopted(self, running: Cluster) -> None:
        running.add(Kind.BATCH_JOB, batch_job("train").meta(uid="uid-of-someone").wire)
        running.settle()
        assert running.shows("Failed") == ("True", "ChildDeleted")

    def test_a_child_that_is_gone_after_its_end_changes_nothing(self, running: Cluster) -> None:
        running.child_says(conditions=[ended("Complete")])
        running.settle()
        running.writes.clear()
        running.remove(Kind.BATCH_JOB, "train")
        running.remove(Kind.POD_GROUP, "train-workers")
        running.settle()
        assert running.writes == []

    @pytest.mark.parametrize(("kind", "name"), [(Kind.POD_GROUP, "train-workers"), (Kind.WORKLOAD, "train")])
    def test_a_podgroup_or_workload_that_a_user_deletes_is_made_again(
        self, running: Cluster, kind: Kind, name: str
    ) -> None:
        running.remove(kind, name)
        if kind is Kind.WORKLOAD:
            running.settle()
            running.remove(Kind.POD_GROUP, "train-workers")
        running.settle()
        assert running.world.groups["train-workers"].controller is not None
        workload_now = running.world.workload
        assert workload_now is not None
        assert running.world.groups["train-workers"].controller.uid == workload_now.uid

    def test_a_group_made_again_keeps_the_name_that_pods_bear(self) -> None:
        cluster = Cluster(JOB)
        cluster.add(Kind.POD_GROUP, podgroup("train-workers").wire)
        cluster.settle()
        cluster.remove(Kind.POD_GROUP, "train-workers")
        cluster.remove(Kind.POD_GROUP, hashed("train-workers"))
        cluster.settle()
        assert list(cluster.world.groups) == [hashed("train-workers")]


class TestDeadline:
    @pytest.fixture
    def timed(self) -> Cluster:
        cluster = Cluster(JOB.spec(activeDeadlineSeconds=60))
        cluster.settle()
        cluster.child_says(startTime=stamp(0))
        return cluster

    def whole(self, cluster: Cluster, second: float) -> None:
        group = cluster.objects[Kind.POD_GROUP, "train-workers"]
        scheduled = {"type": "Scheduled", "status": "True", "reason": "Scheduled", "lastTransitionTime": stamp(second)}
        group["status"] = {
            "conditions": [scheduled],
            "scheduledTime": group.get("status", {}).get("scheduledTime", stamp(second)),
        }

    def test_is_set_when_the_gang_is_whole(self, timed: Cluster) -> None:
        timed.settle()
        assert timed.child.spec.active_deadline_seconds is None
        self.whole(timed, 90)
        timed.settle()
        assert timed.child.spec.active_deadline_seconds == 150
        assert timed.job.status.scheduled_time == at(90)

    def test_survives_a_podgroup_that_is_made_again(self, timed: Cluster) -> None:
        self.whole(timed, 90)
        timed.settle()
        timed.remove(Kind.POD_GROUP, "train-workers")
        timed.settle()
        self.whole(timed, 500)
        timed.settle()
        assert timed.child.spec.active_deadline_seconds == 150

    def test_begins_anew_after_a_suspension(self, timed: Cluster) -> None:
        self.whole(timed, 90)
        timed.settle()
        timed.change(Kind.GANG_JOB, "train", suspend=True)
        timed.settle()
        assert timed.child.spec.active_deadline_seconds is None
        timed.child_says(startTime=None)
        timed.change(Kind.GANG_JOB, "train", suspend=False)
        timed.settle()
        timed.child_says(startTime=stamp(1000))
        timed.settle()
        assert timed.child.spec.active_deadline_seconds is None
        self.whole(timed, 1030)
        timed.settle()
        assert timed.child.spec.active_deadline_seconds == 90


class TestTtl:
    @pytest.fixture
    def finished(self) -> Cluster:
        cluster = Cluster(JOB.spec(ttlSecondsAfterFinished=30))
        cluster.settle()
        cluster.child_says(conditions=[ended("Complete", 100)])
        cluster.settle(second=100)
        cluster.writes.clear()
        return cluster

    def test_is_waited_for(self, finished: Cluster) -> None:
        assert finished.settle(second=129).again_at == at(130)
        assert finished.writes == []

    def test_deletes_our_job(self, finished: Cluster) -> None:
        (action,) = job_step(finished.job, finished.world, at(130)).actions
        assert action == Delete(Kind.GANG_JOB, finished.job.key, finished.job.uid)

    def test_that_is_unset_keeps_it(self, running: Cluster) -> None:
        running.child_says(conditions=[ended("Failed")])
        running.settle()
        step = job_step(running.job, running.world, at(10**6))
        assert (step.actions, step.again_at) == ((), None)


class TestRefusals:
    WORDS = Waiting(Reason.REFUSED, 'Job.batch "train" is invalid: spec.template...')

    def stopped(self, cluster: Cluster) -> None:
        for action in stopped_step(cluster.job, cluster.world, self.WORDS, at(0)).actions:
            cluster.carry_out(action)

    def test_before_the_child_exists_are_shown_in_the_servers_words(self) -> None:
        cluster = Cluster(JOB)
        self.stopped(cluster)
        shown = condition_of(cluster.job.status.conditions, ConditionType.SCHEDULED)
        assert shown is not None
        assert (shown.reason, shown.message) == ("Refused", self.WORDS.message)
        assert cluster.job.status.phase == "Refused"

    def test_of_a_change_do_not_hide_how_the_gang_stands(self, running: Cluster) -> None:
        group = running.objects[Kind.POD_GROUP, "train-workers"]
        group["status"] = {
            "phase": "Running",
            "conditions": [{"type": "Scheduled", "status": "True", "reason": "Scheduled"}],
        }
        running.change(Kind.GANG_JOB, "train", parallelism=2)
        self.stopped(running)
        assert running.shows(ConditionType.SCHEDULED) == ("True", "Scheduled")
        assert running.shows(ConditionType.SPEC_APPLIED) == ("False", "Refused")
        assert running.job.status.observed_generation == 1

    def test_are_gone_once_the_change_is_taken(self, running: Cluster) -> None:
        running.change(Kind.GANG_JOB, "train", parallelism=2)
        self.stopped(running)
        running.settle()
        assert running.shows(ConditionType.SPEC_APPLIED) is None
        assert running.job.status.observed_generation == 2

    def test_i8_that_last_are_written_once(self, running: Cluster) -> None:
        self.stopped(running)
        running.writes.clear()
        for action in stopped_step(running.job, running.world, self.WORDS, at(60)).actions:
            running.carry_out(action)
        assert running.writes == []
