"""docs/simulate.md: its commands run, print what the page shows, and draw the picture that lies beside it."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.markdown import DOCS, blocks

PAGE = DOCS / "simulate.md"
COMMANDS = [line for block in blocks(PAGE, "sh") for line in block.text.splitlines()]


def run(command: str, directory: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    words = shlex.split(command)
    done = subprocess.run(
        words, cwd=directory, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def test_the_first_command_prints_and_draws_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    shutil.copy(DOCS / "simulation.yaml", tmp_path / "docs")
    (shown,) = blocks(PAGE, "text")
    assert run(COMMANDS[0], tmp_path) == shown.text
    assert (tmp_path / "docs" / "simulation.svg").read_text() == (DOCS / "simulation.svg").read_text()


def test_the_other_commands_do_their_work(tmp_path: Path) -> None:
    assert COMMANDS[1:]
    for command in COMMANDS[1:]:
        assert "utilization: 0." in run(command, tmp_path)
