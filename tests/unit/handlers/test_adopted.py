"""Adoption on an API server."""

from __future__ import annotations

from typing import Any

from tests.fakes.apiserver import Drop, Refuse, on
from tests.fakes.apiserver.refusals import Refusal
from tests.kinds import batch_job
from tests.unit.handlers.conftest import Stage, settled, until

from ganglift.api.names import ADOPTED, GATE, GROUP_LABEL, SCHEDULING
from ganglift.gang.actions import Kind
from ganglift.kube.resources import BATCH_JOBS, POD_GROUPS

JOB = batch_job("plain").spec(suspend=True, parallelism=4, completions=4)
ASKING = JOB.annotation(SCHEDULING, '{"schedulingPolicy":{"gang":{}}}')


def job(stage: Stage) -> dict[str, Any]:
    found = stage.get(BATCH_JOBS, "plain")
    assert found is not None
    return found


def tell(stage: Stage) -> None:
    """As kopf does: a Job that is not adopted yet is in no list of ours."""
    stage.kinds.see(Kind.BATCH_JOB, "ADDED", job(stage))


async def test_a_job_that_asks_is_adopted_once(stage: Stage) -> None:
    stage.add(ASKING)
    tell(stage)
    async with stage.working():
        await until(lambda: stage.get(POD_GROUPS, "plain"))
        await settled(stage)
        writes = len(stage.server.writes)
        await stage.look_again()
        await settled(stage)
        assert len(stage.server.writes) == writes == 2
    adopted = job(stage)
    assert adopted["metadata"]["annotations"][ADOPTED] == "plain"
    assert adopted["spec"]["suspend"] is False
    assert adopted["spec"]["template"]["metadata"]["labels"][GROUP_LABEL] == "plain"
    assert adopted["spec"]["template"]["spec"]["schedulingGates"] == [{"name": GATE}]
    assert [told.name for told in stage.told.jobs.values()] == ["plain"]


async def test_a_group_that_a_crash_left_out_is_made(stage: Stage) -> None:
    stage.server.faults.add(on("create", POD_GROUPS), Drop(), times=1)
    stage.add(ASKING)
    tell(stage)
    async with stage.working():
        await until(lambda: stage.get(POD_GROUPS, "plain"))
    assert job(stage)["spec"]["suspend"] is False


async def test_a_job_without_the_annotation_is_left_alone(stage: Stage) -> None:
    stage.add(JOB)
    tell(stage)
    async with stage.working():
        await settled(stage)
    assert stage.server.writes == []


async def test_what_is_in_the_way_is_said_once(stage: Stage) -> None:
    stage.add(ASKING.spec(suspend=False))
    tell(stage)
    async with stage.working():
        await until(lambda: stage.told.events)
        await stage.look_again()
        await settled(stage)
    assert [reason for reason, _ in stage.told.events] == ["NotAdopted"]
    assert stage.server.writes == []


async def test_a_refusal_is_said_in_the_servers_words_and_tried_again(stage: Stage) -> None:
    refusal = Refuse(Refusal(403, "Forbidden", "denied by policy"))
    stage.server.faults.add(on("patch", BATCH_JOBS), refusal, times=2)
    stage.add(ASKING)
    tell(stage)
    async with stage.working():
        await until(lambda: stage.get(POD_GROUPS, "plain"))
    assert stage.told.events == [("Refused", "changing batch/v1 Job plain was refused: denied by policy")]


async def test_a_job_whose_group_would_not_be_valid_stays_as_it_is(stage: Stage) -> None:
    words = "spec.scheduleTimeoutSeconds in body should be greater than or equal to 1"
    stage.server.faults.add(on("create", POD_GROUPS), Refuse(Refusal(422, "Invalid", words)), times=None)
    stage.add(ASKING)
    before = job(stage)
    tell(stage)
    async with stage.working():
        await until(lambda: stage.told.events)
    ((reason, message),) = stage.told.events
    assert reason == "Invalid"
    assert SCHEDULING in message
    assert words in message
    assert job(stage) == before


async def test_a_group_that_a_user_deletes_is_made_again(stage: Stage) -> None:
    stage.add(ASKING)
    tell(stage)
    async with stage.working():
        first = await until(lambda: stage.get(POD_GROUPS, "plain"))
        await settled(stage)
        await stage.delete(POD_GROUPS, "plain")
        stage.kinds.see(Kind.POD_GROUP, "DELETED", first)
        again = await until(lambda: stage.get(POD_GROUPS, "plain"))
    assert again["metadata"]["uid"] != first["metadata"]["uid"]
