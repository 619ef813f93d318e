"""kopf tells, the sweep backs it up, and kopf itself writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import kopf
import pytest
from tests.kinds import batch_job, gang_job, podgroup
from tests.unit.handlers.conftest import Stage, settled, until

from ganglift.app.watching import watch
from ganglift.base.clock import SystemClock
from ganglift.base.ids import Key
from ganglift.gang.actions import Kind
from ganglift.kube.credentials import Access, Credentials
from ganglift.kube.resources import BATCH_JOBS, JOBS, POD_GROUPS

JOB = gang_job("train").gang().spec(parallelism=4, completions=4)


@asynccontextmanager
async def kopf_watching(stage: Stage) -> AsyncIterator[None]:
    """kopf runs as it does in the operator."""
    registry = kopf.OperatorRegistry()
    stage.kinds.register(registry)
    credentials = Credentials.fixed(Access(stage.server.url))
    async with stage.server.client() as client:
        task = asyncio.create_task(watch(registry, client, credentials, SystemClock()))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_kopf_tells_of_what_is_made_changed_and_deleted(stage: Stage) -> None:
    async with kopf_watching(stage):
        stage.add(podgroup("g").gang(4))
        key = Key("default", "g")
        await until(lambda: key in stage.told.groups)
        await stage.edit(POD_GROUPS, "g", {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}})
        await until(lambda: stage.told.groups[key].min_count == 3)
        await stage.delete(POD_GROUPS, "g")
        await until(lambda: key not in stage.told.groups)
    assert [seen.verb for seen in stage.server.writes] == ["patch", "delete"], "kopf itself must write nothing"


async def test_a_job_is_brought_into_being_and_followed_by_events_alone(stage: Stage) -> None:
    async with kopf_watching(stage), stage.working():
        await until(lambda: stage.kinds.is_synced)
        stage.add(JOB)
        await until(lambda: (stage.get(JOBS, "train") or {}).get("status", {}).get("childUID"))
        await stage.edit(BATCH_JOBS, "train", {"status": {"active": 4}}, subresource="status")
        await until(lambda: (stage.get(JOBS, "train") or {})["status"]["active"] == 4)
        assert "finalizers" not in (stage.get(JOBS, "train") or {})["metadata"]
        assert "annotations" not in (stage.get(JOBS, "train") or {})["metadata"]


async def test_jobs_of_the_cluster_that_do_not_concern_us_are_not_kept(stage: Stage) -> None:
    stage.kinds.see(Kind.BATCH_JOB, "ADDED", batch_job("other").wire)
    assert stage.told.jobs == {}
    assert stage.kinds.queue.is_idle


async def test_a_job_of_someone_else_whose_pods_bear_a_groups_label_is_told(stage: Stage) -> None:
    stage.kinds.see(Kind.BATCH_JOB, "ADDED", batch_job("other").labelled("g").wire)
    assert [job.name for job in stage.told.jobs.values()] == ["other"]
    await stage.look_again()
    assert [job.name for job in stage.told.jobs.values()] == ["other"], "a sweep lists children only"


async def test_an_object_that_cannot_be_read_is_left_out(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.kinds.see(Kind.POD_GROUP, "ADDED", {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": "gang"}})
    assert stage.told.groups == {}
    assert "can't be read" in caplog.text


async def test_an_object_that_cannot_be_read_spoils_no_list(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    bad = podgroup("bad").spec(schedulingPolicy="gang")
    stage.add(bad, podgroup("good").gang(4))
    await stage.kinds.synced()
    assert [key.name for key in stage.told.groups] == ["good"]
    assert "can't be read" in caplog.text


async def test_a_fault_in_one_objects_logic_ends_no_other_work(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stage.add(podgroup("bad").gang(4), JOB)
    original = stage.told.set_obstacle

    def set_obstacle(key: Key, obstacle: object) -> None:
        if key.name == "bad":
            raise ZeroDivisionError("a fault")
        original(key, None)

    monkeypatch.setattr(stage.told, "set_obstacle", set_obstacle)
    async with stage.working():
        await until(lambda: (stage.get(JOBS, "train") or {}).get("status", {}).get("childUID"))
    assert "could not be looked at" in caplog.text


async def test_a_new_leader_does_what_the_last_one_left(stage: Stage) -> None:
    stage.leadership.is_leading = False
    stage.add(JOB)
    async with stage.working():
        await settled(stage)
    stage.leadership.is_leading = True
    async with stage.working():
        await until(lambda: (stage.get(JOBS, "train") or {}).get("status", {}).get("childUID"))
