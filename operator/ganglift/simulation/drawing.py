"""Runs side by side over time, as an SVG: GPUs at work, and above them those held by jobs that do not run yet."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

from ganglift.simulation.figures import end_of, figures_of
from ganglift.simulation.run import Run

WIDTH, PANEL, GAP, LEFT, TOP = 900, 160, 46, 60, 40
POINTS = 400
_WORK, _HELD, _TEXT = "#2f6f8f", "#d9822b", "#333333"


def draw(runs: Sequence[Run]) -> str:
    """Return the picture; the runs are of one load."""
    until = max(1, *map(end_of, runs))
    height = TOP + len(runs) * (PANEL + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13" fill="{_TEXT}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="20">GPUs over {until / 3600:.1f} hours: </text>',
        f'<text x="{LEFT + 190}" y="20" fill="{_WORK}">at work</text>',
        f'<text x="{LEFT + 260}" y="20" fill="{_HELD}">held by jobs that do not run yet</text>',
    ]
    for number, run in enumerate(runs):
        parts += _panel(run, until, TOP + number * (PANEL + GAP))
    return "\n".join([*parts, "</svg>", ""])


def _panel(run: Run, until: int, top: int) -> list[str]:
    found, capacity = figures_of(run), run.load.nodes.count * run.load.nodes.gpus
    title = (
        f"{found.manner}: {found.utilization:.1%} used, {found.wasted_gpu_hours:.0f} GPU-hours wasted, "
        f"{found.evictions} evictions, {found.never} of {found.jobs} jobs never ran"
    )
    bottom, inner = top + PANEL, WIDTH - LEFT - 20
    held, work = (_area([(step[0], step[column] / capacity) for step in run.steps], until, bottom) for column in (2, 1))
    return [
        f'<text x="{LEFT}" y="{top - 5}">{escape(title)}</text>',
        f'<rect x="{LEFT}" y="{top}" width="{inner}" height="{PANEL}" fill="#f4f4f4"/>',
        f'<path d="{held}" fill="{_HELD}"/>',
        f'<path d="{work}" fill="{_WORK}"/>',
        f'<text x="{LEFT - 6}" y="{top + 10}" text-anchor="end">{capacity}</text>',
        f'<text x="{LEFT - 6}" y="{bottom}" text-anchor="end">0</text>',
    ]


def _area(steps: Sequence[tuple[int, float]], until: int, bottom: int) -> str:
    """A filled line of shares from times on, thinned to what can be seen."""
    inner, at, level = WIDTH - LEFT - 20, 0, 0.0
    levels: list[float] = []
    for point in range(POINTS + 1):
        time = until * point // POINTS
        while at < len(steps) and steps[at][0] <= time:
            level = steps[at][1]
            at += 1
        levels.append(level)
    path = [f"M{LEFT} {bottom}"]
    for point, value in enumerate(levels):
        path.append(f"L{LEFT + inner * point / POINTS:.1f} {bottom - PANEL * value:.1f}")
    return " ".join([*path, f"L{LEFT + inner} {bottom}Z"])
