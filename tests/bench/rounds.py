"""What a series of rounds gave: the median, and how noisy the machine was.

The noise shows in how far the rounds lay apart, and in the load average: above the number of cores others were at work.
"""

import os
from collections.abc import Sequence
from statistics import median


def told(what: str, rounds: Sequence[float], unit: str = "s") -> float:
    """Print the rounds, their median and their spread; return the median."""
    middle = median(rounds)
    spread = (max(rounds) - min(rounds)) / middle * 100 if middle else 0.0
    each = " ".join(f"{value:.2f}" for value in rounds)
    noise = f"spread {spread:.0f} %, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"  {what}: median {middle:.2f} {unit} of {each} ({noise})", flush=True)
    return middle
