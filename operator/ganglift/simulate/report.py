"""Results as data for programs, and as rows for people."""

from collections.abc import Iterable, Sequence
from typing import Any

from ganglift.simulate.results import Run, Waits
from ganglift.simulate.scenario import GPU

Data = dict[str, Any]
_HOUR = 3600


def report(runs: Iterable[Run], measured: str) -> Data:
    """Return all that is known, for `-o json` and `-o yaml`. docs/simulate.md describes the fields."""
    return {"measured": measured, "runs": [_run_data(run) for run in runs]}


def _run_data(run: Run) -> Data:
    total = run.total
    return {
        "scheduler": run.name,
        "seconds": run.seconds,
        "gangs": {"came": run.gangs, "started": run.started, "ended": run.ended},
        "utilization": round(run.utilization, 4),
        "hours": {
            "capacity": hours(total.capacity),
            "working": hours(total.working),
            "wasted": hours(total.wasted),
            "held": hours(total.held),
            "lost": hours(run.lost),
        },
        "evictions": {"pods": run.evicted, "gangs": run.disrupted},
        "holds": run.holds,
        "waits": [
            {
                "size": waits.size,
                "gangs": waits.gangs,
                "started": waits.started,
                "medianSeconds": waits.median,
                "p95Seconds": waits.p95,
                "longestSeconds": waits.longest,
            }
            for waits in run.waits
        ],
    }


def hours(unit_seconds: int) -> float:
    """Return units times hours."""
    return round(unit_seconds / _HOUR, 2)


SUMMARY = ("SCHEDULER", "STARTED", "UTILIZATION", "WASTED", "HELD", "LOST", "EVICTED", "HOLDS")
WAITS = ("SIZE", "GANGS")


def noun(measured: str) -> str:
    """Return what is measured, in a word."""
    return "GPU" if measured == GPU else measured


def summary_row(run: Run, measured: str) -> tuple[str, ...]:
    """Return a line of the first table."""
    what = f"{noun(measured)} h"
    return (
        run.name,
        f"{run.started} of {run.gangs}",
        f"{run.utilization:.1%}",
        f"{hours(run.total.wasted):,.0f} {what}",
        f"{hours(run.total.held):,.0f} {what}",
        f"{hours(run.lost):,.0f} {what}",
        f"{run.evicted} of {run.disrupted} gangs" if run.evicted else "0",
        str(run.holds),
    )


def waits_rows(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """Return the lines of the second table: for each size, median, p95 and longest wait of each run."""
    sizes = {waits.least: (waits.size, waits.gangs) for run in runs for waits in run.waits}
    by_run = [{waits.least: waits for waits in run.waits} for run in runs]
    rows = []
    for least in sorted(sizes):
        size, count = sizes[least]
        rows.append((size, str(count), *(_told(known.get(least)) for known in by_run)))
    return rows


def _told(waits: Waits | None) -> str:
    if waits is None:
        return ""
    never = waits.gangs - waits.started
    words = " / ".join(map(duration, (waits.median, waits.p95, waits.longest)))
    return words + (f", {never} not started" if never else "")


def duration(seconds: int) -> str:
    """Return a time in two figures: 45s, 12m, 3h05m."""
    if seconds < 60:
        return f"{seconds}s"
    minutes = round(seconds / 60)
    return f"{minutes}m" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"
