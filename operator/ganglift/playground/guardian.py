"""Ends a playground when its owner is gone, however the owner ended.

It is a small process that reads from a pipe whose other end only the owner holds. A word on it means that the
playground is to stay, or is ended already; the end of the stream without a word means that the owner died, by
SIGKILL too, and the guardian brings the playground down.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import ganglift
from ganglift.playground.errors import NotAPlayground

_STAND_DOWN = b"stand down\n"


class Guardian:
    """The owner's end of it."""

    def __init__(self, state_dir: Path, identity: str) -> None:
        search_path = os.pathsep.join([str(Path(ganglift.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import watch; watch()", str(state_dir), identity],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": search_path},
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """The playground is ended or is to outlive its owner: the guardian goes without touching it."""
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate(_STAND_DOWN)


def watch() -> None:
    """The guardian's whole life; its arguments are the state directory and the identity of the playground in it."""
    from ganglift.playground.playground import Playground  # that module starts guardians

    state_dir, identity = sys.argv[1:]
    if sys.stdin.buffer.read() == b"":
        with contextlib.suppress(NotAPlayground):
            playground = Playground.attach(Path(state_dir))
            if playground.identity == identity:
                playground.down()
