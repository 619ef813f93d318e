"""What the demonstration shows, on a terminal, on a pipe and in a picture."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from tests.builders import NodeBuilder, PodBuilder, node, pod

from ganglift.api.model import Condition, ObjectMeta
from ganglift.api.names import JOB_NAME_LABEL
from ganglift.api.scheduling import Gang, PodGroup, PodGroupSpec, PodGroupStatus, Policy
from ganglift.cli.demo.screen import Screen, frame, picture_console, save_picture
from ganglift.cli.demo.world import World, refusal

COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]")
GPU_NODES = [node(name).gpus(1).ready() for name in ("gpu-0", "gpu-1")]


def world(nodes: list[NodeBuilder], pods: list[PodBuilder], groups: tuple[PodGroup, ...] = ()) -> World:
    return World(0.0, tuple(each.made for each in nodes), tuple(each.made for each in pods), groups)


def worker(name: str) -> PodBuilder:
    return pod(name).gpu(1).label(JOB_NAME_LABEL, "train")


def waiting_group() -> PodGroup:
    waits = Condition(type="Scheduled", status="False", reason="Unschedulable", message="3 of 4 members fit")
    return PodGroup(
        metadata=ObjectMeta(name="train-workers"),
        spec=PodGroupSpec(scheduling_policy=Policy(gang=Gang(min_count=4))),
        status=PodGroupStatus(phase="Unschedulable", members=4, conditions=(waits,)),
    )


def lines_of(shown: World) -> list[str]:
    """The table's lines, each with its words one space apart."""
    console = Console(file=io.StringIO(), width=120)
    console.print(frame(shown))
    assert isinstance(console.file, io.StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_bound_pod_of_a_plain_job_that_waits_for_others_is_shown_as_wasted() -> None:
    shown = lines_of(world(GPU_NODES[:1], [worker("a").on("gpu-0"), worker("b")]))
    assert "gpu-0 1/1 a Running, wasted: it waits for 1 more" in shown
    assert "b Pending" in shown


def test_bound_member_of_a_gang_is_not_wasted_while_an_extra_member_waits() -> None:
    shown = lines_of(world(GPU_NODES[:1], [worker("a").gang("g").on("gpu-0"), worker("b").gang("g").gated()]))
    assert "gpu-0 1/1 a Running" in shown
    assert "b SchedulingGated" in shown


def test_reserved_member_is_shown_with_the_node_that_is_kept_for_it() -> None:
    shown = lines_of(world(GPU_NODES, [worker("a").gang("g").gated().nominated("gpu-1")]))
    assert "a SchedulingGated, gpu-1 is kept for it" in shown


def test_node_is_free_only_when_it_is_usable() -> None:
    shown = lines_of(world([*GPU_NODES[:1], node("new").gpus(1).unready()], []))
    assert shown[1:] == ["gpu-0 0/1 free", "new 0/1 not ready yet"]


def test_pod_group_is_shown_with_the_reason_it_waits_for() -> None:
    shown = lines_of(world(GPU_NODES, [], (waiting_group(),)))
    assert "train-workers 4 4 0 Unschedulable" in shown
    assert "train-workers: 3 of 4 members fit" in shown


def test_refusal_leaves_out_what_is_said_of_preemption() -> None:
    said = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available"
    condition = Condition(type="PodScheduled", status="False", reason="Unschedulable", message=said)
    refused = pod("a").made
    refused = refused.model_copy(update={"status": refused.status.model_copy(update={"conditions": (condition,)})})
    assert refusal(refused) == "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


def test_pipe_gets_lines_and_no_table() -> None:
    out = io.StringIO()
    screen = Screen(Console(file=out))
    with screen.step(1, "A step", "what is done"):
        screen.keep(world(GPU_NODES, []))
    screen.told("a fact")
    assert out.getvalue().splitlines() == ["", "1. A step", "   what is done", "   ✓ a fact"]


def test_fact_that_the_table_shows_is_said_on_a_pipe_only() -> None:
    pipe, terminal = io.StringIO(), io.StringIO()
    Screen(Console(file=pipe)).told("a fact", is_in_table=True)
    Screen(Console(file=terminal, force_terminal=True)).told("a fact", is_in_table=True)
    assert (pipe.getvalue(), terminal.getvalue()) == ("   ✓ a fact\n", "")


def test_long_line_is_not_broken_on_a_pipe() -> None:
    out = io.StringIO()
    Screen(Console(file=out, width=40)).told("word " * 40)
    assert len(out.getvalue().splitlines()) == 1


@pytest.mark.parametrize(("environment", "is_coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_terminal_has_colours_unless_no_color_is_set(environment: dict[str, str], is_coloured: bool) -> None:
    out = io.StringIO()
    screen = Screen(Console(file=out, force_terminal=True, color_system="standard", _environ=environment))
    with screen.step(1, "A step"):
        screen.keep(world(GPU_NODES[:1], [worker("a").on("gpu-0")]))
    screen.told("a fact")
    assert bool(COLOUR.search(out.getvalue())) == is_coloured


def test_picture_holds_the_table_and_the_facts_and_loads_nothing(tmp_path: Path) -> None:
    picture = picture_console()
    screen = Screen(Console(file=io.StringIO()), picture=picture)
    with screen.step(1, "A step"):
        screen.keep(world(GPU_NODES, []))
    screen.told("afact")
    save_picture(picture, tmp_path / "demo.svg")
    drawn = (tmp_path / "demo.svg").read_text()
    assert "gpu-0" in drawn
    assert "afact" in drawn
    assert "url(http" not in drawn
