"""Waits between attempts that fail."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    """Waits of base, 2 base, 4 base ... up to the longest, each shortened by up to half so that many clients part."""

    base_s: float = 0.1
    max_s: float = 30.0
    rng: random.Random = field(default_factory=random.Random)
    failures: int = 0

    def next_s(self) -> float:
        """Note a failure and return the wait after it."""
        wait_s = min(self.base_s * 2.0 ** min(self.failures, 32), self.max_s)
        self.failures += 1
        return wait_s * (1 - self.rng.random() / 2)

    def reset(self) -> None:
        """Note a success."""
        self.failures = 0
