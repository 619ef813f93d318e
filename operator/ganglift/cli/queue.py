"""`ganglift queue`: which gangs wait, in which order, and for what."""

import json
from typing import TYPE_CHECKING, Annotated

import typer
import yaml
from rich.table import Table

from ganglift.cli.explain import Form
from ganglift.cli.plan import QueuePolicy, print_table, surveyed
from ganglift.cli.snapshot import Context, Kubeconfig
from ganglift.plan.queue import Policy

if TYPE_CHECKING:
    from ganglift.offline.outlook import Survey


def queue(
    *,
    files: Annotated[
        list[str] | None, typer.Argument(help="A snapshot, or other files as for `plan`; the live cluster without any.")
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Of manifests that name none.")] = "default",
    queue_policy: QueuePolicy = Policy.BACKFILL,
    output: Annotated[Form, typer.Option("--output", "-o", help="How to write it.")] = Form.TEXT,
) -> None:
    """Show which gangs wait, first those that wait for room, in the order in which they get it. Changes nothing.

    PLACE is empty where something else than room keeps a gang. A namespace's own policy shows under POLICY.
    """
    from ganglift.cli.live import look
    from ganglift.offline.loading import without_collection
    from ganglift.offline.standing import policy_notes, queue_data

    with without_collection():
        is_live = not files or kubeconfig is not None or context is not None
        survey, inventory, _ = surveyed(
            files or (), namespace, queue_policy, look(kubeconfig, context) if is_live else None
        )
        if output is Form.JSON:
            typer.echo(json.dumps(queue_data(survey, inventory.notes), indent=2))
        elif output is Form.YAML:
            typer.echo(yaml.safe_dump(queue_data(survey, inventory.notes), sort_keys=False), nl=False)
        else:
            _print_queue(survey)
            for note in (*policy_notes(survey), *inventory.notes):
                typer.echo(f"note: {note}", err=True)


def _print_queue(survey: "Survey") -> None:
    from ganglift.offline.standing import standings

    rows = standings(survey)
    if not rows:
        typer.echo("no gang waits")
        return
    names = ("PLACE", "GANG", "PRIORITY", "CREATED", "POLICY", "NEED", "REASON", "MESSAGE")
    table = Table(*names, box=None, pad_edge=False, header_style="")
    for one in rows:
        outlook, state = one.outlook, one.outlook.look.state
        place, need = str(one.place or ""), f"{state.need} of {state.members}"
        priority = str(outlook.look.priority)
        table.add_row(place, str(outlook.key), priority, one.created, one.policy, need, outlook.reason, outlook.message)
    print_table(table)
