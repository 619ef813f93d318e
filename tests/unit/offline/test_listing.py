"""A live cluster is read once, in pages, and nothing is written."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.builders import node, pod
from tests.fakes.apiserver import FakeApiServer, Refuse, on
from tests.fakes.apiserver.refusals import expired
from tests.kinds import at, gang_job, podgroup
from tests.support.files import as_written, object_of, typed

from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.api.storage import PersistentVolume
from ganglift.kube import resources
from ganglift.kube.errors import Forbidden
from ganglift.offline.inventory import Inventory
from ganglift.offline.kinds import CLUSTER_KINDS
from ganglift.offline.listing import PAGE, list_cluster
from ganglift.offline.loading import load
from ganglift.offline.outlook import Survey
from ganglift.offline.report import report
from ganglift.offline.storing import snapshot_bytes


def gated_pod(name: str) -> dict[str, Any]:
    """A member of group `g` that asks for a GPU."""
    limits = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}
    made = typed(pod(name).gang("g").gated())
    made["spec"]["containers"] = [{"name": "main", "image": "busybox", "resources": limits}]
    return made


@pytest.fixture
async def fake() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer() as server:
        server.add(
            typed(node("n1").gpus(2)),
            gated_pod("w-0"),
            as_written(typed(podgroup("g").gang(1))),
            as_written(typed(gang_job("train").gang(2))),
            object_of("scheduling.k8s.io/v1", "PriorityClass", "high", value=5),
        )
        yield server


async def listed(fake: FakeApiServer) -> Inventory:
    async with fake.client() as client:
        return await list_cluster(client, at(0))


async def test_every_kind_is_read(fake: FakeApiServer) -> None:
    inventory = await listed(fake)
    assert inventory.listed == {kind.model for kind in CLUSTER_KINDS}
    assert [inventory.count(model) for model in (Node, Pod, PodGroup)] == [1, 1, 1]
    assert inventory.kubernetes.startswith("v1.37")
    assert not inventory.notes


async def test_nothing_is_written(fake: FakeApiServer) -> None:
    await listed(fake)
    assert fake.writes == []


async def test_pages_are_put_together(fake: FakeApiServer) -> None:
    fake.add(*(gated_pod(f"p-{number}") for number in range(PAGE + 1)))
    assert (await listed(fake)).count(Pod) == PAGE + 2


async def test_list_that_grew_too_old_is_begun_anew(fake: FakeApiServer) -> None:
    fake.faults.add(on("list", resources.PODS), Refuse(expired("too old")), times=2)
    assert (await listed(fake)).count(Pod) == 1


async def test_saved_and_loaded_again_it_is_planned_as_the_live_cluster(fake: FakeApiServer) -> None:
    live = Survey(await listed(fake))
    saved = Survey(load([("s", snapshot_bytes(await listed(fake)))]))
    assert report(saved, saved.outlooks.values()) == report(live, live.outlooks.values())


async def test_kind_that_may_not_be_listed_is_noted_and_not_taken_as_absent(fake: FakeApiServer) -> None:
    fake.deny("list", resources.PERSISTENT_VOLUMES)
    inventory = await listed(fake)
    assert PersistentVolume not in inventory.listed
    assert list(inventory.notes) == [
        "persistentvolumes are not known, you may not list them: where volume claims let pods go can't be told"
    ]


async def test_cluster_without_our_kinds_is_read_all_the_same() -> None:
    async with FakeApiServer(custom=()) as fake:
        fake.add(typed(node("n1")))
        inventory = await listed(fake)
    assert PodGroup not in inventory.listed
    assert any(
        "podgroups.scheduling.ganglift.dev are not known, the cluster does not serve them" in n for n in inventory.notes
    )


@pytest.mark.parametrize("kind", [resources.NODES, resources.PODS])
async def test_without_nodes_and_pods_there_is_nothing_to_plan_on(
    fake: FakeApiServer, kind: resources.Resource
) -> None:
    fake.deny("list", kind)
    with pytest.raises(Forbidden, match=f"list {kind.plural}"):
        await listed(fake)
