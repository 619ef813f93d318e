"""The state directory: private, readable by others of ours, never someone else's."""

import stat
from dataclasses import fields
from pathlib import Path

import pytest

from ganglift.playground.errors import NotAPlayground
from ganglift.playground.options import Component, FeatureGate, PlaygroundOptions
from ganglift.playground.process import ProcessId
from ganglift.playground.state import Ports, State, StateDir

PORTS = Ports(**{field.name: 20000 + number for number, field in enumerate(fields(Ports))})
STATE = State(
    id="0123",
    options=PlaygroundOptions(
        nodes=2,
        request_rates=5000,
        feature_gates=(FeatureGate(Component.SCHEDULER, "SchedulerAsyncAPICalls"),),
        crds=(Path("/crds"),),
    ),
    ports=PORTS,
    binaries={"etcd": Path("/bin/etcd")},
    processes={Component.ETCD: ProcessId(17, "then")},
)


@pytest.fixture
def state_dir(tmp_path: Path) -> StateDir:
    return StateDir(tmp_path / "playground")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_state_is_read_as_it_was_written(state_dir: StateDir) -> None:
    state_dir.create()
    state_dir.write(STATE)
    assert state_dir.read() == STATE


def test_what_is_in_the_directory_is_the_users_alone(state_dir: StateDir) -> None:
    state_dir.create()
    state_dir.write(STATE)
    with state_dir.lock():
        modes = {path.name: _mode(path) for path in [state_dir.path, *state_dir.path.iterdir()]}
    assert modes == {
        "playground": 0o700,
        "credentials": 0o700,
        "config": 0o700,
        "logs": 0o700,
        "state.json": 0o600,
        "lock": 0o600,
    }


def test_a_directory_with_other_files_is_refused_and_left_alone(state_dir: StateDir) -> None:
    state_dir.path.mkdir()
    (state_dir.path / "thesis.txt").touch()
    with pytest.raises(NotAPlayground, match="holds other files"):
        state_dir.create()
    assert (state_dir.path / "thesis.txt").exists()


def test_a_playground_that_has_ended_makes_room_for_the_next(state_dir: StateDir) -> None:
    state_dir.create()
    state_dir.write(STATE)
    state_dir.log(Component.ETCD).write_text("old")
    state_dir.create()
    assert not state_dir.log(Component.ETCD).exists()
    assert not (state_dir.path / "state.json").exists()


def test_logs_can_outlive_the_rest(state_dir: StateDir) -> None:
    state_dir.create()
    state_dir.write(STATE)
    state_dir.log(Component.ETCD).write_text("why")
    state_dir.clear(keep_logs=True)
    assert [path.name for path in state_dir.path.iterdir()] == ["logs"]
    state_dir.create()  # and are no one else's files afterwards


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "can't be read"),
        ("[]", "can't be read"),
        ('{"format": 0}', "another version"),
        ('{"format": 1}', "can't be read"),
    ],
)
def test_a_state_file_that_cannot_be_read_is_no_playground(state_dir: StateDir, content: str, why: str) -> None:
    state_dir.create()
    (state_dir.path / "state.json").write_text(content)
    with pytest.raises(NotAPlayground, match=why):
        state_dir.read()


def test_a_directory_without_a_state_file_is_no_playground(tmp_path: Path) -> None:
    with pytest.raises(NotAPlayground, match=r"no state\.json"):
        StateDir(tmp_path / "nowhere").read()


def test_a_component_without_a_process_is_forgotten() -> None:
    assert STATE.with_process(Component.ETCD, None).processes == {}


def test_a_process_that_is_not_there_does_not_run() -> None:
    assert STATE.running == ()
