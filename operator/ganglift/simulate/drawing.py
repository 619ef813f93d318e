"""Results as a picture: what the nodes did over time, a strip for each run, and the waits by size below.

Plain SVG with coordinates in tenths, so that the same results are the same bytes.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log10
from xml.sax.saxutils import escape

from ganglift.simulate.meter import Level
from ganglift.simulate.report import duration, hours, noun
from ganglift.simulate.results import Run

WIDTH, LEFT, RIGHT = 900, 64, 20
STRIP, GAP, TOP = 150, 56, 40
_PLOT = WIDTH - LEFT - RIGHT
_COLUMNS = 278
"""Time is drawn in so many steps; each shows the mean of its time."""
_BAR, _ROW = 9, 40

WORKING, WASTED, HELD, LINE, INK = "#2f7d4f", "#c8432b", "#e0b040", "#8a8f98", "#24292f"
_AREAS = (("working", WORKING), ("wasted", WASTED), ("held", HELD))
_RUN_COLOURS = (WORKING, "#3566a8")


def draw(runs: Sequence[Run], measured: str) -> str:
    """Return the picture."""
    sizes = sorted({waits.least for run in runs for waits in run.waits})
    below = TOP + len(runs) * (STRIP + GAP)
    height = below + 46 + len(sizes) * _ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *_legend(measured),
    ]
    for number, run in enumerate(runs):
        parts += _strip(run, measured, TOP + number * (STRIP + GAP))
    parts += _waits(runs, sizes, below)
    return "\n".join([*parts, "</svg>", ""])


def _text(x: float, y: float, words: str, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{INK}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'
    )


def _rect(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def _legend(measured: str) -> list[str]:
    words = ("work", "wait for the rest of their gang, or leave", "kept free for a gang that waits")
    parts, x = [_text(LEFT, 18, f"{noun(measured)}s that", weight="bold")], LEFT + 6.5 * len(noun(measured)) + 52
    for (_, colour), text in zip(_AREAS, words, strict=True):
        parts += [_rect(x, 8, 12, 12, colour), _text(x + 17, 18, text)]
        x += 36 + 6.2 * len(text)
    return parts


# Over time


def _strip(run: Run, measured: str, top: float) -> list[str]:
    bottom = top + 20 + STRIP
    most = max((level.capacity for _, level in run.levels), default=0) or 1
    means = _means(run)
    told = f"{run.utilization:.1%} work, {hours(run.total.wasted):,.0f} {noun(measured)} h wasted"
    parts = [_text(LEFT, top + 12, f"{run.name}: {told}", weight="bold")]
    base = [0.0] * len(means)
    for number, (_, colour) in enumerate(_AREAS):
        tops = [low + mean[number + 1] for low, mean in zip(base, means, strict=True)]
        parts.append(_area(base, tops, most, bottom, colour))
        base = tops
    capacity = " ".join(f"{_x(i):.1f},{_y(mean[0], most, bottom):.1f}" for i, mean in enumerate(means))
    parts.append(f'<polyline points="{capacity}" fill="none" stroke="{LINE}" stroke-width="1"/>')
    parts += [_text(LEFT - 6, _y(most, most, bottom) + 4, f"{most:,}", "end"), _text(LEFT - 6, bottom, "0", "end")]
    return parts + _hours(run.seconds, bottom)


def _x(column: float) -> float:
    return LEFT + column * _PLOT / (_COLUMNS - 1)


def _y(units: float, most: int, bottom: float) -> float:
    return bottom - units * STRIP / most


def _area(lows: Sequence[float], tops: Sequence[float], most: int, bottom: float, colour: str) -> str:
    there = [f"{_x(i):.1f},{_y(units, most, bottom):.1f}" for i, units in enumerate(tops)]
    back = [f"{_x(i):.1f},{_y(units, most, bottom):.1f}" for i, units in enumerate(lows)][::-1]
    return f'<polygon points="{" ".join([*there, *back])}" fill="{colour}"/>'


def _hours(seconds: int, bottom: float) -> list[str]:
    """Return the axis, with a mark at every so many hours."""
    total = seconds / 3600
    step = next((step for step in (0.25, 0.5, 1, 2, 4, 6, 12, 24, 48, 96) if total / step <= 9), total / 4 or 1)
    parts = [f'<path d="M{LEFT} {bottom:g}H{WIDTH - RIGHT}" stroke="{LINE}"/>']
    for number in range(int(total / step) + 1):
        x = LEFT + _PLOT * number * step / total if total else LEFT
        parts.append(f'<path d="M{x:.1f} {bottom:g}v4" stroke="{LINE}"/>')
        parts.append(_text(round(x, 1), bottom + 17, f"{number * step:g} h", "middle"))
    return parts


def _means(run: Run) -> list[Level | tuple[float, ...]]:
    """Return the mean level in each of the steps in which time is drawn."""
    sums = [[0.0] * len(Level._fields) for _ in range(_COLUMNS)]
    width = run.seconds / _COLUMNS or 1.0
    for (since, level), (until, _) in pairwise([*run.levels, (run.seconds, Level())]):
        first = min(int(since / width), _COLUMNS - 1)
        for column in range(first, min(int(until / width), _COLUMNS - 1) + 1):
            lasted = min(until, (column + 1) * width) - max(since, column * width)
            for number, units in enumerate(level):
                sums[column][number] += units * max(lasted, 0.0)
    return [tuple(total / width for total in each) for each in sums]


# By size


def _waits(runs: Sequence[Run], sizes: Iterable[int], top: float) -> list[str]:
    parts = [_text(LEFT, top + 12, "Waits by size of the gang: median (full) and p95 (pale)", weight="bold")]
    longest = max((waits.p95 for run in runs for waits in run.waits), default=0)
    for number, least in enumerate(sizes):
        y = top + 26 + number * _ROW
        for place, run in enumerate(runs):
            waits = next((waits for waits in run.waits if waits.least == least), None)
            if waits is None:
                continue
            if not place:
                parts.append(_text(LEFT - 6, y + 14, waits.size, "end"))
            colour, at = _RUN_COLOURS[place % len(_RUN_COLOURS)], y + place * (_BAR + 4)
            parts.append(f'<g fill-opacity="0.35">{_rect(LEFT, at, _length(waits.p95, longest), _BAR, colour)}</g>')
            parts.append(_rect(LEFT, at, _length(waits.median, longest), _BAR, colour))
            never = f", {waits.gangs - waits.started} not started" if waits.started < waits.gangs else ""
            words = f"{run.name}: {duration(waits.median)}, {duration(waits.p95)}{never}"
            parts.append(_text(round(LEFT + _length(waits.p95, longest) + 6, 1), at + _BAR, words))
    return parts


def _length(seconds: int, longest: int) -> float:
    """Return how long a bar is: by the logarithm, since waits lie far apart."""
    return (_PLOT - 260) * log10(1 + seconds / 60) / max(log10(1 + longest / 60), 1e-9)
