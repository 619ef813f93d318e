"""However it ends, nothing is left of it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.controlplane.playground.looks import (
    await_nothing_left,
    processes_of,
)
from tests.support.polling import eventually

from ganglift.playground import (
    AlreadyRunning,
    Component,
    ComponentFailed,
    FeatureGate,
    NotAPlayground,
    Playground,
    PlaygroundOptions,
)
from ganglift.playground import control_plane as control_plane_module
from ganglift.playground.ports import choose_ports
from ganglift.playground.state import StateDir

GANGLIFT = str(Path(sys.executable).with_name("ganglift"))

# Starts a playground in the directory that its argument names, says so, and waits to be ended. A shell lets its
# background jobs ignore SIGINT, and children inherit that.
OWNER = """
import signal, sys, time
from pathlib import Path
from ganglift.playground import Playground, PlaygroundOptions
signal.signal(signal.SIGINT, signal.default_int_handler)
with Playground.start(PlaygroundOptions(version=sys.argv[2], state_dir=Path(sys.argv[1]))):
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def first(newest: str) -> Iterator[Playground]:
    """One that is there already."""
    with Playground.start(PlaygroundOptions(version=newest)) as playground:
        yield playground


def test_nothing_is_left_of_it_when_it_is_brought_down(tmp_path: Path, newest: str) -> None:
    directory = tmp_path / "playground"
    playground = Playground.start(PlaygroundOptions(version=newest, state_dir=directory))
    assert len(processes_of(directory)) >= len(Component)
    playground.down()
    assert processes_of(directory) == []
    assert not directory.exists()
    playground.down()  # harmless


def test_logs_can_be_kept(tmp_path: Path, newest: str) -> None:
    directory = tmp_path / "playground"
    Playground.start(PlaygroundOptions(version=newest, state_dir=directory)).down(keep_logs=True)
    assert (directory / "logs/kube-scheduler.log").exists()
    with pytest.raises(NotAPlayground):
        Playground.attach(directory)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_of_it_when_its_owner_dies(tmp_path: Path, number: signal.Signals, newest: str) -> None:
    directory = tmp_path / "playground"
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, directory, newest], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"up\n"
        owner.send_signal(number)
    await_nothing_left(directory)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_start_that_is_cut_short(tmp_path: Path, number: signal.Signals, newest: str) -> None:
    directory = tmp_path / "playground"
    with subprocess.Popen([sys.executable, "-c", OWNER, directory, newest], stderr=subprocess.DEVNULL) as owner:
        eventually(lambda: StateDir(directory).log(Component.APISERVER).exists(), bool, within_s=30)
        owner.send_signal(number)
    await_nothing_left(directory)


def test_a_component_that_cannot_start_shows_why_and_leaves_nothing(tmp_path: Path, newest: str) -> None:
    directory = tmp_path / "playground"
    gate = FeatureGate(Component.APISERVER, "NoSuchGate")
    with pytest.raises(ComponentFailed, match="NoSuchGate") as raised:
        Playground.start(PlaygroundOptions(version=newest, feature_gates=(gate,), state_dir=directory))
    assert raised.value.component == Component.APISERVER
    assert raised.value.exit_code == 1
    await_nothing_left(directory)


def test_a_port_that_is_taken_meanwhile_costs_a_second_try_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: Playground, newest: str
) -> None:
    taken = StateDir(first.state_dir).read().ports
    offers = iter([taken])
    monkeypatch.setattr(control_plane_module, "choose_ports", lambda: next(offers, None) or choose_ports())
    with Playground.start(PlaygroundOptions(version=newest, state_dir=tmp_path / "playground")) as second:
        assert second.status().is_whole
        assert second.server != first.server


def test_a_second_one_in_the_same_place_is_refused_and_the_first_lives_on(first: Playground) -> None:
    with pytest.raises(AlreadyRunning):
        Playground.start(PlaygroundOptions(version=first.options.version, state_dir=first.state_dir))
    assert first.status().is_whole


def test_a_later_playground_in_the_same_place_is_left_alone(tmp_path: Path, newest: str) -> None:
    directory = tmp_path / "playground"
    first = Playground.start(PlaygroundOptions(version=newest, state_dir=directory))
    Playground.attach(directory).down()
    with Playground.start(PlaygroundOptions(version=newest, state_dir=directory)) as second:
        first.down()
        assert second.status().is_whole


def test_up_leaves_it_running_until_down(tmp_path: Path, newest: str) -> None:
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [GANGLIFT, "playground", *arguments, "--name", "mine"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    directory = tmp_path / "ganglift/playground/mine"
    up = run("up", "--nodes", "1", "--kubernetes-version", newest)
    try:
        assert (up.returncode, up.stdout) == (0, f"export KUBECONFIG={directory}/kubeconfig\n"), up.stderr
        assert "nodes: 1 of 1 ready" in run("status").stdout
        again = run("up")
        assert again.returncode == 1
        assert "already runs" in again.stderr
        Playground.attach(directory).kill(Component.KWOK)
        status = run("status")
        assert status.returncode == 1
        assert "has ended" in status.stdout
    finally:
        down = run("down")
    assert down.returncode == 0, down.stderr
    assert processes_of(directory) == []
    assert not directory.exists()
