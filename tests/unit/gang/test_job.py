"""Our Job: what is made for it and in which order, and how its edits are passed on."""

from __future__ import annotations

from typing import Any

import pytest
from tests.jobcluster import JOB, Cluster, Killed
from tests.kinds import GangJobBuilder, at, batch_job, gang_job, podgroup, workload

from ganglift.api.names import ADOPTED, GROUP_LABEL
from ganglift.gang.actions import Kind
from ganglift.gang.naming import group_names, hashed
from ganglift.gang.reasons import ConditionType


class TestExpanding:
    def test_makes_workload_podgroup_and_child_in_that_order_and_then_shows_it(self) -> None:
        cluster = Cluster(JOB)
        cluster.settle()
        assert cluster.said() == [
            "Create Workload",
            "Create PodGroup",
            "Create BatchJob",
            "Patch GangJob/status",
        ]

    def test_min_count_is_parallelism_where_none_is_named(self) -> None:
        cluster = Cluster(JOB)
        cluster.settle()
        group = cluster.world.groups["train-workers"]
        assert group.min_count == 4
        assert cluster.job.status.min_count == 4

    def test_a_group_for_a_job_of_parallelism_zero_still_has_a_valid_min_count(self) -> None:
        cluster = Cluster(JOB.spec(parallelism=0))
        cluster.settle()
        assert cluster.world.groups["train-workers"].min_count == 1

    def test_the_childs_pods_bear_the_podgroups_name(self, running: Cluster) -> None:
        assert running.child.spec.template["metadata"]["labels"][GROUP_LABEL] == "train-workers"

    def test_the_group_takes_its_priority_class_from_the_pod_template(self) -> None:
        cluster = Cluster(JOB.template(priorityClassName="high"))
        cluster.settle()
        assert cluster.world.groups["train-workers"].spec.priority_class_name == "high"

    def test_the_group_takes_the_jobs_other_wishes(self) -> None:
        cluster = Cluster(JOB.gang(3, disruptionMode={"all": {}}, scheduleTimeoutSeconds=5))
        cluster.settle()
        spec = cluster.world.groups["train-workers"].spec
        assert (spec.disruption_mode is not None and spec.disruption_mode.is_all, spec.timeout_s) == (True, 5)

    def test_a_job_without_scheduling_gets_a_basic_group(self) -> None:
        cluster = Cluster(gang_job("train"))
        cluster.settle()
        assert cluster.world.groups["train-workers"].spec.scheduling_policy.word == "Basic"

    def test_the_childs_uid_and_the_generation_are_recorded(self, running: Cluster) -> None:
        assert running.job.status.child_uid == running.child.uid
        assert running.job.status.observed_generation == 1

    def test_i8_a_second_look_gives_nothing_to_do(self, running: Cluster) -> None:
        running.settle(second=3600)
        assert running.writes == []

    def test_a_users_own_podgroup_is_used_and_not_changed(self) -> None:
        cluster = Cluster(JOB)
        cluster.add(Kind.POD_GROUP, podgroup("mine").gang(2).of("train", "workers").wire)
        cluster.settle()
        assert cluster.child.spec.template["metadata"]["labels"][GROUP_LABEL] == "mine"
        assert "Create PodGroup" not in cluster.said()
        assert cluster.world.groups["mine"].min_count == 2

    def test_a_podgroup_name_that_is_taken_gives_way_to_the_hashed_one(self) -> None:
        cluster = Cluster(JOB)
        cluster.add(Kind.POD_GROUP, podgroup("train-workers").wire)
        cluster.settle()
        assert cluster.child.spec.template["metadata"]["labels"][GROUP_LABEL] == hashed("train-workers")

    @pytest.mark.parametrize("job", [JOB.deleting(), JOB.spec(managedBy="acme.io/jobs")])
    def test_nothing_is_made_for_a_job_that_goes_or_belongs_to_another_controller(self, job: GangJobBuilder) -> None:
        cluster = Cluster(job)
        cluster.settle()
        assert cluster.writes == []


class TestKilledAtEveryWrite:
    @pytest.mark.parametrize("writes", range(5))
    def test_a_new_process_ends_in_the_same_state(self, writes: int) -> None:
        cluster, undisturbed = Cluster(JOB), Cluster(JOB)
        undisturbed.settle()
        cluster.dies_after = writes
        try:
            cluster.settle()
        except Killed:
            cluster.dies_after = None
            cluster.settle()
        assert cluster.objects == undisturbed.objects

    @pytest.mark.parametrize("writes", range(5))
    @pytest.mark.parametrize(("old", "new"), [(4, 2), (2, 4)])
    def test_an_edit_is_carried_through(self, writes: int, old: int, new: int) -> None:
        cluster = Cluster(JOB.spec(parallelism=old))
        cluster.settle()
        cluster.change(Kind.GANG_JOB, "train", parallelism=new)
        cluster.dies_after = len(cluster.writes) + writes
        try:
            cluster.settle()
        except Killed:
            cluster.dies_after = None
            cluster.settle()
        assert (cluster.world.groups["train-workers"].min_count, cluster.child.spec.parallelism) == (new, new)
        assert cluster.job.status.observed_generation == 2


class TestNamesThatAreTaken:
    @pytest.mark.parametrize(
        ("kind", "wire"),
        [
            (Kind.BATCH_JOB, batch_job("train").wire),
            (Kind.WORKLOAD, workload("train").wire),
            (Kind.BATCH_JOB, batch_job("train").owned("CronJob", "c", "uid-c", "batch/v1").wire),
        ],
    )
    def test_by_someone_else_are_a_conflict_and_left_untouched(self, kind: Kind, wire: dict[str, Any]) -> None:
        cluster = Cluster(JOB)
        cluster.add(kind, wire)
        cluster.settle()
        assert cluster.said() == ["Patch GangJob/status"]
        assert cluster.shows(ConditionType.SCHEDULED) == ("False", "NameConflict")
        assert cluster.events == ["NameConflict"]
        assert cluster.objects[kind, "train"] == wire

    @pytest.mark.parametrize(
        ("kind", "wire"),
        [
            (Kind.BATCH_JOB, batch_job("train").child_of("train", "uid-of-an-earlier-train").wire),
            (Kind.BATCH_JOB, batch_job("train").deleting().wire),
            (Kind.WORKLOAD, workload("train").deleting().wire),
        ],
    )
    def test_by_an_earlier_run_are_waited_for(self, kind: Kind, wire: dict[str, Any]) -> None:
        cluster = Cluster(JOB)
        cluster.add(kind, wire)
        step = cluster.settle()
        assert cluster.shows(ConditionType.SCHEDULED) == ("False", "WaitingForOldJob")
        assert step.again_at == at(1)
        assert cluster.objects[kind, "train"] == wire
        cluster.remove(kind, "train")
        cluster.settle()
        assert cluster.said()[-1] == "Patch GangJob/status"
        assert cluster.child.controller is not None
        assert cluster.child.controller.uid == cluster.job.uid

    def test_for_the_podgroup_in_every_form_are_a_conflict_before_the_child_is_made(self) -> None:
        cluster = Cluster(JOB)
        for name in group_names("train", "workers"):
            cluster.add(Kind.POD_GROUP, podgroup(name).wire)
        cluster.settle()
        assert cluster.shows(ConditionType.SCHEDULED) == ("False", "NameConflict")
        assert "Create BatchJob" not in cluster.said()

    @pytest.mark.parametrize(
        ("gone", "left"),
        [
            ((), "job/train gwl/train gpg/train-workers"),
            (((Kind.BATCH_JOB, "train"),), "gwl/train gpg/train-workers"),
            (((Kind.WORKLOAD, "train"), (Kind.POD_GROUP, "train-workers")), "job/train"),
        ],
    )
    def test_by_what_a_deleted_job_left_are_told_in_one_command(
        self, gone: tuple[tuple[Kind, str], ...], left: str
    ) -> None:
        cluster = Cluster(JOB)
        cluster.settle()
        cluster.add(Kind.GANG_JOB, JOB.meta(uid="uid-of-the-next").wire)
        for kind in (Kind.BATCH_JOB, Kind.WORKLOAD):
            del cluster.objects[kind, "train"]["metadata"]["ownerReferences"]
        for kind, name in gone:
            cluster.remove(kind, name)
        cluster.settle()
        shown = cluster.job.status.conditions
        assert [c.reason for c in shown] == ["NameConflict"]
        assert shown[0].message.endswith(f": kubectl delete {left}")
        for resource in left.split():
            kinds = {"job": Kind.BATCH_JOB, "gwl": Kind.WORKLOAD, "gpg": Kind.POD_GROUP}
            cluster.remove(kinds[resource.partition("/")[0]], resource.partition("/")[2])
        cluster.settle()
        assert cluster.child.controller is not None

    def test_by_the_group_alone_that_a_deleted_job_left_are_told(self) -> None:
        cluster = Cluster(JOB)
        cluster.settle()
        cluster.add(Kind.GANG_JOB, JOB.meta(uid="uid-of-the-next").wire)
        cluster.remove(Kind.BATCH_JOB, "train")
        cluster.remove(Kind.WORKLOAD, "train")
        del cluster.objects[Kind.POD_GROUP, "train-workers"]["metadata"]["ownerReferences"]
        cluster.settle()
        assert cluster.job.status.conditions[0].message.endswith(": kubectl delete gpg/train-workers")

    def test_by_a_job_that_was_adopted_are_someone_elses(self) -> None:
        cluster = Cluster(JOB)
        adopted = batch_job("train").labelled("train").meta(labels={GROUP_LABEL: "train"})
        cluster.add(Kind.BATCH_JOB, adopted.annotation(ADOPTED, "train").wire)
        cluster.settle()
        assert "rename one of the two" in cluster.job.status.conditions[0].message

    def test_i8_waiting_is_shown_once(self) -> None:
        cluster = Cluster(JOB)
        cluster.add(Kind.BATCH_JOB, batch_job("train").wire)
        cluster.settle()
        cluster.settle(second=60)
        assert len(cluster.writes) == 1


class TestEdits:
    def test_down_go_to_min_count_before_the_child(self, running: Cluster) -> None:
        running.change(Kind.GANG_JOB, "train", parallelism=2)
        running.settle()
        assert running.said() == ["Patch Workload", "Patch PodGroup", "Patch BatchJob", "Patch GangJob/status"]

    def test_up_go_to_the_child_before_min_count(self, running: Cluster) -> None:
        running.change(Kind.GANG_JOB, "train", parallelism=8)
        running.settle()
        assert running.said() == ["Patch BatchJob", "Patch Workload", "Patch PodGroup", "Patch GangJob/status"]

    def test_of_min_count_alone_leave_the_child_alone(self, running: Cluster) -> None:
        running.change(Kind.GANG_JOB, "train", scheduling={"schedulingPolicy": {"gang": {"minCount": 3}}})
        running.settle()
        assert running.said() == ["Patch Workload", "Patch PodGroup", "Patch GangJob/status"]
        assert running.world.groups["train-workers"].min_count == 3

    def test_made_on_the_podgroup_stand_until_the_job_changes(self, running: Cluster) -> None:
        policy = {"gang": {"minCount": 3}}
        running.change(Kind.POD_GROUP, "train-workers", schedulingPolicy=policy)
        running.change(Kind.GANG_JOB, "train", backoffLimit=9)
        running.settle()
        assert running.world.groups["train-workers"].min_count == 3
        running.change(Kind.GANG_JOB, "train", parallelism=2)
        running.settle()
        assert running.world.groups["train-workers"].min_count == 2

    def test_made_on_the_child_are_not_repaired(self, running: Cluster) -> None:
        running.change(Kind.BATCH_JOB, "train", parallelism=1)
        running.settle()
        assert running.said() == []

    def test_of_a_users_podgroup_are_none(self) -> None:
        cluster = Cluster(JOB)
        cluster.add(Kind.POD_GROUP, podgroup("mine").gang(2).of("train", "workers").wire)
        cluster.settle()
        cluster.change(Kind.GANG_JOB, "train", parallelism=8)
        cluster.settle()
        assert cluster.world.groups["mine"].min_count == 2

    def test_suspend_and_resume_reach_the_child_and_show_by_our_spec(self, running: Cluster) -> None:
        running.change(Kind.GANG_JOB, "train", suspend=True)
        running.settle()
        assert running.child.spec.suspend
        assert running.shows("Suspended") == ("True", "JobSuspended")
        assert running.job.status.phase == "Suspended"
        running.change(Kind.GANG_JOB, "train", suspend=False)
        running.settle()
        assert not running.child.spec.suspend
        assert running.shows("Suspended") == ("False", "JobResumed")

    def test_a_child_that_is_parked_does_not_show_as_suspended(self, running: Cluster) -> None:
        running.change(Kind.BATCH_JOB, "train", suspend=True)
        running.child_says(conditions=[{"type": "Suspended", "status": "True"}])
        running.settle()
        assert running.shows("Suspended") is None
