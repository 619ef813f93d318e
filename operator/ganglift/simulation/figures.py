"""What a run comes to, in figures, as data and as lines of a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ganglift.simulation.run import Life, Run

SIZES = (1, 8, 64)
"""Upper bounds of the classes of jobs by GPUs; larger ones are a class of their own."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long jobs of a class waited until they ran for the first time, in seconds; those that never ran count until
    the end."""

    of: str
    jobs: int
    never: int
    median: int
    p95: int
    longest: int


@dataclass(frozen=True, slots=True)
class Figures:
    """`utilization` is the share of GPU time, until the last end or the end of the load, that whole jobs ran."""

    manner: str
    utilization: float
    wasted_gpu_hours: float
    evictions: int
    jobs: int
    never: int
    waits: tuple[Waits, ...]

    @property
    def data(self) -> dict[str, Any]:
        """The figures for `-o json` and `-o yaml`."""
        waits = [
            {
                "gpus": one.of,
                "jobs": one.jobs,
                "neverRan": one.never,
                "medianSeconds": one.median,
                "p95Seconds": one.p95,
                "longestSeconds": one.longest,
            }
            for one in self.waits
        ]
        return {
            "manner": self.manner,
            "utilization": round(self.utilization, 4),
            "wastedGpuHours": round(self.wasted_gpu_hours, 1),
            "evictions": self.evictions,
            "jobs": self.jobs,
            "neverRan": self.never,
            "waits": waits,
        }


def figures_of(run: Run) -> Figures:
    """Return the figures of a run."""
    lives, until = tuple(run.lives.values()), end_of(run)
    capacity = run.load.nodes.count * run.load.nodes.gpus
    work = sum(life.gpus * ((life.ended or until) - life.began) for life in lives if life.began is not None)
    return Figures(
        manner=run.rules.manner.value,
        utilization=work / (capacity * max(until, 1)),
        wasted_gpu_hours=sum(life.wasted for life in lives) / 3600,
        evictions=sum(life.evictions for life in lives),
        jobs=len(lives),
        never=sum(1 for life in lives if life.first is None),
        waits=tuple(_waits(name, chosen, until) for name, chosen in _classes(lives) if chosen),
    )


def end_of(run: Run) -> int:
    """Return when the run is over: at the last end, or at the end of the load where something still waits or runs."""
    ends = [life.ended for life in run.lives.values()]
    return max((end for end in ends if end is not None), default=0) if None not in ends else run.load.until


def _classes(lives: Sequence[Life]) -> Iterable[tuple[str, list[Life]]]:
    least = 1
    for most in SIZES:
        name = f"{least}" if least == most else f"{least}-{most}"
        yield name, [life for life in lives if least <= life.gpus <= most]
        least = most + 1
    yield f"{least}+", [life for life in lives if life.gpus >= least]


def _waits(name: str, lives: Sequence[Life], until: int) -> Waits:
    waits = sorted((life.first if life.first is not None else until) - int(life.job.at) for life in lives)
    return Waits(
        of=name,
        jobs=len(lives),
        never=sum(1 for life in lives if life.first is None),
        median=waits[len(waits) // 2],
        p95=waits[min(len(waits) * 95 // 100, len(waits) - 1)],
        longest=waits[-1],
    )
