"""What came of a simulation, as values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ganglift.simulate.meter import Level
from ganglift.simulate.world import Life

BOUNDS = (1, 8, 64, 256)
"""The largest sizes of the classes in which waits are told, in units of what is measured; one more is for the rest."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long gangs of a size waited for their first start, in seconds. `least` and `most` bound their sizes.

    For those that never started the time until the end counts, which is less than they would have waited.
    """

    least: int
    most: int | None
    gangs: int
    started: int
    median: int
    p95: int
    longest: int

    @property
    def size(self) -> str:
        """Return the class in words."""
        if self.most is None:
            return f"over {self.least - 1}"
        return f"{self.least}-{self.most}" if self.least else f"{self.most}"


@dataclass(frozen=True, slots=True)
class Run:
    """One scenario under one way of deciding.

    `total` and `lost` are in units times seconds, `levels` are what the nodes did from each second on. `evicted` counts
    members that had to leave, `disrupted` their gangs, `holds` gangs for which room was held.
    """

    name: str
    seconds: int
    gangs: int
    started: int
    ended: int
    total: Level
    lost: int
    evicted: int
    disrupted: int
    holds: int
    waits: tuple[Waits, ...]
    levels: tuple[tuple[int, Level], ...]
    starts: tuple[tuple[str, int], ...]
    """Gangs in the order in which they first started, each with the second."""

    @property
    def utilization(self) -> float:
        """Return the part of what there was that worked, work that was lost later included."""
        return self.total.working / self.total.capacity if self.total.capacity else 0.0


def waits_of(lives: Iterable[Life], end: int) -> tuple[Waits, ...]:
    """Return the waits of each class of sizes that there is."""
    by_class: dict[int, list[Life]] = {}
    for life in lives:
        by_class.setdefault(sum(life.gang.size > bound for bound in BOUNDS), []).append(life)
    return tuple(_waits(number, by_class[number], end) for number in sorted(by_class))


def _waits(number: int, lives: Sequence[Life], end: int) -> Waits:
    waited = sorted((life.started if life.started is not None else end) - life.gang.arrives for life in lives)
    least = BOUNDS[number - 1] + 1 if number else 0
    most = BOUNDS[number] if number < len(BOUNDS) else None
    started = sum(1 for life in lives if life.started is not None)
    return Waits(least, most, len(lives), started, _rank(waited, 50), _rank(waited, 95), waited[-1])


def _rank(ordered: Sequence[int], percent: int) -> int:
    """Return the smallest value that so many per cent do not exceed (nearest rank)."""
    return ordered[max(-(-len(ordered) * percent // 100), 1) - 1]
