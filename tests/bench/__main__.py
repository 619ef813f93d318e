"""Run the benchmarks: all, or those whose name begins with one of the arguments."""

import importlib
import pkgutil
import sys

import tests.bench
from rich.console import Console
from rich.table import Table
from tests.bench.registry import Figure, figures


def main(prefixes: list[str]) -> int:
    """Return 0 if every figure is within its budget, 1 if not, 2 if no figure has such a name."""
    for module in pkgutil.iter_modules(tests.bench.__path__):
        if module.name not in ("__main__", "registry"):
            importlib.import_module(f"tests.bench.{module.name}")
    chosen = [f for f in figures() if not prefixes or any(f.name.startswith(prefix) for prefix in prefixes)]
    if not chosen:
        print(f"no figure named {' or '.join(prefixes)}; there are: {', '.join(f.name for f in figures())}")
        return 2
    table = Table("figure", "measured", "budget", "unit", "", title="Benchmarks")
    exceeded = [figure for figure in chosen if not _run(table, figure)]
    Console().print(table)
    return 1 if exceeded else 0


def _run(table: Table, figure: Figure) -> bool:
    measured = figure.measure()
    within = figure.budget is None or measured <= figure.budget
    budget = "" if figure.budget is None else f"{figure.budget:g}"
    table.add_row(figure.name, f"{measured:.2f}", budget, figure.unit, "" if within else "EXCEEDED")
    print(f"{figure.name}: {measured:.2f} {figure.unit}", flush=True)
    return within


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
