"""Cutting objects out of lists and watches."""

import asyncio
import json
import time

import pytest
from tests.support.async_polling import until

from ganglift.kube.decoding import Decoder, Pause, split_event, split_page
from ganglift.kube.errors import MalformedAnswer, Request

ASKED = Request("watch", "pods")
POD = b'{"metadata":{"name":"a"}}'


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ADDED","object":' + POD + b"}",
        b'{"object":' + POD + b',"type":"ADDED"}',
        b'{ "type": "ADDED", "object": ' + POD + b"}",
        b'{"type":"ADDED","object":' + POD + b"}\r",
        b'{"type":"ADDED","other":1,"object":' + POD + b"}",
    ],
    ids=["as the server writes it", "turned round", "with spaces", "with a return", "with more"],
)
def test_an_event_is_split_however_it_is_written(line: bytes) -> None:
    event = split_event(line, ASKED)
    assert event.type == "ADDED"
    assert json.loads(event.object) == json.loads(POD)


@pytest.mark.parametrize("line", [b"<html>", b"[]", b"{}", b'{"type":"ADDED"}', b'"x"', b"null", b'{"type":"ADD'])
def test_what_is_no_event_is_malformed(line: bytes) -> None:
    with pytest.raises(MalformedAnswer, match="watch pods: not a watch event"):
        split_event(line, ASKED)


def test_a_page_gives_its_items_version_and_token() -> None:
    body = b'{"metadata":{"resourceVersion":"7","continue":"next"},"items":[' + POD + b"," + POD + b"]}"
    page = split_page(body, ASKED)
    assert (page.resource_version, page.continue_token, page.items) == ("7", "next", (POD, POD))


def test_a_page_may_have_null_for_items() -> None:
    assert split_page(b'{"metadata":{"resourceVersion":"7"},"items":null}', ASKED).items == ()


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"metadata":{}}', b'{"metadata":{"resourceVersion":"7"'])
def test_what_is_no_list_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedAnswer, match="not a list"):
        split_page(body, ASKED)


def test_what_cannot_be_read_is_counted_and_reported_a_few_times(caplog: pytest.LogCaptureFixture) -> None:
    decoder: Decoder[int] = Decoder(int, "numbers")
    assert [decoder.one(data) for data in [b"1", *[b"x"] * 50, b"2"]] == [1, *[None] * 50, 2]
    assert decoder.unreadable == 50
    assert len(caplog.records) == 10


async def test_a_pause_lets_others_run_once_its_slice_is_used_up() -> None:
    pause = Pause(slice_s=0.01)
    ran: list[bool] = []

    async def other() -> bool:
        ran.append(True)
        return True

    waiting = asyncio.ensure_future(until(other))
    await pause.if_due()
    assert not ran
    deadline = time.perf_counter() + 0.02
    while time.perf_counter() < deadline:
        pass
    await pause.if_due()
    assert ran
    await waiting
