"""Growing, jittered waits between the starts of one gang."""

import random
from dataclasses import dataclass, field

_MOST_DOUBLINGS = 32


@dataclass(slots=True)
class Backoff:
    """Waits of base, 2 base, 4 base ... seconds up to the longest, each up to a tenth longer so that gangs fall apart.

    `until` is a time of the monotonic clock, 0 while nothing is waited for.
    """

    base_s: float
    max_s: float
    rng: random.Random = field(default_factory=random.Random)
    failures: int = 0
    until: float = 0.0
    _failed_at: float = 0.0

    def fail(self, now: float) -> float:
        """Note a failed start at `now`; return the seconds until the next one."""
        doubled = self.base_s * 2.0 ** min(self.failures, _MOST_DOUBLINGS)
        delay = min(doubled, self.max_s) * (1 + self.rng.random() / 10)
        self.failures += 1
        self._failed_at = now
        self.until = now + delay
        return delay

    def is_waiting(self, now: float) -> bool:
        return now < self.until

    def wake(self) -> None:
        """Cut the present wait short, since there is more room now; the next failure still waits longer than the last.

        The shortest wait is kept: where pods end all the time a gang that fails again and again must not spin.
        """
        self.until = min(self.until, self._failed_at + self.base_s)

    def reset(self) -> None:
        """Forget all failures: the gang has been scheduled."""
        self.failures = 0
        self.until = 0.0
