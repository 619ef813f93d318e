"""Ask a binary which version it is."""

import subprocess
from pathlib import Path

from ganglift.playground.catalog import Program, Version


def read_version(binary: Path, program: Program) -> tuple[Version | None, str]:
    """The version that a binary tells, or None; and the first line of what it said, or why it said nothing."""
    try:
        done = subprocess.run([binary, *program.version_args], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    output = (done.stdout + done.stderr).strip()
    return Version.find(output), output.partition("\n")[0]
