"""The simulation against the whole engine on a fake cluster: the same gangs start at the same times.

Reserving, confirming and lifting take seconds here and no time there. With holds for several gangs such moments can
decide who gets the next one, so holds are compared where one gang wants one.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import NAMESPACE
from tests.support.manifests import podgroup, pods

from ganglift.simulate.gangs import Gang
from ganglift.simulate.load import all_gangs
from ganglift.simulate.scenario import GPU, Scenario, scenario_of
from ganglift.simulate.simulation import gangwise

NODES, GPUS = 3, 4
LATE_S = 5.0


def scenario(gangs: list[dict[str, Any]], **settings: Any) -> Scenario:
    nodes = [{"name": "n", "count": NODES, "offers": {GPU: GPUS}}]
    return scenario_of("drawn", {"nodes": nodes, "gangs": gangs, "settings": settings})


def crowd(seed: int) -> list[dict[str, Any]]:
    """Ten small gangs and two that need every node, within some minutes: more than there are GPUs for."""
    rng = Random(seed)
    return [
        {
            "name": f"g{number:02}",
            "at": 20 * number + rng.randrange(15),
            "members": 3 if number in (3, 7) else rng.randint(1, 4),
            "asks": {GPU: 4 if number in (3, 7) else rng.randint(1, 2)},
            "runs": rng.randrange(100, 200),
        }
        for number in range(12)
    ]


def stream(seed: int) -> list[dict[str, Any]]:
    """Gangs of one GPU that come one after another, and one that needs every node."""
    rng = Random(seed)
    small = {"members": 1, "asks": {GPU: 1}}
    gangs = [
        {"name": f"g{number:02}", "at": 10 * number + rng.randrange(8), "runs": rng.randrange(90, 110), **small}
        for number in range(40)
    ]
    return [*gangs, {"name": "whole", "at": 155, "members": 3, "asks": {GPU: 4}, "runs": 60}]


def simulated_starts(drawn: Scenario) -> dict[str, int]:
    """Simulate in a thread, where no event loop runs."""
    with ThreadPoolExecutor(1) as threads:
        return dict(threads.submit(gangwise, drawn).result().starts)


async def real_starts(cluster: FakeCluster, drawn: Scenario) -> dict[str, float]:
    """Return when each gang starts on the fake cluster, after the operator has been told of the first."""
    cluster.nodes(NODES, gpus=GPUS)
    cluster.operator(settings=drawn.settings.model_copy(update={"namespace": NAMESPACE}))
    await asyncio.sleep(1)
    begun, starts = asyncio.get_running_loop().time(), dict[str, float]()

    async def live(gang: Gang) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(begun + gang.arrives - loop.time())
        cluster.add(podgroup(gang.name, gang.need), *pods(gang.name, gang.members, gpus=gang.units))
        await cluster.until(lambda: cluster.bound(gang.name) == gang.need, within_s=3600, every_s=0.1)
        starts[gang.name] = loop.time() - begun
        await asyncio.sleep(gang.runs)
        for number in range(gang.members):
            cluster.kubelets.end(f"{gang.name}-{number}")

    await asyncio.gather(*map(live, all_gangs(drawn)))
    return starts


async def differences(cluster: FakeCluster, drawn: Scenario) -> dict[str, tuple[float, int]]:
    """Return gangs that start at another time in the simulation, with both times."""
    simulated = simulated_starts(drawn)
    real = await real_starts(cluster, drawn)
    assert real.keys() == simulated.keys()
    both = {name: (round(real[name], 1), simulated[name]) for name in sorted(real)}
    return {name: times for name, times in both.items() if abs(times[0] - times[1]) > LATE_S}


@pytest.mark.parametrize("policy", ["backfill", "strict"])
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_gangs_start_when_the_simulation_says(cluster: FakeCluster, seed: int, policy: str) -> None:
    assert await differences(cluster, scenario(crowd(seed), queuePolicy=policy, holdAfter="10h")) == {}


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_a_gang_for_which_room_is_held_starts_when_the_simulation_says(cluster: FakeCluster, seed: int) -> None:
    drawn = scenario(stream(seed), holdAfter=30, holdFor=600)
    without = scenario(stream(seed), holdAfter="10h")
    assert "whole" not in await differences(cluster, drawn)
    assert simulated_starts(drawn)["whole"] < simulated_starts(without)["whole"]
