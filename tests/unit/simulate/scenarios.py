"""Small scenarios, and what is watched in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from ganglift.simulate.results import Run
from ganglift.simulate.scenario import GPU, Scenario, scenario_of


def scenario(*gangs: Mapping[str, Any], nodes: int = 2, gpus: int = 2, **more: Any) -> Scenario:
    """Like nodes, and gangs of one-GPU members that run for a minute unless they say otherwise."""
    pools = [{"name": "n", "count": nodes, "offers": {GPU: gpus}}]
    return scenario_of("test", {"nodes": pools, "gangs": [gang(**each) for each in gangs]} | more)


def gang(name: str, members: int = 1, gpus: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "members": members, "asks": {GPU: gpus}, "runs": 60} | more


def started(run: Run) -> dict[str, int]:
    """When each gang first started."""
    return dict(run.starts)


@st.composite
def scenarios(draw: st.DrawFn, /, **settings: Any) -> Scenario:
    """Up to seven gangs on up to four nodes within a quarter of an hour; some fit nowhere."""
    nodes, gpus = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    gangs = []
    for number in range(draw(st.integers(1, 7))):
        members = draw(st.integers(1, 5))
        gangs.append(
            gang(
                f"g{number}",
                members,
                draw(st.integers(1, 3)),
                at=draw(st.integers(0, 900)),
                runs=draw(st.integers(1, 600)),
                minCount=draw(st.integers(1, members)),
                priority=draw(st.sampled_from([0, 0, 10])),
                disruptionMode=draw(st.sampled_from(["single", "all"])),
                preemptionPolicy=draw(st.sampled_from(["PreemptLowerPriority", "Never"])),
            )
        )
    pools: list[dict[str, Any]] = [{"name": "n", "count": nodes, "offers": {GPU: gpus}}]
    if draw(st.booleans()):
        pools.append({"name": "spare", "count": 1, "offers": {GPU: gpus}, "joins": 100, "leaves": 700})
    policy = draw(st.sampled_from(["backfill", "strict"]))
    known = {"holdAfter": 60, "holdFor": 600, "queuePolicy": policy} | settings
    return scenario_of("drawn", {"nodes": pools, "gangs": gangs, "until": 1800, "settings": known})
