"""Workloads and PodGroups on an API server."""

from __future__ import annotations

from typing import Any

from tests.builders import pod
from tests.fakes.apiserver import Refuse, on
from tests.fakes.apiserver.refusals import Refusal
from tests.kinds import podgroup, workload
from tests.unit.handlers.conftest import Stage, settled, until

from ganglift.api.names import GROUP_BY
from ganglift.base.ids import Key
from ganglift.gang.naming import hashed
from ganglift.gang.reasons import Reason
from ganglift.kube.resources import POD_GROUPS, WORKLOADS

SERVE = workload("serve").template("prefill", gang=2).template("decode", gang=4)


def ready(stage: Stage) -> dict[str, Any]:
    status = (stage.get(WORKLOADS, "serve") or {}).get("status") or {}
    return next(iter(status.get("conditions") or []), {})


def min_count(stage: Stage, name: str) -> Any:
    return (stage.get(POD_GROUPS, name) or {})["spec"]["schedulingPolicy"]["gang"]["minCount"]


async def test_each_template_gets_its_podgroup(stage: Stage) -> None:
    stage.add(SERVE)
    async with stage.working():
        await until(lambda: ready(stage).get("status") == "True")
    assert {group["metadata"]["name"] for group in stage.all(POD_GROUPS)} == {"serve-prefill", "serve-decode"}
    assert len(stage.server.writes) == 3


async def test_a_podgroup_that_a_user_deletes_is_made_again(stage: Stage) -> None:
    stage.add(SERVE)
    async with stage.working():
        await settled(stage)
        old = (stage.get(POD_GROUPS, "serve-decode") or {})["metadata"]["uid"]
        await stage.delete(POD_GROUPS, "serve-decode")
        await stage.look_again()
        await until(lambda: ((stage.get(POD_GROUPS, "serve-decode") or {}).get("metadata") or {}).get("uid"))
    assert (stage.get(POD_GROUPS, "serve-decode") or {})["metadata"]["uid"] != old


async def test_a_change_of_the_template_is_carried_over_and_an_edit_stands_until_then(stage: Stage) -> None:
    stage.add(workload("serve").template("decode", gang=4))
    async with stage.working():
        await settled(stage)
        await stage.edit(POD_GROUPS, "serve-decode", {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}})
        await stage.look_again()
        await settled(stage)
        assert min_count(stage, "serve-decode") == 3
        template = {"name": "decode", "schedulingPolicy": {"gang": {"minCount": 2}}}
        await stage.edit(WORKLOADS, "serve", {"spec": {"podGroupTemplates": [template]}})
        await stage.look_again()
        await until(lambda: min_count(stage, "serve-decode") == 2)


async def test_a_name_that_someone_else_has_gives_way_to_the_hashed_one(stage: Stage) -> None:
    stage.add(podgroup("serve-prefill"), SERVE)
    async with stage.working():
        await until(lambda: stage.get(POD_GROUPS, hashed("serve-prefill")))


async def test_a_refusal_is_shown_and_tried_again(stage: Stage) -> None:
    refusal = Refuse(Refusal(403, "Forbidden", "no podgroups today"))
    stage.server.faults.add(on("create", POD_GROUPS), refusal, times=2)
    stage.add(SERVE)
    async with stage.working():
        await until(lambda: ready(stage).get("reason") == "Refused")
        assert ready(stage)["message"] == "creating PodGroup serve-prefill was refused: no podgroups today"
        await until(lambda: ready(stage).get("status") == "True")


class TestPodGroup:
    KEY = Key("default", "g")

    async def test_is_handed_to_the_loop(self, stage: Stage) -> None:
        stage.add(podgroup("g").gang(4))
        async with stage.working():
            await until(lambda: self.KEY in stage.told.obstacles)
        assert stage.told.groups[self.KEY].min_count == 4
        assert stage.told.obstacles[self.KEY] is None

    async def test_whose_workload_is_missing_waits_until_it_comes(self, stage: Stage) -> None:
        stage.add(podgroup("g").gang(4).of("serve", "decode"))
        async with stage.working():
            obstacle = await until(lambda: stage.told.obstacles.get(self.KEY))
            assert obstacle.reason is Reason.WORKLOAD_MISSING
            assert obstacle.message.startswith("Workload serve does not exist")
            stage.add(SERVE)
            await stage.look_again()
            await until(lambda: stage.told.obstacles[self.KEY] is None)

    async def test_that_names_a_template_which_is_not_there_is_told_which_are(self, stage: Stage) -> None:
        stage.add(SERVE, podgroup("g").gang(4).of("serve", "encode"))
        async with stage.working():
            obstacle = await until(lambda: stage.told.obstacles.get(self.KEY))
        assert obstacle.message == "Workload serve has no template encode, it has prefill, decode"

    async def test_that_goes_is_taken_from_the_loop_even_without_an_event(self, stage: Stage) -> None:
        stage.add(podgroup("g").gang(4))
        async with stage.working():
            await until(lambda: self.KEY in stage.told.groups)
            await stage.delete(POD_GROUPS, "g")
            await stage.look_again()
            await until(lambda: self.KEY not in stage.told.groups)

    async def test_that_is_to_be_split_gets_a_part_for_each_value(self, stage: Stage) -> None:
        replica = pod("r-0").gang("g").gated().label("replica", "0")
        stage.told.pods = [replica.made, replica.label("replica", "1").uid("uid-r-1").made]
        stage.add(podgroup("g").gang(2).annotation(GROUP_BY, "replica"))
        async with stage.working():
            await until(lambda: len(stage.all(POD_GROUPS)) == 3)
            await settled(stage)
        assert {group.name for group in stage.told.groups.values()} == {"g", "g-0", "g-1"}
