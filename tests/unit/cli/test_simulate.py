"""`ganglift simulate`: what it prints and draws, and what it says of bad input."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.cli.commands import Run

SCENARIO = """
nodes: [{count: 2, offers: {nvidia.com/gpu: 2}}]
gangs:
  - {name: a, members: 3, asks: {nvidia.com/gpu: 1}, runs: 1h}
  - {name: b, members: 3, asks: {nvidia.com/gpu: 1}, runs: 30m}
until: 2h
"""


@pytest.fixture(autouse=True)
def files(run: Run, tmp_path: Path) -> Path:
    (tmp_path / "two.yaml").write_text(SCENARIO)
    return tmp_path


def test_tables_have_what_became_of_the_gpus_and_the_waits_by_size(run: Run) -> None:
    lines = [line.split() for line in run("simulate", "two.yaml").out.splitlines()]
    assert lines[0] == ["SCHEDULER", "STARTED", "UTILIZATION", "WASTED", "HELD", "LOST", "EVICTED", "HOLDS"]
    assert lines[1][:6] == ["ganglift,", "backfill", "2", "of", "2", "56.2%"]
    assert lines[-1] == ["2-8", "2", "0s", "/", "1h00m", "/", "1h00m"]


@pytest.mark.parametrize(("form", "parse"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_other_forms_have_both_schedulers_if_asked(run: Run, form: str, parse: Any) -> None:
    (gangs,) = parse(run("simulate", "two.yaml", "-o", form).out)["runs"]
    both = parse(run("simulate", "two.yaml", "--beside-plain", "-o", form).out)["runs"]
    assert both[0] == gangs
    assert [one["scheduler"] for one in both] == ["ganglift, backfill", "pod by pod"]
    assert both[0]["hours"]["wasted"] == 0 < both[1]["hours"]["wasted"]


def test_options_win_over_the_scenario(run: Run) -> None:
    (one,) = json.loads(run("simulate", "two.yaml", "--queue-policy", "strict", "-o", "json").out)["runs"]
    assert one["scheduler"] == "ganglift, strict"


def test_without_a_scenario_a_load_is_made_up_the_same_each_time(run: Run) -> None:
    command = ("simulate", "--nodes", "4", "--for", "6h", "-o", "json")
    assert run(*command).out == run(*command).out
    assert run(*command, "--seed", "2").out != run(*command).out


def test_the_runs_are_drawn(run: Run, files: Path) -> None:
    assert run("simulate", "two.yaml", "--svg", "runs.svg").code == 0
    assert (files / "runs.svg").read_text().startswith("<svg ")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "bad.yaml is not YAML: "),
        ("[]", "bad.yaml: expected a mapping with nodes, and gangs or a load"),
        ("nodes: [{count: 1, offers: {nvidia.com/gpu: 1}}]", "there is nothing to run: give gangs, or a load"),
        ("nodes: [{count: 1, offers: {nvidia.com/gpu: x}}]", "nodes.0.offers: nvidia.com/gpu: 'x' is not a quantity"),
        ("gangs: [{name: a, members: -1}]", "gangs.0.members: "),
        (SCENARIO + "settings: {holdAfter: soon}", "settings.holdAfter: 'soon' is not a duration"),
        (SCENARIO.replace("members: 3", "members: 3, minCount: 4"), "minCount 4 is more than the 3 members"),
        (SCENARIO.replace("name: b", "name: a"), "gangs: there are two of the name a"),
        (SCENARIO + "seeds: 1", "seeds: Extra inputs are not permitted"),
    ],
)
def test_what_is_wrong_with_a_scenario_is_said_with_file_and_field(
    run: Run, files: Path, content: str, words: str
) -> None:
    (files / "bad.yaml").write_text(content)
    done = run("simulate", "bad.yaml")
    assert done.code == 1
    assert words in done.err
    assert done.err.startswith("ganglift: bad.yaml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.yaml",), "none.yaml: No such file or directory"),
        (("two.yaml", "--hold-after", "-5"), "settings.holdAfter: Input should be greater than or equal to 0"),
        (("two.yaml", "--svg", "nowhere/runs.svg"), "nowhere/runs.svg: No such file or directory"),
        (("--nodes", "1", "--gpus", "1", "--for", "1h"), "nodes: they are too few for the load that is made up"),
    ],
)
def test_what_is_wrong_with_the_command_is_said(run: Run, arguments: tuple[str, ...], words: str) -> None:
    done = run("simulate", *arguments)
    assert done.code == 1
    assert words in done.err
