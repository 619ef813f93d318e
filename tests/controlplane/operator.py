"""The operator as users run it: a process of its own, under the RBAC of the chart."""

import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.polling import eventually

GANGLIFT = Path(sys.executable).with_name("ganglift")


class OperatorProcess:
    """`ganglift run` against a kubeconfig; `log` holds all that it has said over its starts."""

    def __init__(self, kubeconfig: Path, log_file: Path, flags: Sequence[str] = ()) -> None:
        self.log_file = log_file
        self._kubeconfig = kubeconfig
        self._flags = tuple(flags)
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._attended: list[tuple[float, float]] = []

    def start(self, *, wait: bool = True) -> None:
        """Start the process and, unless told otherwise, wait until it is ready."""
        self._port = _free_port()
        command = [str(GANGLIFT), "run", "--kubeconfig", str(self._kubeconfig), "--http-port", str(self._port)]
        command += ["--log-format", "json"]
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("KUBE", "GANGLIFT_"))}
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen([*command, *self._flags], stdout=log, stderr=log, env=environment)
        self._goes_on()
        if wait:
            eventually(self._answer, lambda code: code == 200, within_s=30)

    def kill(self) -> None:
        """SIGKILL: what it was doing is left half done."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(10)
        self._stands_still()

    def pause(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        self._stands_still()

    def resume(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)
        self._goes_on()

    def stop(self) -> int:
        """SIGTERM; return the exit code. One that does not end is killed, so that it can't disturb other tests."""
        if self._process is None or self._process.poll() is not None:
            return self._process.returncode if self._process else 0
        self._process.send_signal(signal.SIGCONT)
        self._process.terminate()
        try:
            return self._process.wait(15)
        finally:
            self._process.kill()
            self._process.wait(10)
            self._stands_still()

    def wait(self, timeout_s: float = 15) -> int:
        """Wait for it to end by itself; return the exit code."""
        assert self._process is not None
        return self._process.wait(timeout_s)

    @property
    def attended(self) -> tuple[tuple[float, float], ...]:
        """From when to when it has been at work, on the monotonic clock; infinity where it is."""
        return tuple(self._attended)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return self.log_file.read_text() if self.log_file.exists() else ""

    def figure(self, series: str) -> float:
        """The figure of a series, written as /metrics writes it; NaN where there is none."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
            lines: list[str] = answer.read().decode().splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == series), math.nan)

    def records(self, message: str) -> list[dict[str, Any]]:
        """The log's records with that message, with their fields."""
        lines = (json.loads(line) for line in self.log.splitlines() if line.startswith("{"))
        return [line for line in lines if line["message"] == message]

    def _goes_on(self) -> None:
        self._attended.append((time.monotonic(), math.inf))

    def _stands_still(self) -> None:
        since, until = self._attended.pop()
        self._attended.append((since, min(until, time.monotonic())))

    def _answer(self) -> int:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"the operator ended with {self._process.returncode}:\n{self.log[-4000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/readyz", timeout=2) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def run_once(*arguments: str, timeout_s: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a ganglift command to its end."""
    begun = time.monotonic()
    done = subprocess.run(
        [str(GANGLIFT), *arguments], capture_output=True, text=True, timeout=timeout_s, env=os.environ | environment
    )
    assert time.monotonic() - begun < timeout_s
    return done
