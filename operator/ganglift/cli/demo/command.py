"""`ganglift demo`: a control plane and the operator for as long as the story takes, then nothing."""

import signal
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ganglift.cli.demo.operator import Operator
from ganglift.cli.demo.screen import Screen, picture_console, save_picture
from ganglift.cli.demo.story import NODES, Story
from ganglift.cli.playground import KubernetesVersion, crd_directories
from ganglift.cli.progress import ConsoleReporter
from ganglift.playground import Playground, PlaygroundOptions, provide


def demo(
    *,
    kubernetes_version: KubernetesVersion = "1.37.2",
    svg: Annotated[Path | None, typer.Option(help="Write the story as a picture to this file, too.")] = None,
) -> None:
    """Show on a real control plane what gang scheduling is: four workers that need four GPUs, and room for three.

    Takes less than 30 seconds once the control plane's programs are built, which the first run does, in minutes.
    Ends with code 0 when each step came out as told, and leaves nothing running, whatever ends it.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _exit)
    picture = picture_console() if svg is not None else None
    screen = Screen(Console(highlight=False), picture=picture)
    with closing(ConsoleReporter()) as reporter:
        options = PlaygroundOptions(version=kubernetes_version, nodes=NODES, gpus=1, crds=crd_directories())
        provide(options.components, options.kubernetes, reporter=reporter)
        begun_s = time.monotonic()
        playground = Playground.start(options, reporter=reporter)
    with (
        playground,
        Operator(playground.kubeconfig, playground.state_dir / "logs" / "ganglift.log") as operator,
        playground.client.session() as session,
    ):
        screen.say(f"Kubernetes {options.kubernetes} runs with {NODES} nodes of one GPU each, and ganglift beside it.")
        Story(playground, session, operator, screen).tell()
    screen.say(f"\nAll came out as told, in {time.monotonic() - begun_s:.0f} s. Nothing is left running.")
    if picture is not None and svg is not None:
        save_picture(picture, svg)


def _exit(number: int, _: object) -> None:
    sys.exit(128 + number)
