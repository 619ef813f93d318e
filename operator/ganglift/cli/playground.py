"""`ganglift playground up | down | status | binaries`: a control plane on loopback to try things on.

`up` leaves it running until `down`. Progress goes to standard error; standard output has the one line that points
kubectl at it, so that `eval "$(ganglift playground up)"` works.
"""

import os
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

import ganglift
from ganglift.cli.progress import ConsoleReporter
from ganglift.playground import (
    Playground,
    PlaygroundError,
    PlaygroundOptions,
    Status,
    provide,
    supported_versions,
)
from ganglift.playground import kubernetes_version as parse_version
from ganglift.playground.catalog import programs

app = typer.Typer(no_args_is_help=True, help="A real control plane on loopback, with fake GPU nodes.")

Name = Annotated[str, typer.Option(help="Several playgrounds can run beside each other under different names.")]
Directory = Annotated[Path | None, typer.Option("--state-dir", help="Where its files are, instead of by name.")]
KubernetesVersion = Annotated[
    str, typer.Option(help=f"Ready to be built: {', '.join(supported_versions())}. 1.37 means the one of that minor.")
]


@app.command()
def up(
    *,
    kubernetes_version: KubernetesVersion = "1.37.2",
    nodes: Annotated[int, typer.Option(min=0, help="How many nodes: gpu-0, gpu-1, ...")] = 3,
    gpus: Annotated[int, typer.Option(min=0, help="nvidia.com/gpu of each node.")] = 1,
    request_rates: Annotated[
        str,
        typer.Option(help="Requests/s of controller-manager and scheduler: 'default' (20 and 50) or a number."),
    ] = "default",
    native: Annotated[bool, typer.Option(help="Turn on the alpha gang scheduling of Kubernetes 1.37 itself.")] = False,
    kubelets: Annotated[bool, typer.Option(help="Let kwok play kubelets; else bound pods stay Pending.")] = True,
    crds: Annotated[bool, typer.Option(help="Apply ganglift's CustomResourceDefinitions.")] = True,
    name: Name = "default",
    state_dir: Directory = None,
) -> None:
    """Start a playground and leave it running; binaries that are nowhere are built with Go first, in minutes."""
    with closing(ConsoleReporter()) as reporter:
        options = PlaygroundOptions(
            version=kubernetes_version,
            nodes=nodes,
            gpus=gpus,
            kubelets=kubelets,
            request_rates=_rates(request_rates),
            native_gang_scheduling=native,
            crds=crd_directories() if crds else (),
            state_dir=state_dir or directory_of(name),
        )
        playground = Playground.start(options, reporter=reporter, keep_running=True)
        reporter.step(
            f"Kubernetes {options.kubernetes} is up at {playground.server} with {nodes} nodes of {gpus} GPUs."
        )
        reporter.step(f"kubeconfig: {playground.kubeconfig}")
    typer.echo(f"export KUBECONFIG={playground.kubeconfig}")


@app.command()
def down(name: Name = "default", state_dir: Directory = None) -> None:
    """End a playground and remove all its files."""
    directory = state_dir or directory_of(name)
    Playground.attach(directory).down()
    typer.echo(f"ended; nothing is left in {directory}", err=True)


@app.command()
def status(name: Name = "default", state_dir: Directory = None) -> None:
    """Show how a playground fares; exit code 1 when there is none or a part of it has ended."""
    found = Playground.attach(state_dir or directory_of(name)).status()
    _print_status(found)
    if not found.is_whole:
        raise typer.Exit(1)


@app.command()
def binaries(
    kubernetes_version: KubernetesVersion = "1.37.2",
    helm: Annotated[bool, typer.Option(help="Helm too, which a playground itself does not need.")] = True,
) -> None:
    """Find or build all programs of a playground ahead of time, and print where they are."""
    with closing(ConsoleReporter()) as reporter:
        version = parse_version(kubernetes_version)
        names = [program for program in programs(version) if helm or program != "helm"]
        found = provide(names, version, reporter=reporter)
    for path in found.values():
        typer.echo(path)


def directory_of(name: str) -> Path:
    """The state directory of the playground of that name. Raises PlaygroundError for what is no name."""
    if Path(name).name != name or name in {"", ".."}:
        raise PlaygroundError(f"{name!r} is no name for a playground: it may not be empty, '..' or hold a slash")
    state_home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state_home) / "ganglift" / "playground" / name


def crd_directories() -> tuple[Path, ...]:
    """Where ganglift's CustomResourceDefinitions are: in the installed package, else in the checkout."""
    package = Path(ganglift.__file__).parent
    places = (package / "crds", package.parents[1] / "crds")
    return tuple(place for place in places if place.is_dir())[:1]


def _rates(text: str) -> Literal["default"] | int:
    if text == "default":
        return "default"
    try:
        return int(text)
    except ValueError:
        raise PlaygroundError(f"--request-rates is 'default' or a number, not {text!r}") from None


def _print_status(found: Status) -> None:
    table = Table("component", "state", box=None)
    for component, pid in found.components.items():
        table.add_row(component, f"runs, pid {pid}" if pid is not None else "has ended")
    console = Console()
    console.print(f"Kubernetes {found.version} at {found.server}")
    console.print(table)
    nodes = "the API server does not answer" if found.nodes is None else f"{found.usable_nodes} of {found.nodes} ready"
    console.print(f"nodes: {nodes}")
    console.print(f"kubeconfig: {found.kubeconfig}", soft_wrap=True)
