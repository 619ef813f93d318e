"""The kube layer on a real API server, where the fake can't stand in: restarts, RBAC, field checks, kubectl's view."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.contract.server import Server, load, open_namespace
from tests.controlplane.cluster import Cluster
from tests.support.async_polling import until
from tests.support.polling import eventually
from tests.unit.kube.mirrored import Memory

from ganglift.api.pod import Pod
from ganglift.base.ids import Key, Uid
from ganglift.kube.client import Limits, PatchType
from ganglift.kube.credentials import Credentials
from ganglift.kube.errors import BadRequest, Forbidden, KubeError, Unauthorized
from ganglift.kube.events import Recorder
from ganglift.kube.http import HttpClient
from ganglift.kube.informer import Informer, Timing
from ganglift.kube.lease import Elector
from ganglift.kube.resources import LEASES, PODS, SERVICE_ACCOUNTS
from ganglift.playground.options import Component

IMPATIENT = Limits(request_timeout_s=2.0)


@pytest.fixture
async def server(cluster: Cluster) -> AsyncIterator[Server]:
    credentials = Credentials.from_environment(cluster.playground.kubeconfig)
    async with HttpClient(credentials) as client:
        yield await open_namespace(client, cluster.playground.options.kubernetes.minor)


@pytest.fixture
async def nobody(cluster: Cluster, server: Server, tmp_path: Path) -> AsyncIterator[HttpClient]:
    """A client that may do nothing."""
    account = {"metadata": {"name": "nobody"}}
    await server.client.create(SERVICE_ACCOUNTS, account, namespace=server.namespace)
    token = cluster.playground.token(server.namespace, "nobody")
    kubeconfig = cluster.playground.token_kubeconfig(tmp_path / "nobody", token)
    async with HttpClient(Credentials.from_environment(kubeconfig)) as client:
        yield client


async def end(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.unaudited(reason="the API server is killed")
async def test_an_informer_outlives_the_api_server(cluster: Cluster, server: Server) -> None:
    sink = Memory()
    informer = Informer(
        server.client.with_limits(IMPATIENT),
        PODS,
        Pod.model_validate_json,
        sink,
        namespace=server.namespace,
        timing=Timing(backoff_max_s=0.5),
    )
    running = asyncio.ensure_future(informer.run())
    await informer.synced()
    for number in range(10):
        await server.make_pod(f"before-{number}")
    await asyncio.to_thread(cluster.playground.restart, Component.APISERVER)
    await until(lambda: can_write(server), within_s=60)
    await server.client.delete(server.ref(PODS, "before-0"))
    await until(lambda: agrees(server, sink), within_s=60)
    assert len(sink.pods) == 9
    await end(running)


async def test_the_second_of_two_electors_leads_when_the_first_ends(server: Server) -> None:
    ref = server.ref(LEASES, "ganglift")
    first, second = Elector(server.client, ref, "first"), Elector(server.client, ref, "second")
    running_first = asyncio.ensure_future(first.run())
    await first.leading()
    running_second = asyncio.ensure_future(second.run())
    await until(lambda: second.holder == "first")
    assert not second.is_leading
    await end(running_first)
    await asyncio.wait_for(second.leading(), 10)
    await end(running_second)


async def test_kubectl_shows_what_the_recorder_wrote(cluster: Cluster, server: Server) -> None:
    made = await server.make_pod()
    recorder = Recorder(server.client, instance="replica-1")
    running = asyncio.ensure_future(recorder.run())
    key = Key(server.namespace, "w-0")
    for _ in range(2):
        recorder.announce(PODS, key, Uid(made["metadata"]["uid"]), reason="Reserved", message="on node gpu-1")
    described = await asyncio.to_thread(
        eventually,
        lambda: cluster.kubectl.run("describe", "pod", "w-0", "-n", server.namespace),
        lambda answer: "Reserved" in answer.words,
        within_s=20,
    )
    await end(running)
    assert "(x2 over" in described.words
    assert "on node gpu-1" in described.words


async def test_missing_rights_are_told_in_fields(server: Server, nobody: HttpClient) -> None:
    body = {"status": {"nominatedNodeName": "n"}}
    with pytest.raises(Forbidden) as caught:
        await nobody.patch(server.ref(PODS, "w-0"), body, patch_type=PatchType.MERGE, subresource="status")
    asked = caught.value.request
    assert (asked.verb, asked.resource, asked.namespace) == ("patch", "pods/status", server.namespace)
    assert 'cannot patch resource "pods/status"' in caught.value.message


async def test_a_token_that_is_none_is_unauthorized(cluster: Cluster, server: Server, tmp_path: Path) -> None:
    kubeconfig = cluster.playground.token_kubeconfig(tmp_path / "config", "not-a-token")
    async with HttpClient(Credentials.from_environment(kubeconfig)) as client:
        with pytest.raises(Unauthorized, match="check the kubeconfig"):
            await client.get(server.ref(PODS, "w-0"))


async def test_a_field_the_server_does_not_know_is_refused_when_strict(server: Server) -> None:
    body = {"metadata": {"name": "x"}, "spec": {"noSuchField": 1}}
    with pytest.raises(BadRequest, match=r'unknown field "spec\.noSuchField"'):
        await server.client.create(LEASES, body, namespace=server.namespace, strict=True)
    await server.client.create(LEASES, body, namespace=server.namespace)


async def can_write(server: Server) -> bool:
    try:
        await server.client.create(LEASES, {"metadata": {"generateName": "probe-"}}, namespace=server.namespace)
    except KubeError:
        return False
    return True


async def agrees(server: Server, sink: Memory) -> bool:
    body = load(await server.client.list_page(PODS, namespace=server.namespace))
    there = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in body["items"]}
    return sink.versions == there
