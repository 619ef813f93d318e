"""Log lines: one a change of state, with the gang and the pod in fields. Times are RFC 3339 in UTC, as in the API."""

import logging
import sys
from datetime import UTC, datetime
from typing import Literal

from pythonjsonlogger.json import JsonFormatter

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def _time_of(record: logging.LogRecord) -> str:
    """Return when it was logged, such as `2026-11-30T12:00:00.123Z`."""
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class _JsonFormatter(JsonFormatter):
    """An object a line, for programs."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        return _time_of(record)


class _TextFormatter(logging.Formatter):
    """`time level message key=value ...`, for people."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        return _time_of(record)

    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{key}={value!r}" for key, value in vars(record).items() if key not in _STANDARD)
        line = super().format(record)
        return f"{line} {fields}" if fields else line


def set_up_logs(style: Literal["text", "json"]) -> None:
    """Send log lines to stderr: ours from INFO on, those of libraries from WARNING on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter(style))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("ganglift").setLevel(logging.INFO)
    # It warns at each start that it leaves signals alone, which is what we want of it.
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)


def formatter(style: Literal["text", "json"]) -> logging.Formatter:
    """Return what makes lines of that style."""
    if style == "text":
        return _TextFormatter("%(asctime)s %(levelname)-7s %(message)s")
    names = {"asctime": "time", "levelname": "level", "name": "logger"}
    return _JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s", rename_fields=names)
