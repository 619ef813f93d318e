"""Shows on a terminal what the playground is doing; on standard error, so that standard output is for results."""

from rich.console import Console
from rich.status import Status

from ganglift.playground import BuildProgress

_LINE_EVERY_S = 30.0


class ConsoleReporter:
    """A line for each step; for a build one line that counts on, or, where nobody watches, a line every half minute."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._status: Status | None = None
        self._next_line_s = 0.0

    def step(self, text: str) -> None:
        """Print one step."""
        self._console.print(text)

    def building(self, progress: BuildProgress) -> None:
        """Show how far a build is."""
        name = f"{progress.program} {progress.version}"
        if progress.is_done:
            self._stop()
            self._console.print(f"built {name} in {progress.elapsed_s:.0f} s")
            return
        text = f"building {name}: {progress.elapsed_s:.0f} s (about {progress.expected_s} s, once)"
        if self._console.is_terminal:
            self._count_on(text)
        elif progress.elapsed_s >= self._next_line_s:
            self._console.print(text)
            self._next_line_s = progress.elapsed_s + _LINE_EVERY_S

    def close(self) -> None:
        """Leave the terminal as it was, also after an error in the middle of a build."""
        self._stop()

    def _count_on(self, text: str) -> None:
        if self._status is None:
            self._status = self._console.status(text)
            self._status.start()
        self._status.update(text)

    def _stop(self) -> None:
        self._next_line_s = 0.0
        if self._status is not None:
            self._status.stop()
            self._status = None
