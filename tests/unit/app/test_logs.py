"""Log lines, for people and for programs."""

import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ganglift.app.logs import formatter

SEPTEMBER = 1_789_000_000.25
"""2026-09-10T00:26:40.250Z, and already another hour in New York."""


@pytest.fixture(params=["America/New_York", "Asia/Kolkata", "UTC"], autouse=True)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The zone of the machine that the operator runs on."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def record(**fields: Any) -> logging.LogRecord:
    made: dict[str, Any] = {"name": "ganglift.engine", "levelno": logging.INFO, "levelname": "INFO"}
    return logging.makeLogRecord({**made, "msg": "gang lifted", "created": SEPTEMBER, "msecs": 250.0, **fields})


def test_text_line_begins_with_the_time_in_utc() -> None:
    line = formatter("text").format(record(gang="default/g"))
    assert line == "2026-09-10T00:26:40.250Z INFO    gang lifted gang='default/g'"


def test_json_line_has_the_time_in_utc() -> None:
    line = json.loads(formatter("json").format(record(gang="default/g")))
    assert line == {
        "time": "2026-09-10T00:26:40.250Z",
        "level": "INFO",
        "logger": "ganglift.engine",
        "message": "gang lifted",
        "gang": "default/g",
    }


def test_a_time_on_the_full_second_has_its_fraction_too() -> None:
    """Lines sort as text."""
    assert formatter("text").format(record(created=1_789_000_000.0)).startswith("2026-09-10T00:26:40.000Z ")
