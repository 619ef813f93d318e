"""Log lines: one a change of state, with the gang and the pod in fields."""

import logging
import sys
from typing import Literal

from pythonjsonlogger.json import JsonFormatter

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _TextFormatter(logging.Formatter):
    """`time level message key=value ...`, for people."""

    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{key}={value!r}" for key, value in vars(record).items() if key not in _STANDARD)
        line = super().format(record)
        return f"{line} {fields}" if fields else line


def set_up_logs(style: Literal["text", "json"]) -> None:
    """Send log lines to stderr: ours from INFO on, those of libraries from WARNING on."""
    handler = logging.StreamHandler(sys.stderr)
    if style == "json":
        names = {"asctime": "time", "levelname": "level", "name": "logger"}
        handler.setFormatter(JsonFormatter("%(asctime)s %(levelname)s %(name)s %(message)s", rename_fields=names))
    else:
        handler.setFormatter(_TextFormatter("%(asctime)s %(levelname)-7s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("ganglift").setLevel(logging.INFO)
    # It warns at each start that it leaves signals alone, which is what we want of it.
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)
