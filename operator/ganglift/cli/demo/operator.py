"""`ganglift run` as a process of its own that can't outlive who started it.

The process reads from a pipe whose other end only the starter holds. When that end closes, whatever ended the starter,
the operator is told to stop as a cluster would tell it.
"""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

_GRACE_S = 10.0
_LOG_TAIL_LINES = 15


class Operator:
    """The operator, with an administrator's kubeconfig; use as a context manager."""

    def __init__(self, kubeconfig: Path, log_file: Path) -> None:
        self._log_file = log_file
        command = [sys.executable, "-P", "-c", f"from {__name__} import run_until_end_of_input as run; run()"]
        flags = ["run", "--kubeconfig", str(kubeconfig), "--http-port", "0"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GANGLIFT_")}
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *flags],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,  # a Ctrl-C is for the starter, which ends things in order
            )

    @property
    def exit_code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    @property
    def log_tail(self) -> str:
        """The last lines that it wrote."""
        return "\n".join(self._log_file.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Tell it to stop, and return when it is gone."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def run_until_end_of_input() -> None:
    """The whole life of the process: the command line, and SIGTERM to itself when standard input ends."""
    from ganglift.cli.main import main

    threading.Thread(target=_stop_at_end_of_input, daemon=True, name="end of input").start()
    main()


def _stop_at_end_of_input() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
