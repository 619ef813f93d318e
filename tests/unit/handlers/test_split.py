"""A group split by a label on an API server, and a split that is undone."""

from __future__ import annotations

from tests.builders import pod
from tests.kinds import podgroup
from tests.unit.handlers.conftest import Stage, settled, until

from ganglift.api.names import GROUP_BY, SPLIT_BY
from ganglift.base.ids import Key
from ganglift.kube.resources import POD_GROUPS

BASE = podgroup("lws").gang(1).annotation(GROUP_BY, "replica")


def notes(stage: Stage) -> dict[str, str]:
    return dict((stage.get(POD_GROUPS, "lws") or {})["metadata"].get("annotations") or {})


async def test_the_pods_come_back_when_the_parts_of_an_undone_split_are_deleted(stage: Stage) -> None:
    stage.told.pods = [pod(f"p{value}").gang("lws").label("replica", value).gated().made for value in "01"]
    stage.add(BASE)
    async with stage.working():
        await until(lambda: len(stage.all(POD_GROUPS)) == 3)
        await stage.edit(POD_GROUPS, "lws", {"metadata": {"annotations": {GROUP_BY: None}}})
        await stage.look_again()
        told = await until(lambda: stage.told.obstacles.get(Key("default", "lws")))
        assert "gpg/lws-0 gpg/lws-1" in told.message
        await settled(stage)
        assert notes(stage)[SPLIT_BY] == "replica"
        for name in ("lws-0", "lws-1"):
            await stage.delete(POD_GROUPS, name)
        await stage.look_again()
        await until(lambda: SPLIT_BY not in notes(stage))
        await settled(stage)
    assert len(stage.all(POD_GROUPS)) == 1
    assert stage.told.obstacles[Key("default", "lws")] is None
