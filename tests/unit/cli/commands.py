"""Runs the command line as a process would, within this one."""

import gc
from dataclasses import dataclass

import pytest

from ganglift.cli.main import main


@dataclass(frozen=True)
class Done:
    """What became of a command."""

    code: int
    out: str
    err: str


class Run:
    """`run("plan", "job.yaml")` is `ganglift plan job.yaml`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capfd = capfd

    def __call__(self, *arguments: str) -> Done:
        self._monkeypatch.setattr("sys.argv", ["ganglift", *arguments])
        self._capfd.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        finally:
            gc.unfreeze()
        out, err = self._capfd.readouterr()
        return Done(code if isinstance(code, int) else 0, out, err)
