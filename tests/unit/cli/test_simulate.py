"""`ganglift simulate`: what it prints and draws, and what it says of bad input."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.cli.commands import Run

SCENARIO = """
nodes: {count: 2, gpus: 2}
jobs:
  - {name: a, members: 3, runs: 1h}
  - {name: b, members: 2, at: 60, runs: 30m}
"""


@pytest.fixture(autouse=True)
def files(run: Run, tmp_path: Path) -> Path:
    (tmp_path / "two.yaml").write_text(SCENARIO)
    return tmp_path


def test_table_has_both_manners_and_the_waits_by_size(run: Run) -> None:
    lines = run("simulate", "two.yaml").out.splitlines()
    assert lines[0].split() == ["MANNER", "USED", "WASTED", "EVICTIONS", "NEVER", "RAN"]
    assert lines[1].split() == ["gangs", "66.7%", "0.0", "GPU-hours", "0", "0", "of", "2"]
    assert lines[2].split()[0] == "pod-by-pod"
    assert ["gangs", "2-8", "2", "59m00s", "59m00s", "59m00s"] in [line.split() for line in lines]


@pytest.mark.parametrize(("form", "parse"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_other_forms_have_the_figures(run: Run, form: str, parse: Any) -> None:
    gangs, pods = parse(run("simulate", "two.yaml", "-o", form).out)["runs"]
    assert (gangs["manner"], gangs["jobs"], gangs["evictions"]) == ("gangs", 2, 0)
    assert gangs["wastedGpuHours"] < pods["wastedGpuHours"]


def test_without_a_scenario_a_load_is_made_up_the_same_each_time(run: Run) -> None:
    command = ("simulate", "--nodes", "5", "--days", "0.2", "-o", "json")
    assert run(*command).out == run(*command).out
    assert run(*command, "--seed", "2").out != run(*command).out


def test_the_runs_are_drawn(run: Run, files: Path) -> None:
    assert run("simulate", "two.yaml", "--svg", "runs.svg").code == 0
    assert (files / "runs.svg").read_text().startswith("<svg ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.yaml",), "none.yaml: No such file or directory"),
        (("bad.yaml",), "bad.yaml is not YAML: "),
        (("odd.yaml",), "jobs.0.members: "),
        (("two.yaml", "--hold-after", "soon"), "'soon' is not a duration"),
        (("two.yaml", "--hold-after", "-5"), "must be at least 0, not -5"),
    ],
)
def test_what_is_wrong_is_said(run: Run, files: Path, arguments: tuple[str, ...], words: str) -> None:
    (files / "bad.yaml").write_text("{")
    (files / "odd.yaml").write_text("jobs: [{name: a, members: -1}]")
    done = run("simulate", *arguments)
    assert done.code != 0
    assert words in " ".join(done.err.replace("\u2502", " ").split())
