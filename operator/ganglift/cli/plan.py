"""`ganglift plan`: where gangs would go, or why not, from files or a live cluster."""

import json
import sys
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import yaml
from rich.console import Console
from rich.table import Table

from ganglift.base.errors import GangliftError
from ganglift.cli.snapshot import Context, Kubeconfig
from ganglift.plan.queue import Policy

if TYPE_CHECKING:
    from ganglift.base.ids import Key
    from ganglift.offline.inventory import Inventory
    from ganglift.offline.outlook import Outlook, Survey

_ENDLESS = 10_000
DOES_NOT_FIT = 3
"""Exit code where some gang can't start."""

QueuePolicy = Annotated[Policy, typer.Option(help="Whether a smaller gang may pass a bigger one that does not fit.")]


class Output(StrEnum):
    """How results are written."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


class Unreadable(GangliftError):
    """A file that is not there or can't be read."""


class NoCluster(GangliftError):
    """Nothing to plan on."""

    def __init__(self) -> None:
        super().__init__(
            "there are no nodes in the files: add a snapshot (`ganglift snapshot -o cluster.json`), or the output of "
            "`kubectl get nodes,pods --all-namespaces --output json`, or plan on a live cluster with --live"
        )


def plan(
    *,
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Manifests, snapshots, output of `kubectl get ... -o json`, in any order; - is the input."),
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Plan on the cluster of the kubeconfig.")] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Of manifests that name none.")] = "default",
    queue_policy: QueuePolicy = Policy.BACKFILL,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all gangs of the cluster, not only those of the manifests.")
    ] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="wide names every node.")] = Output.TABLE,
) -> None:
    """Show where each gang of the manifests would go in a cluster, or why it can't start. Changes nothing.

    Without manifests: the gangs that wait in the cluster. --kubeconfig and --context imply --live.

    Exit codes: 0 all fit, 3 some do not fit, 1 something is wrong with the input, 2 wrong usage.
    """
    from ganglift.cli.live import look
    from ganglift.offline.loading import without_collection

    with without_collection():
        is_live = live or kubeconfig is not None or context is not None
        cluster = look(kubeconfig, context) if is_live else None
        survey, inventory, concerned = surveyed(files or (), namespace, queue_policy, cluster)
        if everything:
            chosen = tuple(survey.outlooks.values())
        else:
            chosen = survey.of(concerned) if inventory.asked else survey.waiting()
        _show(survey, chosen, tuple(inventory.notes), output)
    raise typer.Exit(0 if all(outlook.result.is_well for outlook in chosen) else DOES_NOT_FIT)


def surveyed(
    files: Iterable[str], namespace: str, policy: Policy, cluster: "Inventory | None"
) -> "tuple[Survey, Inventory, Collection[Key]]":
    """Return what is planned of files and cluster together, what they hold, and the gangs of the files' manifests."""
    from ganglift.cli.playground import crd_directories
    from ganglift.offline.expansion import expand
    from ganglift.offline.loading import load
    from ganglift.offline.outlook import Survey
    from ganglift.offline.schema import read_schemas

    inventory = load(map(_read, files), namespace, cluster)
    if not inventory.shows_cluster:
        raise NoCluster
    concerned = expand(inventory, read_schemas(crd_directories()))
    return Survey(inventory, policy), inventory, concerned


def _read(name: str) -> tuple[str, bytes]:
    if name == "-":
        return "standard input", sys.stdin.buffer.read()
    try:
        return name, Path(name).read_bytes()
    except OSError as error:
        raise Unreadable(f"{name}: {error.strerror}") from error


def _show(survey: "Survey", chosen: "Sequence[Outlook]", notes: Sequence[str], output: Output) -> None:
    from ganglift.offline.report import report

    match output:
        case Output.JSON:
            typer.echo(json.dumps(report(survey, chosen, notes), indent=2))
        case Output.YAML:
            typer.echo(yaml.safe_dump(report(survey, chosen, notes), sort_keys=False), nl=False)
        case _:
            _print_table(chosen, is_wide=output is Output.WIDE)
            for note in notes:
                typer.echo(f"note: {note}", err=True)


def _print_table(chosen: "Sequence[Outlook]", *, is_wide: bool) -> None:
    from ganglift.offline.report import NODES_SHOWN, where_or_why

    if not chosen:
        typer.echo("no gangs")
        return
    table = Table("GANG", "NEED", "RESULT", "WHERE OR WHY NOT", box=None, pad_edge=False, header_style="")
    for outlook in chosen:
        state = outlook.look.state
        where = where_or_why(outlook, most_nodes=None if is_wide else NODES_SHOWN)
        table.add_row(str(outlook.key), f"{state.need} of {state.members}", outlook.result.value, where)
    print_table(table)


def print_table(table: Table) -> None:
    """Print a table as wide as the terminal, or as wide as it is where nobody watches."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_ENDLESS)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())
