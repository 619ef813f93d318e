"""Scenarios from the field, at the level of the planner: one YAML file each, named after its id.

A file has `steps`. Each first changes the cluster (`nodes` and `pods` made or changed by name, `gone` the names of
those that are no more, `gangs` kept until given again; `tests.support.scenario` has the words) and then says under
`expect` what is planned for each gang: `fits`, `places` (how many members by node), `order` (nodes in plan order),
`racks` (how many members in each), `extras` (how many beyond need find a place), `unjudged`, `says` (a part of the
message).
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.scenario import Scenario, differences

FILES = sorted(Path(__file__).parent.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_scenario(path: Path) -> None:
    document: dict[str, Any] = yaml.safe_load(path.read_text())
    scenario = Scenario()
    for number, step in enumerate(document["steps"], start=1):
        scenario.change(step)
        for name, expected in step.get("expect", {}).items():
            wrong = differences(expected, scenario.outcome(name))
            assert not wrong, f"step {number}, gang {name}: expected and found {wrong}"


def test_there_are_scenarios() -> None:
    assert FILES
