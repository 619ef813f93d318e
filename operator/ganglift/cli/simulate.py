"""`ganglift simulate`: days of a cluster under virtual time, with gangs and pod by pod."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import yaml
from rich.table import Table

from ganglift.base.settings import parse_duration
from ganglift.cli.explain import Form
from ganglift.cli.plan import QueuePolicy, print_table
from ganglift.plan.queue import Policy

if TYPE_CHECKING:
    from ganglift.simulation.figures import Figures


def simulate(
    *,
    scenario: Annotated[
        Path | None, typer.Argument(help="YAML with nodes and jobs, or with nodes and generate; - is the input.")
    ] = None,
    nodes: Annotated[int, typer.Option(min=1, help="Without a scenario: so many nodes of eight GPUs.")] = 100,
    days: Annotated[float, typer.Option(min=0.01, help="Without a scenario: for how long jobs arrive.")] = 1.0,
    load: Annotated[float, typer.Option(min=0.01, help="Without a scenario: what they ask for, of all GPUs.")] = 0.9,
    seed: Annotated[int, typer.Option(help="Without a scenario: another seed makes other jobs.")] = 1,
    queue_policy: QueuePolicy = Policy.BACKFILL,
    hold_after: Annotated[str, typer.Option(help="How long a gang waits before room is held for it.")] = "5m",
    hold_for: Annotated[str, typer.Option(help="How long room is held for one gang at most.")] = "30m",
    hold: Annotated[bool, typer.Option(help="Whether room is held at all.")] = True,
    preempt: Annotated[bool, typer.Option(help="Whether gangs evict lower ones.")] = True,
    svg: Annotated[Path | None, typer.Option(help="Draw the runs into this file.")] = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="How to write the figures.")] = Form.TEXT,
) -> None:
    """Simulate a cluster's queue, and plain pod-by-pod placement of the same jobs beside it. Needs no cluster.

    Queue, backfill, holds and preemption are decided by the operator's own planner; what takes seconds in a cluster
    takes no time here. The same load gives the same figures everywhere.
    """
    from ganglift.offline.loading import without_collection
    from ganglift.simulation.drawing import draw
    from ganglift.simulation.figures import figures_of
    from ganglift.simulation.load import load_of
    from ganglift.simulation.run import Manner, Rules
    from ganglift.simulation.run import simulate as run_of

    made_up = {"nodes": {"count": nodes}, "generate": {"days": days, "load": load, "seed": seed}}
    arriving = load_of(_read(scenario) if scenario is not None else made_up)
    after = _seconds(hold_after, "--hold-after") if hold else None
    rules = Rules(
        policy=queue_policy,
        hold_after=after,
        hold_for=max(_seconds(hold_for, "--hold-for"), 1),
        may_preempt=preempt,
    )
    with without_collection():
        runs = [run_of(arriving, rules), run_of(arriving, Rules(manner=Manner.POD_BY_POD))]
    found = [figures_of(run) for run in runs]
    if svg is not None:
        svg.write_text(draw(runs))
    if output is Form.JSON:
        typer.echo(json.dumps({"runs": [one.data for one in found]}, indent=2))
    elif output is Form.YAML:
        typer.echo(yaml.safe_dump({"runs": [one.data for one in found]}, sort_keys=False), nl=False)
    else:
        _print_figures(found)


def _read(path: Path) -> object:
    from ganglift.simulation.load import InvalidScenario

    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
        return yaml.safe_load(text)
    except OSError as error:
        raise InvalidScenario(f"{path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidScenario(f"{path} is not YAML: {' '.join(str(error).split())}") from error


def _seconds(text: str, flag: str) -> int:
    try:
        seconds = float(parse_duration(text))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=flag) from error
    if seconds < 0:
        raise typer.BadParameter(f"must be at least 0, not {text}", param_hint=flag)
    return int(seconds)


def _print_figures(found: "list[Figures]") -> None:
    table = Table("MANNER", "USED", "WASTED", "EVICTIONS", "NEVER RAN", box=None, pad_edge=False, header_style="")
    for one in found:
        wasted, never = f"{one.wasted_gpu_hours:.1f} GPU-hours", f"{one.never} of {one.jobs}"
        table.add_row(one.manner, f"{one.utilization:.1%}", wasted, str(one.evictions), never)
    print_table(table)
    waits = Table("MANNER", "GPUS", "JOBS", "MEDIAN WAIT", "95 %", "LONGEST", box=None, pad_edge=False, header_style="")
    for one in found:
        for row in one.waits:
            waits.add_row(one.manner, row.of, str(row.jobs), _time(row.median), _time(row.p95), _time(row.longest))
    typer.echo("")
    print_table(waits)


def _time(seconds: int) -> str:
    if seconds < 60:
        return f"{seconds}s"
    return f"{seconds // 3600}h{seconds % 3600 // 60:02}m" if seconds >= 3600 else f"{seconds // 60}m{seconds % 60:02}s"
