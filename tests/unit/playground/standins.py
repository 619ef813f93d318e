"""What the fixtures of these tests give."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ganglift.playground.report import BuildProgress


@dataclass
class Recorder:
    """A reporter that keeps what it was told."""

    steps: list[str] = field(default_factory=list)
    builds: list[BuildProgress] = field(default_factory=list)

    def step(self, text: str) -> None:
        self.steps.append(text)

    def building(self, progress: BuildProgress) -> None:
        self.builds.append(progress)


class WriteScript(Protocol):
    """Writes an executable shell script."""

    def __call__(self, path: Path, body: str) -> Path: ...


class WriteBinary(Protocol):
    """Writes a program of that name that tells that version."""

    def __call__(self, directory: Path, name: str, version: str) -> Path: ...


class WriteGo(Protocol):
    """Writes a `go` that notes its calls and builds programs that tell version `builds`, or fails with those words."""

    def __call__(
        self, directory: Path, *, version: str = ..., toolchain: str = ..., builds: str = ..., fails: str = ...
    ) -> Path: ...
