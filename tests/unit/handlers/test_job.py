"""Our Job on an API server: expanded, followed, refused, and done again after whatever went wrong."""

from __future__ import annotations

from typing import Any

import pytest
from tests.fakes.apiserver import Drop, Refuse, on
from tests.fakes.apiserver.refusals import Refusal
from tests.kinds import batch_job, gang_job
from tests.unit.handlers.conftest import Stage, settled, until

from ganglift.api.names import GROUP_LABEL
from ganglift.base.ids import Key
from ganglift.gang.actions import Kind
from ganglift.gang.reasons import Reason
from ganglift.handlers.queue import Queue
from ganglift.handlers.world import TEMPLATE_IS_FIXED
from ganglift.kube.resources import BATCH_JOBS, JOBS, POD_GROUPS, WORKLOADS

JOB = gang_job("train").gang().spec(parallelism=4, completions=4)


def condition(obj: dict[str, Any] | None, kind: str) -> dict[str, Any]:
    conditions = ((obj or {}).get("status") or {}).get("conditions") or []
    return next((found for found in conditions if found["type"] == kind), {})


def writes(stage: Stage) -> list[tuple[str, str, str]]:
    return [(seen.verb, seen.resource.plural, seen.subresource) for seen in stage.server.writes if seen.resource]


async def test_is_expanded_with_one_write_for_each_object_and_each_status(stage: Stage) -> None:
    stage.add(JOB)
    async with stage.working():
        await until(lambda: (stage.get(JOBS, "train") or {}).get("status", {}).get("childUID"))
        await settled(stage)
    assert sorted(writes(stage)) == [
        ("create", "jobs", ""),
        ("create", "podgroups", ""),
        ("create", "workloads", ""),
        ("patch", "jobs", "status"),
        ("patch", "workloads", "status"),
    ]
    child, group = stage.get(BATCH_JOBS, "train"), stage.get(POD_GROUPS, "train-workers")
    assert child is not None
    assert group is not None
    assert child["spec"]["template"]["metadata"]["labels"][GROUP_LABEL] == "train-workers"
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}


async def test_tells_the_loop_of_its_group_and_child(stage: Stage) -> None:
    stage.add(JOB)
    async with stage.working():
        await until(lambda: stage.told.jobs)
    assert [key.name for key in stage.told.groups] == ["train-workers"]
    assert [job.name for job in stage.told.jobs.values()] == ["train"]


async def test_a_job_of_another_controller_is_left_alone_and_its_user_told_once(stage: Stage) -> None:
    stage.add(JOB.spec(managedBy="acme.io/jobs"))
    async with stage.working():
        await until(lambda: stage.told.events)
        await stage.look_again()
        await settled(stage)
    words = "spec.managedBy is acme.io/jobs, so ganglift leaves this Job to that controller"
    assert stage.told.events == [("ManagedElsewhere", words)]
    assert writes(stage) == []


async def test_i8_nothing_is_written_when_nothing_changed(stage: Stage) -> None:
    stage.add(JOB)
    async with stage.working():
        await settled(stage)
        before = len(stage.server.writes)
        await stage.look_again()
        await settled(stage)
        assert len(stage.server.writes) == before


async def test_a_replica_that_stands_by_knows_and_writes_nothing(stage: Stage) -> None:
    stage.leadership.is_leading = False
    stage.add(JOB)
    async with stage.working():
        await until(lambda: stage.kinds.is_synced)
        await settled(stage)
    assert stage.server.writes == []


async def test_an_edit_reaches_group_and_child(stage: Stage) -> None:
    stage.add(JOB)
    async with stage.working():
        await settled(stage)
        await stage.edit(JOBS, "train", {"spec": {"parallelism": 2}})
        await stage.look_again()
        await until(lambda: (stage.get(BATCH_JOBS, "train") or {})["spec"]["parallelism"] == 2)
    group = stage.get(POD_GROUPS, "train-workers")
    assert group is not None
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 2}}


async def test_a_batch_job_of_that_name_is_left_untouched_and_named(stage: Stage) -> None:
    stage.add(batch_job("train"), JOB)
    before = stage.get(BATCH_JOBS, "train")
    async with stage.working():
        await until(lambda: condition(stage.get(JOBS, "train"), "Scheduled"))
    assert condition(stage.get(JOBS, "train"), "Scheduled")["reason"] == "NameConflict"
    assert stage.get(BATCH_JOBS, "train") == before
    assert stage.told.events == [
        ("NameConflict", "batch/v1 Job train exists and belongs to someone else: rename one of the two")
    ]


async def test_starts_when_what_was_in_the_way_is_gone(stage: Stage) -> None:
    stage.add(batch_job("train"), JOB)
    async with stage.working():
        await until(lambda: condition(stage.get(JOBS, "train"), "Scheduled"))
        gone = stage.get(BATCH_JOBS, "train")
        await stage.delete(BATCH_JOBS, "train")
        assert gone is not None
        stage.kinds.see(Kind.BATCH_JOB, "DELETED", gone)
        await until(lambda: (stage.get(JOBS, "train") or {})["status"].get("childUID"))


class TestRefusals:
    WORDS = 'Job.batch "train" is invalid: spec.template.spec.containers[0].image: Required value'

    async def test_of_the_child_are_shown_in_the_servers_words_with_a_remedy(self, stage: Stage) -> None:
        stage.server.faults.add(on("create", BATCH_JOBS), Refuse(Refusal(422, "Invalid", self.WORDS)), times=100)
        stage.add(JOB)
        async with stage.working():
            await until(lambda: condition(stage.get(JOBS, "train"), "Scheduled"))
        shown = condition(stage.get(JOBS, "train"), "Scheduled")
        assert shown["reason"] == "Refused"
        assert shown["message"] == f"creating batch/v1 Job train was refused: {self.WORDS}; {TEMPLATE_IS_FIXED}"
        assert ("Refused", shown["message"]) in stage.told.events

    async def test_are_not_tried_again_at_once_because_they_were_shown(self, stage: Stage) -> None:
        stage.kinds.queue = Queue(base_s=60)
        stage.server.faults.add(on("create", BATCH_JOBS), Refuse(Refusal(422, "Invalid", self.WORDS)), times=100)
        stage.add(JOB)
        async with stage.working():
            await until(lambda: condition(stage.get(JOBS, "train"), "Scheduled"))
            await settled(stage)
        assert [seen.verb for seen in stage.server.writes if seen.resource == BATCH_JOBS] == ["create"]

    async def test_are_tried_again_until_they_end(self, stage: Stage) -> None:
        stage.server.faults.add(on("create", BATCH_JOBS), Refuse(Refusal(403, "Forbidden", "exceeded quota")), times=2)
        stage.add(JOB)
        async with stage.working():
            await until(lambda: (stage.get(JOBS, "train") or {}).get("status", {}).get("childUID"))


class TestFaults:
    @pytest.mark.parametrize("resource", [WORKLOADS, POD_GROUPS, BATCH_JOBS], ids=str)
    @pytest.mark.parametrize("performed", [True, False])
    async def test_an_answer_that_never_came_makes_nothing_twice(
        self, stage: Stage, resource: Any, performed: bool
    ) -> None:
        stage.server.faults.add(on("create", resource), Drop(performed=performed), times=1)
        stage.add(JOB)
        async with stage.working():
            await until(lambda: (stage.get(JOBS, "train") or {}).get("status", {}).get("childUID"))
        assert [len(stage.all(kind)) for kind in (WORKLOADS, POD_GROUPS, BATCH_JOBS)] == [1, 1, 1]

    async def test_a_server_that_fails_for_a_while_is_outlasted(self, stage: Stage) -> None:
        error = Refuse(Refusal(500, "InternalError", "etcd is away"))
        stage.server.faults.add(on("create", WORKLOADS), error, times=2)
        stage.server.faults.add(on("patch", JOBS, subresource="status"), error, times=2)
        stage.add(JOB)
        async with stage.working():
            await until(lambda: (stage.get(JOBS, "train") or {}).get("status", {}).get("childUID"))

    async def test_a_list_that_fails_is_tried_again(self, stage: Stage) -> None:
        stage.server.faults.add(on("list", POD_GROUPS), Refuse(Refusal(500, "InternalError", "away")), times=1)
        await stage.kinds.synced()
        assert stage.kinds.is_synced


class TestChild:
    async def test_that_vanished_fails_the_job_and_is_not_made_again(self, stage: Stage) -> None:
        stage.add(JOB)
        async with stage.working():
            await settled(stage)
            await stage.delete(BATCH_JOBS, "train")
            await stage.look_again()
            await until(lambda: condition(stage.get(JOBS, "train"), "Failed"))
            await stage.look_again()
            await settled(stage)
        assert condition(stage.get(JOBS, "train"), "Failed")["reason"] == "ChildDeleted"
        assert stage.get(BATCH_JOBS, "train") is None
        assert stage.told.jobs == {}
        told = stage.told.obstacles[Key("default", "train-workers")]
        assert told is not None
        assert told.reason is Reason.CHILD_DELETED

    async def test_that_goes_with_its_job_is_not_told_to_be_lost(self, stage: Stage) -> None:
        stage.add(JOB)
        async with stage.working():
            await settled(stage)
            group = stage.get(POD_GROUPS, "train-workers")
            await stage.delete(JOBS, "train")
            assert group is not None
            # The garbage collector may take the group last.
            await stage.look_again()
            stage.kinds.see(
                Kind.POD_GROUP, "MODIFIED", group | {"metadata": group["metadata"] | {"resourceVersion": "9999"}}
            )
            await settled(stage)
        told = stage.told.obstacles[Key("default", "train-workers")]
        assert told is not None
        assert told.reason is Reason.DELETING
        assert stage.told.events == []

    async def test_is_mirrored(self, stage: Stage) -> None:
        stage.add(JOB)
        async with stage.working():
            await settled(stage)
            status = {"succeeded": 4, "conditions": [{"type": "Complete", "status": "True"}]}
            await stage.edit(BATCH_JOBS, "train", {"status": status}, subresource="status")
            await stage.look_again()
            await until(lambda: (stage.get(JOBS, "train") or {})["status"]["phase"] == "Complete")
        assert (stage.get(JOBS, "train") or {})["status"]["completions"] == "4/4"

    async def test_and_all_else_go_with_the_job_without_a_finalizer(self, stage: Stage) -> None:
        stage.add(JOB)
        async with stage.working():
            await settled(stage)
        assert all(
            not obj["metadata"].get("finalizers")
            for kind in (JOBS, WORKLOADS, POD_GROUPS, BATCH_JOBS)
            for obj in stage.all(kind)
        )
        await stage.delete(JOBS, "train")
        await until(lambda: not any(stage.all(kind) for kind in (JOBS, WORKLOADS, POD_GROUPS, BATCH_JOBS)))


async def test_ttl_deletes_our_job(stage: Stage) -> None:
    stage.add(JOB.spec(ttlSecondsAfterFinished=0))
    async with stage.working():
        await settled(stage)
        status = {"conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
        await stage.edit(BATCH_JOBS, "train", {"status": status}, subresource="status")
        await stage.look_again()
        await until(lambda: stage.get(JOBS, "train") is None)
