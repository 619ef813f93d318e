"""Processes are known for good: no zombie is alive, no stranger is hit."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.polling import eventually

from ganglift.playground import process
from ganglift.playground.process import ProcessId

SLEEP = ("sleep", "600")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_a_process_runs_until_it_is_ended(log: Path) -> None:
    sleeper = process.spawn(SLEEP, log, os.environ)
    assert process.is_running(sleeper)
    process.end([sleeper])
    assert not process.is_running(sleeper)


def test_a_process_that_ended_by_itself_is_gone_with_its_exit_code(log: Path) -> None:
    short = process.spawn(["sh", "-c", "exit 7"], log, os.environ)
    eventually(lambda: process.is_running(short), lambda runs: not runs, within_s=10)
    assert process.exit_code(short) == 7
    process.end([short])


def test_output_goes_to_the_log_after_what_is_there(log: Path) -> None:
    log.write_text("before\n")
    echo = process.spawn(["sh", "-c", "echo out; echo err >&2"], log, os.environ)
    eventually(lambda: process.is_running(echo), lambda runs: not runs, within_s=10)
    assert log.read_text() == "before\nout\nerr\n"
    process.end([echo])


def test_a_process_that_ignores_sigterm_is_killed_after_its_grace(log: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    stubborn = process.spawn(["sh", "-c", f"trap '' TERM; touch {ready}; while :; do sleep 600; done"], log, os.environ)
    eventually(ready.exists, bool, within_s=10)
    process.end([stubborn], grace_s=0.1)
    assert not process.is_running(stubborn)


def test_a_stopped_process_is_woken_to_obey_sigterm(log: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"trap 'echo bye; exit' TERM; touch {ready}; while :; do sleep 0.05; done"
    polite = process.spawn(["sh", "-c", script], log, os.environ)
    eventually(ready.exists, bool, within_s=10)
    assert process.send(polite, signal.SIGSTOP)
    process.end([polite], grace_s=10)
    assert log.read_text() == "bye\n"


def test_another_process_under_the_same_pid_is_left_alone(log: Path) -> None:
    sleeper = process.spawn(SLEEP, log, os.environ)
    earlier = replace(sleeper, started="long ago")
    assert not process.is_running(earlier)
    assert not process.send(earlier, signal.SIGKILL)
    assert process.is_running(sleeper)
    process.end([sleeper])


def test_a_pid_that_nobody_has_is_nobody() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    gone = ProcessId(child.pid, "some time")
    assert not process.is_running(gone)
    assert not process.send(gone, signal.SIGTERM)


def test_a_process_is_in_a_session_of_its_own(log: Path) -> None:
    sleeper = process.spawn(SLEEP, log, os.environ)
    assert os.getsid(sleeper.pid) == sleeper.pid
    process.end([sleeper])


def test_without_a_proc_file_system_ps_tells_processes_apart(log: Path) -> None:
    sleeper = process.spawn(SLEEP, log, os.environ)
    started = process.start_time_from_ps(sleeper.pid)
    assert started is not None
    assert started == process.start_time_from_ps(sleeper.pid)
    process.end([sleeper])
    assert process.start_time_from_ps(sleeper.pid) is None
