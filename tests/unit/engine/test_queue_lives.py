"""Random loads on a full cluster: every gang that would fit on the empty one gets in, and nobody is evicted by its
equals."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import NAMESPACE
from tests.support.manifests import node_of, pod, podgroup, pods

from ganglift.base.settings import Settings
from ganglift.kube.resources import PODS

NODES, GPUS = 3, 4
PRIORITY = {"low": 0, "mid": 10, "high": 20}
WITHIN_S = 900.0
"""How long the last gang may take to get in; all pods live for 5 to 40 seconds."""


class Load:
    """Plain pods that never end coming, and gangs that come one after another."""

    def __init__(self, cluster: FakeCluster, seed: int) -> None:
        self._cluster = cluster
        self._rng = Random(seed)
        self._ends: dict[str, float] = {}
        self._made = 0
        self.gangs: dict[str, int] = {}
        self.started: set[str] = set()
        self.priority: dict[str, int] = {}

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            waiting = [one for one in self._plain() if not node_of(one)]
            for _ in range(4 - len(waiting)):
                name, of = f"plain-{self._made}", "low"
                self.priority[name] = PRIORITY[of]
                self._cluster.add(pod(name, priorityClassName=of))
                self._made += 1
            for one in self._cluster.all(PODS):
                if one["status"]["phase"] == "Running":
                    name = str(one["metadata"]["name"])
                    if loop.time() >= self._ends.setdefault(name, loop.time() + self._rng.uniform(5, 40)):
                        self._end(name)
            self.started |= {name for name, size in self.gangs.items() if self._cluster.bound(name) >= size}
            await asyncio.sleep(0.5)

    def add_gang(self) -> None:
        name, gpus = f"gang-{len(self.gangs)}", self._rng.choice((1, 2, 4))
        size = self._rng.randint(1, NODES * GPUS // gpus)
        of = self._rng.choice(tuple(PRIORITY))
        self.gangs[name] = size
        self.priority |= {f"{name}-{number}": PRIORITY[of] for number in range(size)}
        never = {"preemptionPolicy": "Never"} if self._rng.random() < 0.3 else {}
        self._cluster.add(podgroup(name, size, **never), *pods(name, size, gpus=gpus, priorityClassName=of))

    def _end(self, name: str) -> None:
        """A gang's member ends once its gang has been whole."""
        group = name.rpartition("-")[0]
        if group not in self.gangs or group in self.started:
            self._cluster.kubelets.end(name)

    def _plain(self) -> list[dict[str, object]]:
        pods = (one for one in self._cluster.all(PODS) if one["metadata"]["name"].startswith("plain-"))
        return [one for one in pods if one["status"]["phase"] not in ("Succeeded", "Failed")]


async def tell(seed: int) -> None:
    """One load: eight gangs, a quarter of a minute apart, and on until all have been in."""
    async with FakeCluster() as cluster:
        for name, value in PRIORITY.items():
            cluster.priority_class(name, value, preempts=False)
        cluster.nodes(NODES, gpus=GPUS)
        operator = cluster.operator(settings=Settings(namespace=NAMESPACE, hold_after=20, hold_for=300))
        load = Load(cluster, seed)
        flow = asyncio.create_task(load.run())
        for _ in range(8):
            load.add_gang()
            await asyncio.sleep(15)
        await cluster.until(lambda: load.started >= load.gangs.keys(), within_s=WITHIN_S, every_s=0.5)
        flow.cancel()
        await asyncio.wait({flow})
        for victim, reason, message in operator.announcer.said:
            if reason == "Preempted":
                assert load.priority[victim] < int(message.split(" of priority ")[1].split()[0])


@pytest.mark.parametrize("seed", range(4))
async def test_every_gang_gets_in_and_none_is_evicted_for_its_equal(seed: int, full: bool) -> None:
    for telling in range(8 if full else 1):
        await tell(seed * 100 + telling)
