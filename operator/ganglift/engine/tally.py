"""What the engine has done since the process began, as plain counts. `app` makes metrics of them when it is asked."""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

from ganglift.engine.admit import End
from ganglift.engine.entry import Entry
from ganglift.engine.look import Look
from ganglift.gang.state import Life


@dataclass(slots=True)
class Durations:
    """How many of some durations lasted at most so long, and how long all of them together."""

    bounds_s: tuple[float, ...]
    """In ascending order."""
    counts: Counter[int] = field(default_factory=Counter)
    """By index of the first bound that is no less; those above all bounds at the index after the last."""
    total_s: float = 0.0

    def note(self, seconds: float) -> None:
        """Count one more."""
        self.counts[bisect_left(self.bounds_s, seconds)] += 1
        self.total_s += seconds


@dataclass(slots=True)
class Tally:
    """See the module."""

    admissions: Counter[End] = field(default_factory=Counter)
    """Plans carried out, by how that ended."""
    repairs: int = 0
    """Times that members lost their place on the way and were given others."""
    take_backs: int = 0
    evictions: int = 0
    """Pods evicted, or taken back from their Job, for a gang of higher priority."""
    starts: Durations = field(
        default_factory=lambda: Durations((0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 10800, 43200))
    )
    """From enough members on, as this process saw it, until need of them were bound for the first time."""
    plans: Durations = field(
        default_factory=lambda: Durations((0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30))
    )
    """Of one plan of all groups that are due."""

    def follow(self, entry: Entry, look: Look, now: float) -> None:
        """Measure how long a gang with enough members waits until it is whole for the first time.

        `now` is of the monotonic clock. A gang that is taken back and starts over has waited all the while.
        """
        if look.state.life is not Life.ACTIVE:
            entry.gathered_at = None
        elif look.state.is_whole:
            if entry.gathered_at is not None:
                self.starts.note(now - entry.gathered_at)
            entry.gathered_at = None
        elif entry.gathered_at is None and look.state.is_gang and look.is_ready and not look.state.was_scheduled:
            entry.gathered_at = now
