"""Stand-ins for the real programs: scripts that tell a version, and a `go` that 'builds' them."""

import shutil
from pathlib import Path

import pytest
from tests.unit.playground.standins import Recorder, WriteBinary, WriteGo, WriteScript


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def write_script() -> WriteScript:
    """Writes an executable shell script."""

    def write(path: Path, body: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{shutil.which('sh')}\n{body}\n")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def write_binary(write_script: WriteScript) -> WriteBinary:
    """Writes a program of that name that tells that version."""

    def write(directory: Path, name: str, version: str) -> Path:
        return write_script(directory / name, f"echo '{name} v{version}'")

    return write


@pytest.fixture
def write_go(write_script: WriteScript) -> WriteGo:
    """Writes a `go` that notes its calls in `calls` beside it and writes what `-o` names, unless told to fail."""

    def write(
        directory: Path, *, version: str = "go1.26.8", toolchain: str = "local", builds: str = "", fails: str = ""
    ) -> Path:
        return write_script(
            directory / "go",
            f"""
            PATH=/usr/bin:/bin
            if [ "$1" = env ]; then echo '{version}'; echo '{toolchain}'; exit; fi
            echo "$PWD $*" >> '{directory}/calls'
            if [ -n '{fails}' ]; then echo '{fails}' >&2; exit 1; fi
            while [ $# -gt 0 ]; do if [ "$1" = -o ]; then out=$2; fi; shift; done
            printf '#!/bin/sh\\necho v{builds}\\n' > "$out"; chmod +x "$out"
            """,
        )

    return write
