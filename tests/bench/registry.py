"""The registry of figures, and the two ways to measure that most of them need."""

import gc
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A measured figure. `budget` is the most it may be, None where it is only reported."""

    name: str
    measure: Callable[[], float]
    unit: str
    budget: float | None


_figures: dict[str, Figure] = {}


def bench(
    name: str, *, unit: str = "ms", budget: float | None = None
) -> Callable[[Callable[[], float]], Callable[[], float]]:
    """Register a function that returns the figure. Names are AREA/WHAT, so that an area can be run alone."""

    def register(measure: Callable[[], float]) -> Callable[[], float]:
        if name in _figures:
            raise ValueError(f"two figures are named {name}")
        _figures[name] = Figure(name, measure, unit, budget)
        return measure

    return register


def figures() -> tuple[Figure, ...]:
    """Return all registered figures, in the order of their registration."""
    return tuple(_figures.values())


def best_of_ms(work: Callable[[], object], rounds: int = 5) -> float:
    """Return milliseconds of the quickest of some rounds: the figure that other load on the machine disturbs least."""
    times = []
    for _ in range(rounds):
        gc.collect()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def peak_mib(work: Callable[[], object]) -> float:
    """Return MiB that what `work` returns takes, measured while it is held."""
    gc.collect()
    tracemalloc.start()
    try:
        held = work()
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del held
    return size / 2**20
