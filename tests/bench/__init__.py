"""Benchmarks: `python -m tests.bench [NAME...]` prints each figure beside its budget and fails where one is exceeded.

One module per area in this package registers its figures with `@bench`. A figure is what the function returns, in the
unit of the budget; what it needs beforehand is set up inside, outside the measured part.
"""

from tests.bench.registry import Figure, bench, best_of_ms, figures, peak_mib

__all__ = ["Figure", "bench", "best_of_ms", "figures", "peak_mib"]
