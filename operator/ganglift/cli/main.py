"""The command `ganglift`. Each command is a short file of its own; errors of ours end it with a message and code 1."""

import gc
import sys

import typer

from ganglift import __version__
from ganglift.base.errors import GangliftError
from ganglift.cli import explain, plan, playground, queue, run, simulate, snapshot
from ganglift.cli.demo.command import demo

app = typer.Typer(
    name="ganglift",
    help="Gang scheduling for Kubernetes with the stock kube-scheduler.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command(name="run")(run.run)
app.command(name="plan")(plan.plan)
app.command(name="queue")(queue.queue)
app.command(name="simulate")(simulate.simulate)
app.command(name="snapshot")(snapshot.snapshot)
app.command(name="explain")(explain.explain)
app.command(name="demo")(demo)
app.add_typer(playground.app, name="playground")


@app.command()
def version() -> None:
    """Print the version of ganglift."""
    typer.echo(__version__)


def main() -> None:
    """Run the command line."""
    try:
        app()
    except GangliftError as error:
        typer.echo(f"ganglift: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        # What a command has loaded goes with the process: no collection need go over it at the end.
        gc.freeze()
