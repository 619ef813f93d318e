"""Gangs under a ResourceQuota, on an API server."""

from __future__ import annotations

from typing import Any

import pytest
from tests.kinds import gang_job, stamp
from tests.unit.handlers.conftest import Stage, settled

from ganglift.api.names import PARKED, WOKEN
from ganglift.base.ids import Key
from ganglift.gang.reasons import Reason
from ganglift.kube.resources import BATCH_JOBS, POD_GROUPS

LACKS = {"type": "Scheduled", "status": "False", "reason": "WaitingForMembers", "lastTransitionTime": stamp(0)}
WORDS = "exceeded quota: q, requested: pods=1, used: pods=6, limited: pods=6"


def child(stage: Stage, name: str) -> dict[str, Any]:
    found = stage.get(BATCH_JOBS, name)
    assert found is not None
    return found


def is_parked(stage: Stage, name: str) -> bool:
    found = child(stage, name)
    assert found["spec"]["suspend"] is (PARKED in found["metadata"].get("annotations", {}))
    return bool(found["spec"]["suspend"])


class Namespace:
    """Two gangs of four under a quota of six, as the engine and the Job controller show them."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    async def members(self, name: str, members: int, **more: Any) -> None:
        status = {"members": members, "need": 4, "conditions": [LACKS], **more}
        await self.stage.edit(POD_GROUPS, f"{name}-workers", {"status": status}, subresource="status")

    def exceeds(self, name: str, words: str = WORDS) -> None:
        job = child(self.stage, name)["metadata"]
        self.stage.server.add(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{name}.1", "namespace": "default"},
                "involvedObject": {"kind": "Job", "name": name, "uid": job["uid"], "namespace": "default"},
                "reason": "FailedCreate",
                "message": f'Error creating: pods "{name}-x" is forbidden: {words}',
            }
        )

    async def look(self) -> None:
        """One look of the keeper at what is true now."""
        await self.stage.look_again()
        await settled(self.stage)
        await self.stage.kinds.quota.look("default")
        await settled(self.stage)


@pytest.fixture
async def namespace(stage: Stage) -> Namespace:
    for name in ("a", "b"):
        stage.add(gang_job(name).gang().spec(parallelism=4, completions=4))
    async with stage.working():
        await settled(stage)
        made = Namespace(stage)
        for name in ("a", "b"):
            await made.members(name, 3)
    return made


async def test_b5_one_gang_is_parked_and_the_other_is_told_of_the_quota(stage: Stage, namespace: Namespace) -> None:
    async with stage.working():
        namespace.exceeds("a")
        namespace.exceeds("b")
        await namespace.look()
        parked = [name for name in ("a", "b") if is_parked(stage, name)]
        assert len(parked) == 1
        gathers = Key("default", "a-workers" if parked == ["b"] else "b-workers")
        obstacle = stage.told.obstacles[gathers]
        assert obstacle is not None
        assert (obstacle.reason, obstacle.message) == (Reason.WAITING_FOR_QUOTA, WORDS)
        assert WOKEN in child(stage, gathers.name.removesuffix("-workers"))["metadata"]["annotations"]


async def test_the_parked_gang_is_resumed_when_the_first_has_started(stage: Stage, namespace: Namespace) -> None:
    async with stage.working():
        namespace.exceeds("a")
        namespace.exceeds("b")
        await namespace.look()
        first, parked = ("a", "b") if is_parked(stage, "b") else ("b", "a")
        await namespace.members(first, 4, scheduledTime=stamp(0), scheduled=4)
        await namespace.look()
        assert not is_parked(stage, parked)
        assert stage.told.obstacles[Key("default", f"{first}-workers")] is None


async def test_gangs_that_lack_pods_for_another_reason_are_left_alone(stage: Stage, namespace: Namespace) -> None:
    async with stage.working():
        await namespace.look()
    assert not is_parked(stage, "a")
    assert not is_parked(stage, "b")


async def test_pods_that_something_else_refuses_are_explained_in_its_words(stage: Stage, namespace: Namespace) -> None:
    async with stage.working():
        namespace.exceeds("a", "maximum cpu usage per Container is 1, but limit is 2")
        await namespace.look()
    obstacle = stage.told.obstacles[Key("default", "a-workers")]
    assert obstacle is not None
    words = "creating pods is refused: maximum cpu usage per Container is 1, but limit is 2"
    assert (obstacle.reason, obstacle.message) == (Reason.WAITING_FOR_MEMBERS, words)
    assert not is_parked(stage, "b")


async def test_waking_grows_rarer_while_nothing_changes(stage: Stage, namespace: Namespace) -> None:
    async with stage.working():
        namespace.exceeds("a")
        for _ in range(3):
            await namespace.look()
    wakes = [seen for seen in stage.server.writes if WOKEN in str(seen.body)]
    assert len(wakes) == 1
