"""Lists and watches: what the informer stands on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.contract.server import Server, load

from ganglift.kube.client import EVERYTHING, INITIAL_EVENTS_END, PatchType, Selector
from ganglift.kube.decoding import Event, split_event, split_page
from ganglift.kube.errors import Request
from ganglift.kube.resources import LEASES, PODS

ASKED = Request("watch", "leases")


class StreamContract:
    async def test_a_list_comes_in_pages_of_one_moment(self, server: Server) -> None:
        for number in range(5):
            await server.make_lease(f"l-{number}")
        names, versions, token = [], set(), ""
        while True:
            body = await server.client.list_page(LEASES, namespace=server.namespace, limit=2, continue_token=token)
            page = split_page(body, ASKED)
            names += [load(item)["metadata"]["name"] for item in page.items]
            versions.add(page.resource_version)
            if names[-1] != "l-4":
                await server.make_lease(f"late-{len(names)}")
            token = page.continue_token
            if not token:
                break
        assert names == [f"l-{number}" for number in range(5)]
        assert len(versions) == 1

    async def test_a_token_that_makes_no_sense_is_refused(self, server: Server) -> None:
        with pytest.raises(Exception, match="continue"):
            await server.client.list_page(LEASES, namespace=server.namespace, continue_token="nonsense")

    async def test_a_list_can_select_labels_and_fields(self, server: Server) -> None:
        await server.make_lease("a", labels={"x": "1"})
        await server.make_lease("b", labels={"x": "2"})
        await server.make_lease("c")
        for selector, expected in (
            (Selector(labels="x=1"), ["a"]),
            (Selector(labels="x"), ["a", "b"]),
            (Selector(labels="!x"), ["c"]),
            (Selector(labels="x in (1,2),x!=1"), ["b"]),
            (Selector(labels="x notin (1)"), ["b", "c"]),
            (Selector(fields="metadata.name=c"), ["c"]),
        ):
            body = await server.client.list_page(LEASES, namespace=server.namespace, selector=selector)
            names = [load(item)["metadata"]["name"] for item in split_page(body, ASKED).items]
            assert names == expected, selector

    async def test_a_watch_shows_all_changes_in_order(self, server: Server) -> None:
        made = await server.make_lease("before")
        await self._live_and_die(server)
        async with watch(server, made["metadata"]["resourceVersion"]) as events:
            seen = [await anext(events) for _ in range(3)]
        assert [event.type for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
        versions = [int(event.metadata()["resourceVersion"]) for event in seen]
        assert versions == sorted(set(versions))

    async def test_a_watch_shows_what_happens_while_it_is_open(self, server: Server) -> None:
        made = await server.make_lease("before")
        async with watch(server, made["metadata"]["resourceVersion"]) as events:
            await server.make_lease("during")
            assert (await anext(events)).metadata()["name"] == "during"

    async def test_what_leaves_a_selection_is_shown_as_deleted(self, server: Server) -> None:
        made = await server.make_lease("one", labels={"x": "1"})
        version = made["metadata"]["resourceVersion"]
        async with watch(server, version, selector=Selector(labels="x=1")) as events:
            for value in ("2", "1"):
                body = {"metadata": {"labels": {"x": value}}}
                await server.client.patch(server.ref(LEASES, "one"), body, patch_type=PatchType.MERGE)
            assert [(await anext(events)).type for _ in range(2)] == ["DELETED", "ADDED"]

    async def test_a_watch_can_begin_with_all_that_is_there(self, server: Server) -> None:
        names = {(await server.make_lease(f"l-{number}"))["metadata"]["name"] for number in range(3)}
        async with watch(server, None) as events:
            present = {(await anext(events)).metadata()["name"] for _ in range(3)}
            end = await anext(events)
            assert present == names
            assert end.type == "BOOKMARK"
            assert end.metadata()["annotations"] == {INITIAL_EVENTS_END: "true"}
            await server.make_lease("later")
            assert (await anext(events)).metadata()["name"] == "later"

    async def test_a_watch_ends_cleanly_after_its_time(self, server: Server) -> None:
        made = await server.make_lease()
        async with watch(server, made["metadata"]["resourceVersion"], duration_s=1) as events:
            assert all(event.type == "BOOKMARK" for event in [event async for event in events])

    async def test_events_of_pods_come_as_the_splitter_expects_them(self, server: Server) -> None:
        made = await server.make_pod()
        async with server.client.watch(PODS, resource_version=None, namespace=server.namespace) as lines:
            line = await anext(lines)
        assert line.startswith(b'{"type":"ADDED","object":{')
        assert load(split_event(line, ASKED).object)["metadata"]["uid"] == made["metadata"]["uid"]

    async def _live_and_die(self, server: Server) -> None:
        await server.make_lease("one")
        body = {"metadata": {"labels": {"a": "b"}}}
        await server.client.patch(server.ref(LEASES, "one"), body, patch_type=PatchType.MERGE)
        await server.client.delete(server.ref(LEASES, "one"))


@asynccontextmanager
async def watch(
    server: Server, version: str | None, *, selector: Selector = EVERYTHING, duration_s: float = 60
) -> AsyncIterator[AsyncIterator[Event]]:
    async with server.client.watch(
        LEASES, resource_version=version, namespace=server.namespace, selector=selector, duration_s=duration_s
    ) as lines:

        async def events() -> AsyncIterator[Event]:
            async for line in lines:
                yield split_event(line, ASKED)

        yield events()
