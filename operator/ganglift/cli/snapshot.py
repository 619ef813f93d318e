"""`ganglift snapshot`: what the planner needs of a live cluster, as one file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ganglift.base.errors import GangliftError

Kubeconfig = Annotated[Path | None, typer.Option(help="Kubeconfig to use; else KUBECONFIG, then ~/.kube/config.")]
Context = Annotated[str | None, typer.Option(help="Context of the kubeconfig to use, instead of its current one.")]


class NotWritten(GangliftError):
    """The file could not be written."""


def snapshot(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write, compressed if it ends in .gz; else the output."),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Save what the planner needs of a cluster to a file, for `ganglift plan`.

    Nodes, pods, our kinds, Jobs, volumes, classes, namespaces; no images, commands or environments. Reads only.
    """
    from ganglift.cli.live import look
    from ganglift.offline.loading import without_collection
    from ganglift.offline.storing import snapshot_bytes

    with without_collection():
        inventory = look(kubeconfig, context)
        data = snapshot_bytes(inventory, compress=output is not None and output.suffix == ".gz")
    for note in inventory.notes:
        typer.echo(f"note: {note}", err=True)
    if output is None:
        sys.stdout.buffer.write(data)
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise NotWritten(f"{output}: {error.strerror}") from error
