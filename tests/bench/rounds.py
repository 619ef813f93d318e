"""What a series of rounds gave: the median, and how far the rounds lay apart, which is what this machine's noise is."""

from collections.abc import Sequence
from statistics import median


def told(what: str, rounds: Sequence[float], unit: str = "s") -> float:
    """Print the rounds, their median and their spread; return the median."""
    middle = median(rounds)
    spread = (max(rounds) - min(rounds)) / middle * 100 if middle else 0.0
    each = " ".join(f"{value:.2f}" for value in rounds)
    print(f"  {what}: median {middle:.2f} {unit} of {each} (spread {spread:.0f} %)", flush=True)
    return middle
