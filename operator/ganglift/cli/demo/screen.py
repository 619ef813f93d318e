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
from rich.table import Table
from rich.text import Text

from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.cli.demo.world import GPU, World, job_of

_PICTURE_WIDTH = 104
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
        self.say(Text(f"\n{number}. {title}", style="bold"))
        for line in lines:
            self.say(Text(f"   {line}", style="dim"))
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

    def told(self, fact: str) -> None:
        """A fact that was checked."""
        self.say(Text.assemble((f"   {self._done} ", "green"), fact))

    def say(self, text: RenderableType) -> None:
        """Print what stays, above the table while there is one."""
        for console in filter(None, (self._console, self._picture)):
            console.print(text, soft_wrap=not console.is_terminal)


def picture_console() -> Console:
    """A console that only records."""
    return Console(record=True, width=_PICTURE_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")


def save_picture(picture: Console, path: Path) -> None:
    """Write what was recorded as SVG; it loads no font from anywhere."""
    path.write_text(_FONT_FACE.sub("", picture.export_svg(title="ganglift demo")))


def frame(world: World) -> RenderableType:
    """The table of nodes and waiting pods, and that of the PodGroups where there are any."""
    tables = [_nodes(world)] + ([_groups(world.groups)] if world.groups else [])
    return Group(*tables)


def _nodes(world: World) -> Table:
    table = Table("NODE", "GPU", "POD", "STATE", box=None, padding=(0, 2, 0, 3), header_style="dim")
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
    """As `kubectl get podgroups` prints them, and the message of the condition."""
    columns = ("PODGROUP", "MIN", "MEMBERS", "SCHEDULED", "STATUS")
    table = Table(*columns, box=None, padding=(1, 2, 0, 3), header_style="dim")
    for group in groups:
        status, scheduled = group.status, group.condition("Scheduled")
        words = scheduled.message if scheduled is not None and not scheduled.is_true else ""
        phase = Text.assemble((status.phase, "bold"), f"\n{words}" if words else "")
        table.add_row(group.name, str(group.min_count), str(status.members), str(status.scheduled), phase)
    return table
