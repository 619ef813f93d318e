"""Building with Go: as pinned, once, and never half."""

import fcntl
import threading
from pathlib import Path

import pytest
from tests.support.polling import eventually
from tests.unit.playground.standins import Recorder, WriteBinary, WriteGo, WriteScript

from ganglift.playground.catalog import Version, programs
from ganglift.playground.errors import BuildFailed
from ganglift.playground.gobuild import BuildDirectory, GoToolchain

SCHEDULER = programs(Version(1, 37, 2))["kube-scheduler"]


@pytest.fixture
def directory(tmp_path: Path) -> BuildDirectory:
    return BuildDirectory(tmp_path / "cache")


def _toolchain(path: Path) -> GoToolchain:
    toolchain = GoToolchain.find(str(path))
    assert toolchain is not None
    return toolchain


def test_a_build_runs_in_the_tools_module_and_keeps_its_pins(
    tmp_path: Path, directory: BuildDirectory, write_go: WriteGo, recorder: Recorder
) -> None:
    write_go(tmp_path / "bin", builds="1.37.2")
    built = _toolchain(tmp_path / "bin").build(SCHEDULER, directory, recorder)
    assert built == directory.path / "kube-scheduler"
    call = (tmp_path / "bin/calls").read_text()
    assert call.startswith(f"{SCHEDULER.module} build -mod=readonly ")
    assert call.endswith(" k8s.io/kubernetes/cmd/kube-scheduler\n")


def test_a_failed_build_shows_the_end_of_what_go_said_and_leaves_no_program(
    tmp_path: Path, directory: BuildDirectory, write_go: WriteGo, recorder: Recorder
) -> None:
    write_go(tmp_path / "bin", fails="dial tcp: lookup failed")
    with pytest.raises(BuildFailed, match="dial tcp: lookup failed") as raised:
        _toolchain(tmp_path / "bin").build(SCHEDULER, directory, recorder)
    assert raised.value.exit_code == 1
    assert {path.name for path in directory.path.iterdir()} == {".lock"}


def test_what_a_killed_build_left_is_swept_away_and_built_again(
    tmp_path: Path, directory: BuildDirectory, write_go: WriteGo, recorder: Recorder
) -> None:
    write_go(tmp_path / "bin", builds="1.37.2")
    directory.path.mkdir()
    (directory.path / ".kube-scheduler.4711").write_text("half a program")
    _toolchain(tmp_path / "bin").build(SCHEDULER, directory, recorder)
    assert {path.name for path in directory.path.iterdir()} == {".lock", "kube-scheduler"}


def test_a_broken_program_in_the_cache_is_built_again(
    tmp_path: Path,
    directory: BuildDirectory,
    write_go: WriteGo,
    write_script: WriteScript,
    recorder: Recorder,
) -> None:
    write_go(tmp_path / "bin", builds="1.37.2")
    write_script(directory.path / "kube-scheduler", "exit 1")
    built = _toolchain(tmp_path / "bin").build(SCHEDULER, directory, recorder)
    assert "1.37.2" in built.read_text()


def test_a_build_waits_for_another_process_and_takes_what_that_built(
    tmp_path: Path,
    directory: BuildDirectory,
    write_go: WriteGo,
    write_binary: WriteBinary,
    recorder: Recorder,
) -> None:
    write_go(tmp_path / "bin", fails="must not be called")
    directory.path.mkdir()
    with (directory.path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread = threading.Thread(target=_toolchain(tmp_path / "bin").build, args=(SCHEDULER, directory, recorder))
        thread.start()
        eventually(lambda: recorder.steps, bool, within_s=10)
        write_binary(directory.path, "kube-scheduler", "1.37.2")
        assert recorder.steps == [f"another process builds into {directory.path}: waiting for it"]
    thread.join(10)
    assert not thread.is_alive()
    assert not (tmp_path / "bin/calls").exists()


def test_a_go_that_does_not_work_is_none(tmp_path: Path, write_script: WriteScript) -> None:
    write_script(tmp_path / "go", "exit 2")
    assert GoToolchain.find(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("said", "version"),
    [("go1.26.8", Version(1, 26, 8)), ("go1.27", Version(1, 27, 0)), ("go1.27rc1", Version(1, 27, 0))],
)
def test_a_go_tells_its_version(tmp_path: Path, write_go: WriteGo, said: str, version: Version) -> None:
    write_go(tmp_path, version=said)
    assert _toolchain(tmp_path).version == version
