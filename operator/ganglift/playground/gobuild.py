"""Build a program of a tools module with Go, once, whoever asks.

`-mod=readonly` keeps go.mod and go.sum as shipped, so what is built is what was pinned. One lock for each directory
keeps two processes from building at once; a binary is built under a temporary name and renamed, so that a killed
build leaves nothing that could be taken for a program, and is simply done again.
"""

import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ganglift.playground.catalog import Program, Version
from ganglift.playground.errors import BuildFailed
from ganglift.playground.probe import read_version
from ganglift.playground.report import BuildProgress, Reporter

_REPORT_EVERY_S = 1.0
_OUTPUT_TAIL_LINES = 25
_FIRST_GO_THAT_FETCHES_NEWER_ONES = Version(1, 21, 0)


@dataclass(frozen=True, slots=True)
class BuildDirectory:
    """A cache directory of finished programs."""

    path: Path

    @contextmanager
    def lock(self, reporter: Reporter) -> Iterator[None]:
        """Wait until no other process builds into this directory; say so when there is one."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                reporter.step(f"another process builds into {self.path}: waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def temporary(self, name: str) -> Path:
        """Where this process builds `name` before it is published; whoever calls it holds the lock."""
        for leftover in self.path.glob(f".{name}.*"):
            leftover.unlink()
        return self.path / f".{name}.{os.getpid()}"

    def publish_link(self, binary: Path, target: Path) -> None:
        """Make `target` the same file as `binary`, or a copy where the file system has no hard links."""
        temporary = self.path / f".{target.name}.{os.getpid()}.link"
        try:
            os.link(binary, temporary)
        except OSError:
            shutil.copy2(binary, temporary)
        temporary.replace(target)


@dataclass(frozen=True, slots=True)
class GoToolchain:
    """A `go` command."""

    command: Path
    version: Version
    fetches_newer: bool  # GOTOOLCHAIN allows it to fetch the version that a module asks for

    @classmethod
    def find(cls, path: str) -> "GoToolchain | None":
        """The first `go` on that PATH that works, or None."""
        command = shutil.which("go", path=path)
        if command is None:
            return None
        done = subprocess.run(
            [command, "env", "GOVERSION", "GOTOOLCHAIN"], capture_output=True, text=True, timeout=60, check=False
        )
        lines = [*done.stdout.splitlines(), "", ""]
        version = Version.find(lines[0].removeprefix("go")) or _two_part_version(lines[0])
        if version is None:
            return None
        fetches_newer = version >= _FIRST_GO_THAT_FETCHES_NEWER_ONES and lines[1] not in {"local", "path"}
        return cls(Path(command), version, fetches_newer)

    def can_build(self, needed: Version) -> bool:
        """Whether it builds a module whose go.mod says `needed`."""
        return self.version >= needed or self.fetches_newer

    def build(self, program: Program, directory: BuildDirectory, reporter: Reporter) -> Path:
        """Build `program` into `directory` unless another process just did; returns the path. Raises BuildFailed."""
        target = directory.path / program.name
        with directory.lock(reporter):
            found, _ = read_version(target, program)
            if found is None or not program.accepts(found):
                temporary = directory.temporary(program.name)
                self._run(program, temporary, reporter)
                temporary.replace(target)
        return target

    def _run(self, program: Program, output: Path, reporter: Reporter) -> None:
        command = [
            str(self.command),
            "build",
            "-mod=readonly",
            "-trimpath",
            "-buildvcs=false",
            f"-ldflags={program.ldflags}",
            "-o",
            str(output),
            program.package,
        ]
        environment = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}
        log = output.with_suffix(".log")
        with log.open("w") as stream:
            build = subprocess.Popen(command, cwd=program.module, env=environment, stdout=stream, stderr=stream)
            try:
                exit_code = _watch(build, program, reporter)
            except BaseException:
                build.kill()
                build.wait()
                raise
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-_OUTPUT_TAIL_LINES:])
        log.unlink()
        if exit_code != 0:
            output.unlink(missing_ok=True)
            raise BuildFailed(program.name, exit_code, tail)


def _watch(build: subprocess.Popen[bytes], program: Program, reporter: Reporter) -> int:
    began = time.monotonic()
    while True:
        try:
            exit_code = build.wait(_REPORT_EVERY_S)
        except subprocess.TimeoutExpired:
            exit_code = None
        elapsed_s = time.monotonic() - began
        is_done = exit_code == 0
        reporter.building(
            BuildProgress(program.name, str(program.version), elapsed_s, program.expected_build_s, is_done=is_done)
        )
        if exit_code is not None:
            return exit_code


def _two_part_version(text: str) -> Version | None:
    """`go1.27`, `go1.27rc1`: releases before the first patch had two parts, and pre-releases still do."""
    found = re.match(r"go(\d+)\.(\d+)", text)
    return Version(int(found[1]), int(found[2]), 0) if found else None
