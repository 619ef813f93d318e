"""`ganglift demo` as a newcomer runs it: the story comes out, in time, and nothing of it stays behind."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.polling import eventually

from ganglift.playground import BinariesUnavailable, PlaygroundOptions, provide

GANGLIFT = Path(sys.executable).with_name("ganglift")
PROMISED_S = 30  # by the README, once the binaries are there

StartDemo = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="module")
def binaries() -> None:
    """The control plane's programs, built if need be: that is not part of the story."""
    options = PlaygroundOptions()
    try:
        provide(options.components, options.kubernetes)
    except BinariesUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no control plane here: {error}")


@pytest.fixture
def own_tmp(tmp_path: Path) -> Path:
    """A temporary directory for the demonstration alone: all its files and processes name it."""
    directory = tmp_path / "demo"
    directory.mkdir()
    return directory


@pytest.fixture
def start_demo(own_tmp: Path, binaries: None) -> Iterator[StartDemo]:
    """Starts `ganglift demo`, its output on a pipe; ends it after the test."""
    started: list[subprocess.Popen[str]] = []
    # A shell lets its background jobs ignore SIGINT, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def start(*options: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(GANGLIFT), "demo", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"TMPDIR": str(own_tmp)} | environment,
        )
        started.append(process)
        return process

    yield start
    signal.signal(signal.SIGINT, before)
    for process in started:
        process.kill()
        process.communicate()
    eventually(lambda: processes_of(own_tmp), lambda left: not left, within_s=30)


def longest_s() -> float:
    """What is promised, on a machine of its own: other load on it stretches that."""
    return PROMISED_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def processes_of(directory: Path) -> list[str]:
    """The command lines of all processes that name the directory."""
    listed = subprocess.run(["ps", "-eww", "-o", "pid=,args="], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if str(directory) in line]


def test_tells_the_story_in_time_and_leaves_nothing(start_demo: StartDemo, own_tmp: Path) -> None:
    demo = start_demo()
    output, _ = demo.communicate(timeout=longest_s())
    assert demo.returncode == 0, output
    for fact in (
        r"Three workers hold three GPUs and do nothing",
        r"kube-scheduler says: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu",
        r"No worker starts, and all three GPUs are free",
        r"The PodGroup says: 3 of 4",
        r"All four workers are bound \d+\.\d\d s after the node was ready",
        r"Three workers are bound \d+\.\d\d s after the edit",
    ):
        assert re.search(fact, output), output
    assert "\x1b" not in output, "control sequences on a pipe"
    assert processes_of(own_tmp) == []
    assert list(own_tmp.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_leaves_nothing_when_told_to_stop_halfway(start_demo: StartDemo, own_tmp: Path, number: signal.Signals) -> None:
    demo = start_demo()
    assert demo.stdout is not None
    next(line for line in demo.stdout if line.startswith("2. "))
    demo.send_signal(number)
    demo.communicate(timeout=longest_s())
    assert demo.returncode == 128 + number
    eventually(lambda: processes_of(own_tmp), lambda left: not left, within_s=5)
    assert list(own_tmp.iterdir()) == []


def test_leaves_no_process_when_killed(start_demo: StartDemo, own_tmp: Path) -> None:
    demo = start_demo()
    assert demo.stdout is not None
    next(line for line in demo.stdout if line.startswith("2. "))
    demo.kill()
    eventually(lambda: processes_of(own_tmp), lambda left: not left, within_s=15)


def test_fails_loudly_when_the_story_does_not_come_out(start_demo: StartDemo, own_tmp: Path) -> None:
    sabotaged = own_tmp.with_name("sabotaged")
    sabotaged.mkdir()
    (sabotaged / "kopf.py").write_text("raise SystemExit('no operator today')")
    demo = start_demo(PYTHONPATH=str(sabotaged))
    output, _ = demo.communicate(timeout=longest_s())
    assert demo.returncode == 1, output
    assert "the story did not come out as told" in output
    assert "no operator today" in output
