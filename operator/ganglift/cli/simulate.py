"""`ganglift simulate`: days of a cluster in seconds, with the operator's own decisions."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml
from rich.table import Table

from ganglift.base.errors import GangliftError
from ganglift.cli.explain import Form
from ganglift.cli.plan import Unreadable, print_table
from ganglift.plan.queue import Policy

if TYPE_CHECKING:
    from ganglift.simulate.results import Run
    from ganglift.simulate.scenario import Scenario


class NotDrawn(GangliftError):
    """The picture could not be written."""


def simulate(
    *,
    scenario: Annotated[
        str | None, typer.Argument(help="A YAML file, - for the input; without one a load is made up.")
    ] = None,
    nodes: Annotated[int, typer.Option(min=1, help="Nodes of a made-up load.")] = 500,
    gpus: Annotated[int, typer.Option(min=1, help="GPUs of each of them.")] = 8,
    lasts: Annotated[str, typer.Option("--for", help="How long a made-up load lasts, such as 72h.")] = "72h",
    offered: Annotated[float, typer.Option(help="The part of all GPU time that it asks for.")] = 0.9,
    seed: Annotated[int | None, typer.Option(help="The same seed, the same load.")] = None,
    queue_policy: Annotated[
        Policy | None, typer.Option(help="Whether a smaller gang may pass a bigger one that does not fit.")
    ] = None,
    hold_after: Annotated[str | None, typer.Option(help="The setting holdAfter, such as 5m.")] = None,
    hold_for: Annotated[str | None, typer.Option(help="The setting holdFor, such as 30m.")] = None,
    beside_plain: Annotated[
        bool, typer.Option("--beside-plain", help="Also simulate kube-scheduler alone, which takes pods one by one.")
    ] = False,
    svg: Annotated[Path | None, typer.Option(help="Draw it into this file.")] = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="How to write it.")] = Form.TEXT,
) -> None:
    """Show how a cluster would do with ganglift: utilization, waits, evictions, and what is wasted. Needs no cluster.

    The queue, the planner, preemption and holds are the operator's; time is virtual, and the same input gives the same
    results. Options win over the scenario's settings.
    """
    from ganglift.simulate.simulation import gangwise, podwise

    settings = {"queuePolicy": queue_policy and queue_policy.value, "holdAfter": hold_after, "holdFor": hold_for}
    given = {name: value for name, value in settings.items() if value is not None}
    found = _scenario(scenario, _made_up(nodes, gpus, lasts, offered), given, seed)
    runs = [gangwise(found)] + ([podwise(found)] if beside_plain else [])
    if svg is not None:
        _draw(runs, found, svg)
    _show(runs, found.measured, output)


def _made_up(nodes: int, gpus: int, lasts: str, offered: float) -> dict[str, Any]:
    """Return a scenario of like nodes, each with what else goes with its GPUs."""
    offers = {"nvidia.com/gpu": gpus, "cpu": 24 * gpus, "memory": f"{240 * gpus}Gi"}
    return {"nodes": [{"count": nodes, "offers": offers}], "load": {"lasts": lasts, "offered": offered}}


def _scenario(name: str | None, made_up: dict[str, Any], settings: dict[str, str], seed: int | None) -> "Scenario":
    from ganglift.simulate.scenario import content_of, scenario_of

    label = "standard input" if name == "-" else name or "the options"
    content = made_up if name is None else content_of(label, _read(name))
    if settings:
        content = {**content, "settings": {**(content.get("settings") or {}), **settings}}
    if seed is not None:
        content = {**content, "seed": seed}
    return scenario_of(label, content)


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise Unreadable(f"{name}: {error.strerror}") from error


def _draw(runs: "list[Run]", scenario: "Scenario", file: Path) -> None:
    from ganglift.simulate.drawing import draw

    try:
        file.write_text(draw(runs, scenario.measured))
    except OSError as error:
        raise NotDrawn(f"{file}: {error.strerror}") from error


def _show(runs: "list[Run]", measured: str, output: Form) -> None:
    from ganglift.simulate.report import SUMMARY, WAITS, report, summary_row, waits_rows

    if output is Form.JSON:
        typer.echo(json.dumps(report(runs, measured), indent=2))
        return
    if output is Form.YAML:
        typer.echo(yaml.safe_dump(report(runs, measured), sort_keys=False), nl=False)
        return
    table = Table(*SUMMARY, box=None, pad_edge=False, header_style="")
    for run in runs:
        table.add_row(*summary_row(run, measured))
    print_table(table)
    typer.echo()
    heads = (f"{run.name.upper()}: MEDIAN / P95 / LONGEST" for run in runs)
    table = Table(*WAITS, *heads, box=None, pad_edge=False, header_style="")
    for row in waits_rows(runs):
        table.add_row(*row)
    print_table(table)
