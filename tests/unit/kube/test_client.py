"""The real client against the fake: what it sends, what it repeats, what it gives up on, and when."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager

import pytest
from tests.fakes.apiserver import Cut, Delay, Distort, Drop, FakeApiServer, Hang, Refuse, on
from tests.fakes.apiserver.faults import Effect
from tests.fakes.apiserver.refusals import internal_error, too_many_requests, unauthorized
from tests.fakes.clock import VirtualClock
from tests.fakes.manifests import pod
from tests.support.async_polling import until

from ganglift.kube import credentials
from ganglift.kube.client import Limits, PatchType, Propagation
from ganglift.kube.credentials import Access, Credentials, Loaded
from ganglift.kube.errors import (
    KubeError,
    ServerError,
    TimedOut,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from ganglift.kube.http import HttpClient
from ganglift.kube.resources import NODES, PODS

REF = PODS.ref("w-0", "default")
LABEL = {"metadata": {"labels": {"a": "b"}}}
BUSY = Refuse(too_many_requests("busy", retry_after_s=1))


async def patch(client: HttpClient, **options: float) -> bytes:
    return await client.patch(REF, LABEL, patch_type=PatchType.MERGE, timeout_s=options.get("timeout_s"))


# What is sent


@pytest.mark.parametrize("patch_type", [PatchType.MERGE, PatchType.STRATEGIC, PatchType.APPLY])
async def test_a_patch_is_sent_under_the_name_it_was_given(
    fake: FakeApiServer, client: HttpClient, patch_type: PatchType
) -> None:
    fake.add(pod("w-0"))
    await client.patch(REF, LABEL, patch_type=patch_type)
    assert fake.seen[-1].content_type == patch_type


async def test_every_write_names_our_field_manager(fake: FakeApiServer, client: HttpClient) -> None:
    await client.create(PODS, pod("w-0"), namespace="default")
    await patch(client)
    await client.replace(REF, await client.get(REF))
    assert [seen.query["fieldManager"] for seen in fake.writes] == ["ganglift"] * 3


async def test_a_delete_lets_dependents_go_in_the_background_by_default(
    fake: FakeApiServer, client: HttpClient
) -> None:
    fake.add(pod("w-0"), pod("w-1"))
    await client.delete(REF)
    await client.delete(PODS.ref("w-1", "default"), propagation=Propagation.ORPHAN)
    assert [seen.body["propagationPolicy"] for seen in fake.writes] == ["Background", "Orphan"]


async def test_a_delete_carries_its_preconditions_and_grace(fake: FakeApiServer, client: HttpClient) -> None:
    (made,) = fake.add(pod("w-0"))
    uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
    await client.delete(REF, uid=uid, resource_version=version, grace_period_s=0)
    body = fake.seen[-1].body
    assert body["preconditions"] == {"uid": uid, "resourceVersion": version}
    assert body["gracePeriodSeconds"] == 0


async def test_bytes_are_sent_as_they_are(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("w-0"))
    await client.patch(REF, b'{"metadata":{"labels":{"raw":"yes"}}}', patch_type=PatchType.MERGE)
    assert fake.seen[-1].body == {"metadata": {"labels": {"raw": "yes"}}}


async def test_strictness_is_asked_for_at_creation(fake: FakeApiServer, client: HttpClient) -> None:
    await client.create(PODS, pod("w-0"), namespace="default", strict=True)
    assert fake.seen[-1].query["fieldValidation"] == "Strict"


async def test_any_path_can_be_fetched(client: HttpClient) -> None:
    assert b'"minor":"37"' in await client.fetch("/version")


# What is repeated


async def test_a_busy_server_is_asked_again_when_it_says(fake: FakeApiServer) -> None:
    clock = VirtualClock()
    fake.add(pod("w-0"))
    fake.faults.add(on("patch"), BUSY, times=2)
    client = HttpClient(Credentials.fixed(fake.access), clock=clock)
    async with client:
        task = asyncio.ensure_future(patch(client))
        await until(lambda: len(fake.seen) == 1)
        await clock.advance(0.9)
        assert len(fake.seen) == 1
        await clock.advance(0.2)
        await until(lambda: len(fake.seen) == 2)
        await clock.advance(1.1)
        await task
    assert len(fake.seen) == 3


async def test_a_busy_server_is_not_waited_for_beyond_the_calls_time(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("w-0"))
    fake.faults.add(on("patch"), Refuse(too_many_requests("busy", retry_after_s=60)), times=None)
    with pytest.raises(TooManyRequests) as caught:
        await patch(client)
    assert caught.value.retry_after_s == 60
    assert len(fake.seen) == 1


async def test_a_disruption_budget_is_not_waited_for(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("w-0"))
    cause = {"reason": "DisruptionBudget", "message": "m"}
    fake.faults.add(on("create", PODS), Refuse(too_many_requests("no", retry_after_s=1, causes=[cause])), times=None)
    with pytest.raises(TooManyRequests):
        await client.evict(REF)
    assert len(fake.seen) == 1


async def test_a_server_error_is_for_the_caller(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("w-0"))
    fake.faults.add(on("get"), Refuse(internal_error("etcd is away")))
    with pytest.raises(ServerError) as caught:
        await client.get(REF)
    assert caught.value.outcome_unknown
    assert len(fake.seen) == 1


async def test_a_read_survives_a_connection_that_was_closed_while_idle(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("w-0"))
    await client.get(REF)
    fake.faults.add(on("get"), Drop())
    assert b"w-0" in await client.get(REF)


@pytest.mark.parametrize("effect", [Drop(), Drop(performed=True), Cut()], ids=["before", "after", "mid-answer"])
async def test_a_patch_is_never_repeated(fake: FakeApiServer, client: HttpClient, effect: Effect) -> None:
    fake.add(pod("w-0"))
    await client.get(REF)
    fake.faults.add(on("patch"), effect)
    with pytest.raises(Unreachable) as caught:
        await patch(client)
    assert caught.value.outcome_unknown
    assert len(fake.writes) == 1


# What is given up on


async def test_a_server_that_does_not_answer_is_given_up_on(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("w-0"))
    fake.faults.add(on("patch"), Hang())
    with pytest.raises(TimedOut, match=r"patch pods 'w-0' in namespace 'default': no answer within 0\.2 s") as caught:
        await patch(client, timeout_s=0.2)
    assert caught.value.outcome_unknown


async def test_a_late_answer_counts_if_it_comes_in_time(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("w-0"))
    fake.faults.add(on("patch"), Delay(0.1))
    assert b'"a":"b"' in await patch(client, timeout_s=5)


async def test_a_refused_connection_says_that_nothing_was_sent(unused_tcp_port: int) -> None:
    nobody = Credentials.fixed(Access(f"http://127.0.0.1:{unused_tcp_port}"))
    async with HttpClient(nobody) as client:
        with pytest.raises(Unreachable) as caught:
            await patch(client)
    assert not caught.value.outcome_unknown


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_refused_connection_is_told_in_the_systems_words(unused_tcp_port: int, scheme: str) -> None:
    nobody = Credentials.fixed(Access(f"{scheme}://127.0.0.1:{unused_tcp_port}", ssl=ssl.create_default_context()))
    async with HttpClient(nobody) as client:
        with pytest.raises(Unreachable) as caught:
            await client.fetch("/version")
    assert str(caught.value).endswith(f": no connection to 127.0.0.1:{unused_tcp_port}: Connection refused")


async def test_a_name_that_is_not_found_is_told_in_the_systems_words() -> None:
    nobody = Credentials.fixed(Access("https://nobody.invalid:6443", ssl=ssl.create_default_context()))
    async with HttpClient(nobody) as client:
        with pytest.raises(Unreachable, match=r"no connection to nobody\.invalid:6443: [^<>]+$"):
            await client.fetch("/version")


async def test_an_answer_that_is_no_status_is_still_an_error(fake: FakeApiServer, client: HttpClient) -> None:
    with pytest.raises(KubeError, match="404 page not found"):
        await client.fetch("/apis/nothing.here/v1")


# Credentials


async def test_a_401_is_repeated_once_with_newer_credentials() -> None:
    async with FakeApiServer(tokens=frozenset({"new"})) as fake:
        tokens = iter(["old", "new"])
        async with HttpClient(rotating(fake, tokens)) as client:
            await client.create(NODES, {"metadata": {"name": "n"}})
    assert len(fake.writes) == 2


async def test_a_watch_is_opened_with_newer_credentials_after_a_401() -> None:
    async with (
        FakeApiServer(tokens=frozenset({"new"})) as fake,
        HttpClient(rotating(fake, iter(["old", "new"]))) as client,
        client.watch(NODES, resource_version=None) as lines,
    ):
        assert b"BOOKMARK" in await anext(lines)


async def test_a_401_with_the_same_credentials_is_for_the_caller() -> None:
    async with (
        FakeApiServer(tokens=frozenset({"new"})) as fake,
        HttpClient(Credentials.fixed(Access(fake.url, token="Bearer old"))) as client,
    ):
        with pytest.raises(Unauthorized, match="check the kubeconfig"):
            await client.get(NODES.ref("n"))


async def test_a_second_401_is_for_the_caller(fake: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "RENEW_AT_MOST_EVERY_S", 0.0)
    fake.faults.add(on("get"), Refuse(unauthorized()), times=None)
    async with HttpClient(rotating(fake, iter(["a", "b", "c"]))) as client:
        with pytest.raises(Unauthorized):
            await client.get(NODES.ref("n"))
    assert len(fake.seen) == 2


# Limits


async def test_writes_beyond_the_burst_keep_to_the_rate(fake: FakeApiServer) -> None:
    async with fake.client(Limits(qps=100, burst=10)) as client:
        began = time.monotonic()
        await asyncio.gather(*(client.create(NODES, {"metadata": {"name": f"n-{i}"}}) for i in range(30)))
    assert time.monotonic() - began >= 0.19


async def test_a_gang_of_512_is_within_the_default_burst(fake: FakeApiServer) -> None:
    fake.add(*(pod(f"w-{i}") for i in range(512)))
    # All but no refill: what passes is the burst.
    async with fake.client(Limits(qps=0.001, burst=Limits().bucket)) as client:
        for _ in range(2):
            refs = [PODS.ref(f"w-{i}", "default") for i in range(512)]
            await asyncio.gather(*(client.patch(ref, LABEL, patch_type=PatchType.MERGE) for ref in refs))
    assert len(fake.writes) == 1_024


async def test_reads_do_not_use_up_the_rate(fake: FakeApiServer) -> None:
    fake.add(pod("w-0"))
    async with fake.client(Limits(qps=0.001, burst=1)) as client:
        await asyncio.gather(*(client.get(REF) for _ in range(20)))
    assert len(fake.seen) == 20


async def test_no_more_requests_are_in_flight_than_allowed(fake: FakeApiServer) -> None:
    fake.add(pod("w-0"))
    fake.faults.add(on("get"), Delay(0.05), times=None)
    async with fake.client(Limits(max_in_flight=4)) as client:
        began = time.monotonic()
        await asyncio.gather(*(client.get(REF) for _ in range(12)))
    assert time.monotonic() - began >= 0.14


async def test_a_client_with_limits_of_its_own_does_not_queue_behind_another(fake: FakeApiServer) -> None:
    fake.add(pod("w-0"))
    fake.faults.add(on("patch"), Hang(), times=1)
    async with fake.client(Limits(max_in_flight=1, request_timeout_s=5)) as client:
        stuck = asyncio.ensure_future(patch(client))
        await until(lambda: len(fake.seen) == 1)
        await client.with_limits(Limits()).get(REF)
        assert not stuck.done()
        stuck.cancel()


def test_a_lower_rate_has_a_smaller_burst() -> None:
    assert (Limits().bucket, Limits(qps=20).bucket, Limits(qps=0.01).bucket) == (2_000, 200, 1)


def test_limits_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="above zero"):
        Limits(qps=0)


# Watches


async def test_a_watch_gives_lines_longer_than_any_buffer(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("w-0", annotations={"big": "x" * 1_200_000}))
    async with client.watch(PODS, resource_version=None) as lines:
        line = await anext(lines)
    assert len(line) > 1_200_000
    assert line.endswith(b"}")


@pytest.mark.parametrize(
    ("distort", "error"),
    [
        (Distort(after=1, then="cut"), Unreachable),
        (Distort(after=1, then="half"), Unreachable),
        (Distort(after=1, then="silence"), TimedOut),
    ],
)
async def test_a_watch_that_breaks_says_how(
    fake: FakeApiServer, client: HttpClient, distort: Distort, error: type[KubeError]
) -> None:
    fake.add(pod("w-0"), pod("w-1"))
    fake.faults.add(on("watch"), distort)
    with pytest.raises(error):
        await drain(client.watch(PODS, resource_version=None, silence_s=0.2))


async def test_a_watch_left_early_is_closed(fake: FakeApiServer, client: HttpClient) -> None:
    async with client.watch(PODS, resource_version=None) as lines:
        await anext(lines)
        assert len(fake.watches) == 1
    await until(lambda: not fake.watches)


async def test_a_watch_that_is_refused_raises(fake: FakeApiServer, client: HttpClient) -> None:
    fake.faults.add(on("watch"), Refuse(internal_error("x")))
    with pytest.raises(ServerError):
        await drain(client.watch(PODS, resource_version=None))


async def drain(watch: AbstractAsyncContextManager[AsyncIterator[bytes]]) -> None:
    async with watch as lines:
        async for _ in lines:
            continue


def rotating(fake: FakeApiServer, tokens: Iterator[str]) -> Credentials:
    """Credentials that are others each time they are read."""

    async def load() -> Loaded:
        return Loaded(Access(fake.url, token=f"Bearer {next(tokens)}"))

    return Credentials(load)
