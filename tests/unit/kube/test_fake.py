"""What the fake API server offers beyond the contract: faults, history, collection, discovery, a process of its own."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.apiserver import Cut, Delay, Drop, FakeApiServer, Hang, Refuse, nth_write, on
from tests.fakes.apiserver.faults import Effect
from tests.fakes.apiserver.refusals import internal_error
from tests.fakes.manifests import node, pod
from tests.support.async_polling import until

from ganglift.kube.client import Limits, PatchType
from ganglift.kube.credentials import Credentials
from ganglift.kube.errors import Forbidden, Gone, KubeError, NotFound, NotServed, TransportError
from ganglift.kube.http import HttpClient
from ganglift.kube.resources import ACCESS_REVIEWS, CRDS, JOBS, LEASES, NAMESPACES, NODES, POD_GROUPS, PODS, Resource

REF = PODS.ref("w-0", "default")
THINGS = Resource("example.dev", "v1", "things", "Thing")


@pytest.fixture(params=["http", "direct"])
async def client(request: pytest.FixtureRequest, fake: FakeApiServer) -> AsyncIterator[HttpClient]:
    limits = Limits(request_timeout_s=0.3)
    async with fake.client(limits) if request.param == "http" else fake.direct_client(limits) as client:
        yield client


@pytest.mark.parametrize(
    ("effect", "happened"),
    [
        (Refuse(internal_error("x")), False),
        (Drop(), False),
        (Drop(performed=True), True),
        (Cut(), True),
        (Hang(), False),
        (Hang(performed=True), True),
        (Delay(0.5, performed=True), True),
    ],
    ids=repr,
)
async def test_a_fault_strikes_before_or_after_the_deed(
    fake: FakeApiServer, client: HttpClient, effect: Effect, happened: bool
) -> None:
    fake.faults.add(on("create", PODS), effect)
    with pytest.raises(KubeError) as caught:
        await client.create(PODS, pod("w-0"), namespace="default")
    assert caught.value.outcome_unknown
    assert (fake.api.store.get(PODS, ("default", "w-0")) is not None) is happened


async def test_a_fault_strikes_as_often_as_it_was_told(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("w-0"))
    fault = fake.faults.add(on("get"), Refuse(internal_error("x")), times=2)
    for _ in range(2):
        with pytest.raises(KubeError):
            await client.get(REF)
    await client.get(REF)
    assert fault.struck == 2


async def test_the_nth_write_can_be_struck(fake: FakeApiServer, client: HttpClient) -> None:
    fake.faults.add(nth_write(3), Drop())
    made = []
    for number in range(4):
        try:
            await client.create(NODES, {"metadata": {"name": f"n-{number}"}})
        except TransportError:
            continue
        made.append(number)
        await client.create(NODES, {"metadata": {"name": "dry"}}, dry_run=True)
    assert made == [0, 1, 3]


async def test_writes_are_remembered_without_dry_runs(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("w-0"))
    body = {"metadata": {"labels": {"a": "b"}}}
    await client.patch(REF, body, patch_type=PatchType.MERGE, dry_run=True)
    await client.get(REF)
    await client.delete(REF, dry_run=True)
    assert fake.writes == []
    await client.patch(REF, body, patch_type=PatchType.MERGE)
    assert [(seen.verb, seen.name) for seen in fake.writes] == [("patch", "w-0")]


async def test_a_watch_from_before_what_is_remembered_is_gone(fake: FakeApiServer, client: HttpClient) -> None:
    (made,) = fake.add(pod("w-0"))
    fake.add(pod("w-1"))
    fake.api.store.table(PODS).log.compact()
    async with client.watch(PODS, resource_version=made["metadata"]["resourceVersion"]) as lines:
        event = json.loads(await anext(lines))
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_an_unfinished_list_can_be_forgotten(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("w-0"), pod("w-1"))
    page = json.loads(await client.list_page(PODS, limit=1))
    fake.pager.expire()
    with pytest.raises(Gone):
        await client.list_page(PODS, limit=1, continue_token=page["metadata"]["continue"])


async def test_nothing_is_collected_while_the_collector_is_stopped(fake: FakeApiServer, client: HttpClient) -> None:
    (owner,) = fake.add(node("owner"))
    reference = {"apiVersion": "v1", "kind": "Node", "name": "owner", "uid": owner["metadata"]["uid"]}
    fake.add(pod("owned", ownerReferences=[reference]))
    fake.collector.stopped = True
    await client.delete(NODES.ref("owner"))
    await asyncio.sleep(0)
    assert await client.get(PODS.ref("owned", "default"))
    fake.collector.restart()
    await until(lambda: fake.api.store.get(PODS, ("default", "owned")) is None)


async def test_what_names_an_owner_that_is_gone_is_collected(fake: FakeApiServer) -> None:
    reference = {"apiVersion": "v1", "kind": "Node", "name": "gone", "uid": "no-such-uid"}
    fake.add(pod("orphan", ownerReferences=[reference]))
    await until(lambda: fake.api.store.get(PODS, ("default", "orphan")) is None)


async def test_a_namespace_takes_its_content_with_it(fake: FakeApiServer, client: HttpClient) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "team"}})
    await client.create(LEASES, {"metadata": {"name": "l"}}, namespace="team")
    await client.delete(NAMESPACES.ref("team"))
    await until(lambda: fake.api.store.get(LEASES, ("team", "l")) is None)


async def test_a_kind_is_served_once_its_crd_is_there(fake: FakeApiServer, client: HttpClient) -> None:
    body = {"apiVersion": "example.dev/v1", "kind": "Thing", "metadata": {"name": "t"}}
    with pytest.raises(NotServed):
        await client.create(THINGS, body, namespace="default")
    await client.create(CRDS, crd())
    await client.create(THINGS, body, namespace="default")
    installed = json.loads(await client.get(CRDS.ref("things.example.dev")))
    assert installed["status"]["conditions"][0]["type"] == "Established"


async def test_our_kinds_can_be_missing() -> None:
    async with FakeApiServer(custom=()) as fake, fake.client() as client:
        with pytest.raises(NotServed):
            await client.get(JOBS.ref("j", "default"))


async def test_what_is_denied_is_refused_and_said_to_be(fake: FakeApiServer, client: HttpClient) -> None:
    fake.deny("patch", PODS, subresource="status")
    (made,) = fake.add(pod("w-0"))
    with pytest.raises(Forbidden):
        await client.patch(REF, {"status": made["status"]}, patch_type=PatchType.MERGE, subresource="status")
    attributes = {"verb": "patch", "resource": "pods", "subresource": "status"}
    for verb, allowed in (("patch", False), ("get", True)):
        body = {"spec": {"resourceAttributes": attributes | {"verb": verb}}}
        assert json.loads(await client.create(ACCESS_REVIEWS, body))["status"]["allowed"] is allowed


async def test_groups_and_kinds_can_be_discovered(client: HttpClient) -> None:
    groups = json.loads(await client.fetch("/apis"))["groups"]
    assert "scheduling.ganglift.dev" in {group["name"] for group in groups}
    kinds = json.loads(await client.fetch("/apis/scheduling.ganglift.dev/v1beta1"))["resources"]
    assert {"workloads", "podgroups", "podgroups/status"} <= {kind["name"] for kind in kinds}
    assert json.loads(await client.fetch("/api/v1"))["groupVersion"] == "v1"


async def test_kinds_that_are_not_served_are_not_discovered(client: HttpClient) -> None:
    with pytest.raises(NotServed):
        await client.fetch("/apis/example.dev/v1")


async def test_the_fake_runs_as_a_process(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    async with process(kubeconfig), HttpClient(Credentials.from_environment(kubeconfig)) as client:
        made = json.loads(await client.create(POD_GROUPS, group(), namespace="default"))
        assert made["metadata"]["uid"]
        with pytest.raises(NotFound):
            await client.get(REF)


@asynccontextmanager
async def process(kubeconfig: Path) -> AsyncIterator[None]:
    arguments = ["-m", "tests.fakes.apiserver", "--kubeconfig", str(kubeconfig)]
    repository = Path(__file__).parents[3]
    running = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=repository, env={"PYTHONPATH": f"{repository}:{repository / 'operator'}"}
    )
    try:
        await until(lambda: kubeconfig.is_file() and kubeconfig.stat().st_size > 0)
        yield
    finally:
        running.terminate()
        await running.wait()


def group() -> dict[str, Any]:
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }


def crd() -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    names = {"plural": "things", "kind": "Thing", "singular": "thing"}
    return {
        "metadata": {"name": "things.example.dev"},
        "spec": {"group": "example.dev", "scope": "Namespaced", "names": names, "versions": [version]},
    }
