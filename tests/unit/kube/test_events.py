"""The event recorder: never in the way, folded, bounded, and quiet about failures."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from tests.fakes.apiserver import FakeApiServer, Hang, Refuse, on
from tests.fakes.apiserver.refusals import Obj, internal_error
from tests.fakes.clock import VirtualClock, settle

from ganglift.base.ids import Key, Uid
from ganglift.kube.events import Recorder
from ganglift.kube.resources import EVENTS, NODES, POD_GROUPS, Resource

UID = Uid("00000000-0000-4000-8000-000000000001")


class Desk:
    """A recorder at work on a fake, under a virtual clock."""

    def __init__(self, *, max_queued: int = 1_000) -> None:
        self.clock = VirtualClock()
        self.server = FakeApiServer(clock=self.clock)
        self.recorder = Recorder(
            self.server.direct_client(), instance="replica-1", clock=self.clock, max_queued=max_queued
        )
        self.running = asyncio.ensure_future(self.recorder.run())

    def say(self, message: str = "4 of 4 bound", *, name: str = "g", resource: Resource = POD_GROUPS) -> None:
        key = Key("default" if resource.namespaced else "", name)
        self.recorder.announce(resource, key, UID, reason="Scheduled", message=message)

    async def events(self) -> list[Obj]:
        await settle()
        return [stored.obj for stored in self.server.api.store.table(EVENTS).objects.values()]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    yield desk
    await end(desk)


async def end(desk: Desk) -> None:
    desk.running.cancel()
    with suppress(asyncio.CancelledError):
        await desk.running


async def test_news_becomes_an_event_about_its_object(desk: Desk) -> None:
    desk.recorder.announce(
        POD_GROUPS, Key("default", "g"), UID, reason="Unschedulable", message="3 of 4 fit", is_warning=True
    )
    (event,) = await desk.events()
    assert event["regarding"] == {
        "apiVersion": "scheduling.ganglift.dev/v1beta1",
        "kind": "PodGroup",
        "namespace": "default",
        "name": "g",
        "uid": UID,
    }
    assert (event["reason"], event["note"], event["type"]) == ("Unschedulable", "3 of 4 fit", "Warning")
    assert (event["reportingController"], event["reportingInstance"]) == ("ganglift", "replica-1")


async def test_news_of_a_cluster_wide_object_is_kept_in_default(desk: Desk) -> None:
    desk.say(resource=NODES)
    (event,) = await desk.events()
    assert event["metadata"]["namespace"] == "default"


async def test_announcing_sends_nothing_by_itself(desk: Desk) -> None:
    desk.say()
    assert desk.server.seen == []


async def test_the_same_news_becomes_one_event_with_a_count(desk: Desk) -> None:
    for _ in range(3):
        desk.say()
        await desk.events()
        await desk.clock.advance(60)
    (event,) = await desk.events()
    assert event["series"] == {"count": 3, "lastObservedTime": "2026-11-30T12:02:00.000000Z"}


async def test_a_burst_of_the_same_news_is_one_write(desk: Desk) -> None:
    for _ in range(100):
        desk.say()
    (event,) = await desk.events()
    assert event["series"]["count"] == 100
    assert len(desk.server.writes) == 1


async def test_repetitions_within_half_a_minute_are_not_written(desk: Desk) -> None:
    for _ in range(10):
        desk.say()
        await desk.events()
        await desk.clock.advance(1)
    assert len(desk.server.writes) == 1


async def test_other_words_are_another_event(desk: Desk) -> None:
    desk.say("3 of 4")
    desk.say("4 of 4")
    assert {event["note"] for event in await desk.events()} == {"3 of 4", "4 of 4"}


async def test_the_same_news_after_a_long_time_is_another_event(desk: Desk) -> None:
    desk.say()
    await desk.events()
    await desk.clock.advance(601)
    desk.say()
    assert len(await desk.events()) == 2


async def test_an_event_that_expired_is_made_again(desk: Desk) -> None:
    desk.say()
    (event,) = await desk.events()
    await desk.server.direct_client().delete(EVENTS.ref(event["metadata"]["name"], "default"))
    await desk.clock.advance(60)
    desk.say()
    (again,) = await desk.events()
    assert again["series"]["count"] == 2


async def test_a_long_message_is_cut_to_what_the_api_takes(desk: Desk) -> None:
    desk.say("é" * 1_000)
    (event,) = await desk.events()
    assert event["note"].endswith("é...")
    assert len(event["note"].encode()) <= 1024


async def test_an_object_with_a_long_name_gets_its_events(desk: Desk) -> None:
    desk.say(name="x" * 253)
    assert len(await desk.events()) == 1


async def test_failures_are_said_once(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.server.faults.add(on("create", EVENTS), Refuse(internal_error("x")), times=5)
    for number in range(5):
        desk.say(str(number))
    await desk.events()
    assert len(caplog.records) == 1
    assert desk.recorder.dropped == 5


async def test_the_recorder_goes_on_after_a_failure(desk: Desk) -> None:
    desk.server.faults.add(on("create", EVENTS), Refuse(internal_error("x")), times=1)
    desk.say("lost")
    desk.say("kept")
    assert [event["note"] for event in await desk.events()] == ["kept"]


async def test_too_much_news_is_dropped_and_the_caller_never_waits() -> None:
    desk = Desk(max_queued=10)
    desk.server.faults.add(on("create", EVENTS), Hang(), times=1)
    for number in range(50):
        desk.say(str(number))
    assert desk.recorder.dropped == 40
    await end(desk)


async def test_what_is_queued_at_the_end_is_still_written() -> None:
    desk = Desk()
    await settle()
    desk.say()
    await end(desk)
    assert len(await desk.events()) == 1


async def test_a_server_that_hangs_does_not_hold_up_the_end() -> None:
    desk = Desk()
    desk.server.faults.add(on("create", EVENTS), Hang(), times=None)
    desk.say("a")
    await settle()
    desk.say("b")
    async with asyncio.timeout(5):
        await end(desk)
    assert desk.recorder.dropped == 2


async def test_memory_stays_bounded() -> None:
    desk = Desk(max_queued=10)
    for number in range(200):
        desk.say(str(number))
        await settle()
    assert len(desk.recorder._series) <= 11
    await end(desk)
