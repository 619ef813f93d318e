"""How the demonstration is shown: a live table on a terminal, plain lines on a pipe, a picture in a file.

On a terminal the table of a step is redrawn while the step goes on and stays when it is over, so that the story can be
read from the top afterwards. Colours are rich's business, and NO_COLOR takes them away.
"""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.cli.demo.world import GPU, World, job_of, message_of

_PICTURE_WIDTH = 104
_INDENT = 3
_FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


class Screen:
    """Shows the story; with `picture` all that stays on the screen is also kept for a file."""

    def __init__(self, console: Console, *, picture: Console | None = None) -> None:
        self._console = console
        self._picture = picture
        self._live: Live | None = None
        is_utf8 = console.encoding.lower().startswith("utf")
        self._done = "✓" if is_utf8 else "ok:"

    @property
    def is_live(self) -> bool:
        """Whether somebody watches a terminal."""
        return self._console.is_interactive

    @contextmanager
    def step(self, number: int, title: str, *lines: str) -> Iterator[None]:
        """A step of the story: its title and what is done; then its table, until the step is over."""
        self._put(f"\n{number}. {title}", Text(f"\n{number}. {title}", style="bold"))
        for line in lines:
            self._put(f"   {line}", _indented(Text(line, style="dim")))
        if not self.is_live:
            yield
            return
        with Live(console=self._console, auto_refresh=False) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def show(self, world: World) -> None:
        """Redraw the table."""
        if self._live is not None:
            self._live.update(frame(world), refresh=True)

    def keep(self, world: World) -> None:
        """Draw the table as it stays."""
        self.show(world)
        if self._picture is not None:
            self._picture.print(frame(world))

    def told(self, fact: str, *, is_in_table: bool = False) -> None:
        """A fact that was checked; one that the table shows as well is said only where there is no table."""
        if is_in_table and self.is_live:
            return
        line = Table.grid(padding=(0, 1, 0, 0))
        line.add_row(Text(self._done, style="green"), Text(fact))
        self._put(f"   {self._done} {fact}", None if is_in_table else _indented(line))

    def say(self, text: str) -> None:
        """A line beside the steps."""
        self._put(text, Text(text))

    def _put(self, line: str, drawn: RenderableType | None) -> None:
        """Print what stays, above the table while there is one: as a line on a pipe, drawn elsewhere."""
        if self.is_live and drawn is not None:
            self._console.print(drawn)
        elif not self.is_live:
            self._console.print(line, soft_wrap=True, markup=False)
        if self._picture is not None and drawn is not None:
            self._picture.print(drawn)


def picture_console() -> Console:
    """A console that only records."""
    return Console(
        record=True,
        width=_PICTURE_WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
    )


def save_picture(picture: Console, path: Path) -> None:
    """Write what was recorded as SVG; it loads no font from anywhere."""
    path.write_text(_FONT_FACE.sub("", picture.export_svg(title="ganglift demo")))


def frame(world: World) -> RenderableType:
    """The table of nodes and waiting pods; that of the PodGroups where there are any, and why those wait that do."""
    if not world.groups:
        return _nodes(world)
    return Group(
        _nodes(world), "", _groups(world.groups), *(_why(group) for group in world.groups if message_of(group))
    )


def _nodes(world: World) -> Table:
    table = Table("NODE", "GPU", "POD", "STATE", box=None, padding=(0, 2, 0, _INDENT), header_style="dim")
    for node in world.nodes:
        pods = [pod for pod in world.pods if pod.spec.node_name == node.name]
        gpus = f"{len(pods)}/{node.status.allocatable.get(GPU, 0)}"
        if not world.is_usable(node.name):
            table.add_row(node.name, gpus, "", Text("not ready yet", style="dim"))
        elif not pods:
            table.add_row(node.name, gpus, "", Text("free", style="dim"))
        for pod in pods:
            table.add_row(node.name, gpus, pod.name, _state(pod, world))
    for pod in world.pods:
        if not pod.is_bound:
            table.add_row("", "", pod.name, _state(pod, world))
    return table


def _state(pod: Pod, world: World) -> Text:
    """A pod's state in the words of kubectl's STATUS column."""
    if pod.is_deleting:
        return Text("Terminating", style="dim")
    if pod.has_gate:
        reserved = f", {pod.nominated} is kept for it" if pod.nominated else ""
        return Text(f"SchedulingGated{reserved}", style="cyan")
    if not pod.is_bound:
        return Text("Pending", style="red")
    missing = len(world.unbound(job_of(pod))) if pod.group is None else 0
    if missing:
        return Text(f"{pod.status.phase}, wasted: it waits for {missing} more", style="yellow")
    return Text(pod.status.phase, style="green" if pod.status.phase == "Running" else "")


def _groups(groups: tuple[PodGroup, ...]) -> Table:
    """As `kubectl get podgroups` prints them."""
    columns = ("PODGROUP", "MIN", "MEMBERS", "SCHEDULED", "STATUS")
    table = Table(*columns, box=None, padding=(0, 2, 0, _INDENT), header_style="dim")
    for group in groups:
        status = group.status
        counts = (group.min_count, status.members, status.scheduled)
        table.add_row(group.name, *map(str, counts), Text(status.phase, style="bold"))
    return table


def _why(group: PodGroup) -> RenderableType:
    """The message of a group that waits, in the width of the screen."""
    return _indented(Text(f"{group.name}: {message_of(group)}", style="cyan"))


def _indented(what: RenderableType) -> Padding:
    return Padding(what, (0, 0, 0, _INDENT))
