"""The informer against the fake: whatever the API server does to a watch, the sink ends up with what is there."""

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from tests.fakes.apiserver import Distort, Drop, FakeApiServer, Hang, Refuse, on
from tests.fakes.apiserver.faults import Effect
from tests.fakes.apiserver.refusals import (
    Problems,
    Refusal,
    expired,
    forbidden,
    internal_error,
    not_served,
    too_many_requests,
)
from tests.fakes.manifests import node, pod
from tests.support.async_polling import until
from tests.unit.kube.mirrored import QUICK, Memory, Mirrored

from ganglift.api.pod import Pod
from ganglift.kube.client import Limits, PatchType, Selector
from ganglift.kube.errors import KubeError, ServerError
from ganglift.kube.http import HttpClient
from ganglift.kube.informer import Informer, Timing
from ganglift.kube.resources import PODS


@pytest.fixture
async def mirrored(fake: FakeApiServer, client: HttpClient) -> AsyncIterator[Mirrored]:
    fake.add(*(pod(f"p-{i}") for i in range(5)))
    mirrored = Mirrored(fake, client)
    yield mirrored
    await mirrored.stop()


# Listing


async def test_the_sink_gets_everything_at_once(mirrored: Mirrored) -> None:
    await mirrored.start()
    assert mirrored.sink.versions == mirrored.there()
    assert (mirrored.sink.replaced, mirrored.sink.told) == (1, [])


async def test_an_empty_cluster_is_synced_too(fake: FakeApiServer, client: HttpClient) -> None:
    mirrored = Mirrored(fake, client)
    await mirrored.start()
    assert mirrored.sink.replaced == 1
    await mirrored.stop()


async def test_pages_are_used_where_a_watch_does_not_list(mirrored: Mirrored) -> None:
    mirrored.fake.faults.add(lambda seen: "sendInitialEvents" in seen.query, Refuse(switched_off()), times=None)
    await mirrored.start()
    assert mirrored.sink.versions == mirrored.there()
    assert sum(seen.verb == "list" for seen in mirrored.fake.seen) == 3
    mirrored.fake.add(pod("later"))
    await mirrored.agree()


async def test_a_list_forgotten_between_its_pages_is_begun_anew(mirrored: Mirrored) -> None:
    mirrored.fake.faults.add(lambda seen: "sendInitialEvents" in seen.query, Refuse(switched_off()), times=None)
    mirrored.fake.faults.add(lambda seen: "continue" in seen.query, Refuse(expired("too old")))
    await mirrored.start()
    assert mirrored.sink.versions == mirrored.there()


async def test_a_listing_cut_off_is_begun_anew(mirrored: Mirrored) -> None:
    mirrored.fake.faults.add(on("watch"), Distort(after=2, then="cut"))
    await mirrored.start()
    assert mirrored.sink.versions == mirrored.there()


async def test_a_listing_that_never_ends_is_tried_the_other_way(mirrored: Mirrored) -> None:
    fault = mirrored.fake.faults.add(
        lambda seen: "sendInitialEvents" in seen.query, Distort(after=2, then="silence"), times=None
    )
    await mirrored.start()
    assert mirrored.sink.versions == mirrored.there()
    assert fault.struck == 1


async def test_only_what_is_selected_is_mirrored(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(pod("in", labels={"a": "1"}), pod("out"))
    mirrored = Mirrored(fake, client)
    mirrored.informer = Informer(
        client, PODS, Pod.model_validate_json, mirrored.sink, timing=QUICK, selector=Selector(labels="a=1")
    )
    await mirrored.start()
    assert list(mirrored.sink.versions) == ["in"]
    await mirrored.stop()


# Following


async def test_changes_are_passed_on_in_order(mirrored: Mirrored) -> None:
    await mirrored.start()
    mirrored.fake.add(pod("new"))
    await mirrored.change("p-0")
    await mirrored.remove("p-0")
    await mirrored.agree()
    assert mirrored.sink.told == [("upsert", "new"), ("upsert", "p-0"), ("delete", "p-0")]


async def test_the_version_reached_is_the_last_events(mirrored: Mirrored) -> None:
    await mirrored.start()
    await mirrored.change("p-0")
    await mirrored.agree()
    assert mirrored.informer.resource_version == mirrored.there()["p-0"]


async def test_a_bookmark_moves_the_version_on(fake: FakeApiServer, client: HttpClient) -> None:
    fake.bookmark_every_s = 0.05
    mirrored = Mirrored(fake, client)
    await mirrored.start()
    fake.add(node("n"))
    await until(lambda: mirrored.informer.resource_version == str(fake.api.store.revision))
    await mirrored.stop()


async def test_a_watch_that_ends_cleanly_is_resumed_where_it_ended(mirrored: Mirrored) -> None:
    await mirrored.start()
    mirrored.fake.end_watches()
    mirrored.fake.add(pod("new"))
    await mirrored.agree()
    assert mirrored.sink.told == [("upsert", "new")]
    assert [query.get("resourceVersion") for query in mirrored.watches_seen()][1:] != []
    assert sum("sendInitialEvents" in query for query in mirrored.watches_seen()) == 1


async def test_a_storm_of_clean_ends_loses_nothing(mirrored: Mirrored) -> None:
    await mirrored.start()
    for number in range(50):
        mirrored.fake.add(pod(f"storm-{number}"))
        if number % 5 == 0:
            mirrored.fake.end_watches()
        await asyncio.sleep(0)
    await mirrored.agree()
    assert mirrored.sink.told == [("upsert", f"storm-{number}") for number in range(50)]


BROKEN: list[tuple[str, Effect]] = [
    ("cut mid-line", Distort(after=1, then="cut")),
    ("ended mid-line", Distort(after=1, then="half")),
    ("silent", Distort(after=1, then="silence")),
    ("500 as an event", Distort(after=1, then="error", error=internal_error("x"))),
    ("410 as an event", Distort(after=1, then="error", error=expired("too old"))),
    ("429 as an event", Distort(after=0, then="error", error=too_many_requests("x"))),
    ("410 on the request", Refuse(expired("too old"))),
    ("500 on the request", Refuse(internal_error("x"))),
    ("429 on the request", Refuse(too_many_requests("x", retry_after_s=1))),
    ("403 on the request", Refuse(forbidden(PODS, "", "no"))),
    ("dropped", Drop()),
    ("empty", Distort(after=0, then="end")),
    ("late", Distort(late_s=0.1)),
    ("twice", Distort(twice=True)),
    ("swapped", Distort(swapped=True)),
]


@pytest.mark.parametrize("times", [1, 3, 8])
@pytest.mark.parametrize("effect", [effect for _, effect in BROKEN], ids=[name for name, _ in BROKEN])
async def test_whatever_befalls_watches_the_sink_ends_up_right(mirrored: Mirrored, effect: Effect, times: int) -> None:
    await mirrored.start()
    mirrored.fake.faults.add(on("watch"), effect, times=times)
    mirrored.fake.end_watches()
    for number in range(6):
        mirrored.fake.add(pod(f"new-{number}"))
        await mirrored.change("p-1")
        if number % 2:
            await mirrored.remove(f"new-{number}")
        await asyncio.sleep(0)
    await mirrored.remove("p-2")
    await mirrored.agree()


async def test_what_vanished_unseen_is_deleted(mirrored: Mirrored) -> None:
    await mirrored.start()
    fault = mirrored.fake.faults.add(on("watch"), Drop(), times=None)
    mirrored.fake.end_watches()
    await until(lambda: fault.struck > 0)
    await mirrored.remove("p-3")
    mirrored.fake.api.store.table(PODS).log.compact()
    mirrored.fake.faults.clear()
    await mirrored.agree()
    assert mirrored.sink.told == [("delete", "p-3")]
    assert mirrored.sink.replaced == 1


async def test_what_was_made_anew_under_its_name_is_another(mirrored: Mirrored) -> None:
    await mirrored.start()
    fault = mirrored.fake.faults.add(on("watch"), Drop(), times=None)
    mirrored.fake.end_watches()
    await until(lambda: fault.struck > 0)
    await mirrored.remove("p-3")
    mirrored.fake.add(pod("p-3"))
    mirrored.fake.api.store.table(PODS).log.compact()
    mirrored.fake.faults.clear()
    await mirrored.agree()
    assert mirrored.sink.told == [("delete", "p-3"), ("upsert", "p-3")]


async def test_a_new_listing_passes_on_its_differences_only(mirrored: Mirrored) -> None:
    await mirrored.start()
    fault = mirrored.fake.faults.add(on("watch"), Drop(), times=None)
    mirrored.fake.end_watches()
    await until(lambda: fault.struck > 0)
    await mirrored.change("p-0")
    mirrored.fake.api.store.table(PODS).log.compact()
    mirrored.fake.faults.clear()
    await mirrored.agree()
    assert mirrored.sink.told == [("upsert", "p-0")]


async def test_a_stale_listing_is_not_believed(mirrored: Mirrored) -> None:
    await mirrored.start()
    store, table = mirrored.fake.api.store, mirrored.fake.api.store.table(PODS)
    lagging, behind = dict(table.objects), store.revision
    await mirrored.remove("p-3")
    await mirrored.agree()
    current, ahead = table.objects, store.revision
    table.log.compact()
    table.objects, store.revision = lagging, behind
    mirrored.fake.end_watches()
    await until(lambda: sum("sendInitialEvents" in query for query in mirrored.watches_seen()) == 3)
    table.objects, store.revision = current, ahead
    await until(lambda: mirrored.informer.problem is None)
    await mirrored.agree()
    assert mirrored.sink.told == [("delete", "p-3")]


async def test_events_out_of_order_do_not_bring_back_an_older_state(mirrored: Mirrored) -> None:
    await mirrored.start()
    mirrored.fake.faults.add(on("watch"), Distort(swapped=True))
    mirrored.fake.end_watches()
    await until(lambda: any(watch.distort.swapped for watch in mirrored.fake.watches))
    api = mirrored.fake.api
    for number in range(2):
        target = api.target(PODS, "default", "p-1")
        api.patch(target, PatchType.MERGE, {"metadata": {"labels": {"n": str(number)}}})
    await mirrored.agree()
    await mirrored.change("p-2")
    await mirrored.agree()
    assert mirrored.sink.reached == sorted(mirrored.sink.reached)


async def test_an_event_that_comes_twice_is_passed_on_once(mirrored: Mirrored) -> None:
    await mirrored.start()
    mirrored.fake.faults.add(on("watch"), Distort(twice=True))
    mirrored.fake.end_watches()
    await until(lambda: any(watch.distort.twice for watch in mirrored.fake.watches))
    mirrored.fake.add(pod("new-0"))
    await mirrored.agree()
    await mirrored.change("p-1")
    await mirrored.agree()
    assert mirrored.sink.told == [("upsert", "new-0"), ("upsert", "p-1")]


async def test_a_cluster_restored_from_a_backup_is_believed_in_the_end(mirrored: Mirrored) -> None:
    await mirrored.start()
    store = mirrored.fake.api.store
    await mirrored.change("p-0")
    await mirrored.agree()
    store.table(PODS).log.compact()
    store.revision -= 500
    mirrored.fake.end_watches()
    mirrored.fake.add(pod("restored"))
    await until(lambda: "restored" in mirrored.sink.versions)


async def test_a_watch_that_is_refused_does_not_make_listings_follow_at_once(mirrored: Mirrored) -> None:
    slow = Timing(backoff_base_s=0.2, backoff_max_s=60, page_size=100)
    mirrored.informer = Informer(mirrored.client, PODS, Pod.model_validate_json, mirrored.sink, timing=slow)
    fault = mirrored.fake.faults.add(on("watch"), Refuse(forbidden(PODS, "", "no")), times=None)
    await mirrored.start()
    await until(lambda: fault.struck == 5)
    assert sum(seen.verb == "list" for seen in mirrored.fake.seen) <= 3


# Reporting


async def test_a_problem_is_shown_while_it_lasts(mirrored: Mirrored) -> None:
    await mirrored.start()
    mirrored.fake.faults.add(on("watch"), Refuse(internal_error("x")), times=None)
    mirrored.fake.end_watches()
    await until(lambda: isinstance(mirrored.informer.problem, ServerError))
    mirrored.fake.faults.clear()
    await until(lambda: mirrored.informer.problem is None)


async def test_who_wants_to_know_is_told_of_each_error_and_of_the_end_of_it(mirrored: Mirrored) -> None:
    told: list[KubeError | None] = []
    mirrored.informer = Informer(
        mirrored.client, PODS, Pod.model_validate_json, mirrored.sink, timing=QUICK, troubled=told.append
    )
    await mirrored.start()
    assert told == []
    fault = mirrored.fake.faults.add(on("watch"), Refuse(internal_error("x")), times=2)
    mirrored.fake.end_watches()
    await until(lambda: fault.struck == 2)
    mirrored.fake.add(pod("new"))
    await mirrored.agree()
    assert [type(error) for error in told] == [ServerError, ServerError, type(None)]


async def test_a_kind_that_is_not_served_is_no_warning(mirrored: Mirrored, caplog: pytest.LogCaptureFixture) -> None:
    fault = mirrored.fake.faults.add(lambda _: True, Refuse(not_served()), times=3)
    with caplog.at_level(logging.INFO):
        await mirrored.start()
    assert fault.struck == 3
    assert [record.levelname for record in caplog.records if "not up to date" in record.message] == ["INFO"]


async def test_a_problem_is_logged_once(mirrored: Mirrored, caplog: pytest.LogCaptureFixture) -> None:
    await mirrored.start()
    fault = mirrored.fake.faults.add(on("watch"), Refuse(internal_error("x")), times=10)
    mirrored.fake.end_watches()
    await until(lambda: fault.struck == 10)
    mirrored.fake.add(pod("new"))
    await mirrored.agree()
    assert [record.levelname for record in caplog.records if "not up to date" in record.message] == ["WARNING"]


async def test_a_watch_on_which_nothing_happens_is_no_trouble(
    mirrored: Mirrored, caplog: pytest.LogCaptureFixture
) -> None:
    """The API server sends bookmarks of a kind only after the first event since its own start."""
    told: list[KubeError | None] = []
    mirrored.informer = Informer(
        mirrored.client, PODS, Pod.model_validate_json, mirrored.sink, timing=QUICK, troubled=told.append
    )
    with caplog.at_level(logging.INFO):
        await mirrored.start()
        caplog.clear()
        await until(lambda: len(mirrored.watches_seen()) >= 3)
        assert mirrored.informer.problem is None
    assert (told, caplog.messages) == ([], [])


async def test_a_watch_that_stays_silent_is_listed_anew_in_the_end(mirrored: Mirrored) -> None:
    await mirrored.start()
    await until(lambda: sum("sendInitialEvents" in query for query in mirrored.watches_seen()) == 2)
    assert len(mirrored.watches_seen()) == 4


async def test_a_connection_that_breaks_once_is_not_told(mirrored: Mirrored, caplog: pytest.LogCaptureFixture) -> None:
    await mirrored.start()
    fault = mirrored.fake.faults.add(on("watch"), Refuse(internal_error("x")), times=1)
    mirrored.fake.end_watches()
    await until(lambda: fault.struck == 1)
    mirrored.fake.add(pod("new"))
    await mirrored.agree()
    assert [record.message for record in caplog.records if "up to date" in record.message] == []


async def test_a_server_that_is_down_at_first_is_waited_for(mirrored: Mirrored) -> None:
    impatient = mirrored.client.with_limits(Limits(request_timeout_s=0.2))
    mirrored.informer = Informer(impatient, PODS, Pod.model_validate_json, mirrored.sink, timing=QUICK)
    mirrored.fake.faults.add(on("watch"), Drop(), times=3)
    mirrored.fake.faults.add(on("list"), Hang(), times=1)
    await mirrored.start()
    assert mirrored.sink.versions == mirrored.there()


async def test_an_object_that_cannot_be_read_is_left_out(mirrored: Mirrored, caplog: pytest.LogCaptureFixture) -> None:
    def parse(data: bytes) -> Pod:
        if b'"p-2"' in data:
            raise ValueError("unreadable")
        return Pod.model_validate_json(data)

    mirrored.informer = Informer(mirrored.client, PODS, parse, mirrored.sink, timing=QUICK)
    await mirrored.start()
    assert set(mirrored.there()) - set(mirrored.sink.versions) == {"p-2"}
    assert mirrored.informer.unreadable == 1


async def test_a_fault_of_the_sink_is_not_hidden(mirrored: Mirrored) -> None:
    class Broken(Memory):
        def upsert(self, obj: Pod) -> None:
            raise ZeroDivisionError

    informer = Informer(mirrored.client, PODS, Pod.model_validate_json, Broken(), timing=QUICK)
    running = asyncio.ensure_future(informer.run())
    await informer.synced()
    mirrored.fake.add(pod("new"))
    with pytest.raises(ZeroDivisionError):
        await running


async def test_the_loop_is_not_held_by_a_big_listing(fake: FakeApiServer, client: HttpClient) -> None:
    fake.add(*(pod(f"p-{i}") for i in range(2_000)))
    mirrored = Mirrored(fake, client)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.ensure_future(count())
    await mirrored.start()
    counting.cancel()
    await mirrored.stop()
    assert turns > 10
    assert len(mirrored.sink.pods) == 2_000


def switched_off() -> Refusal:
    problems = Problems()
    problems.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for watch unless the WatchList gate is on")
    try:
        problems.raise_for(PODS, "")
    except Refusal as refusal:
        return refusal
    raise AssertionError
