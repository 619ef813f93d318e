"""Who is told what the playground is doing: the command line shows it, tests stay silent."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """One program's build, reported about once a second while it lasts and once when it is done."""

    program: str
    version: str
    elapsed_s: float
    expected_s: int  # on two cores, with nothing in Go's build cache
    is_done: bool = False


class Reporter(Protocol):
    """Watches a playground come up."""

    def step(self, text: str) -> None:
        """Something began, ended or was decided; a line for people."""
        ...

    def building(self, progress: BuildProgress) -> None:
        """A build goes on."""
        ...


class SilentReporter:
    """Tells nobody."""

    def step(self, text: str) -> None:
        pass

    def building(self, progress: BuildProgress) -> None:
        pass
