"""Gangs that come and go by the thousand leave nothing behind: no memory, no wrong books, no endless log."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import Operator
from tests.support.manifests import job, podgroup, pods
from tests.unit.engine.keptcache import Told

from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.engine.cache import Cache
from ganglift.kube.resources import JOBS, NODES, POD_GROUPS, PODS

WAVE = 25
PARSER_IS_FULL = 3_000
"""After so many gangs pydantic's JSON parser remembers as many short strings as it ever does (16,384, about 1 MB)."""


@dataclass
class Churn:
    """Makes gangs in waves, lets them start, and deletes them."""

    cluster: FakeCluster
    made: int = 0
    standing: int = 0
    """Gangs that stay all the while."""

    async def stand(self, count: int) -> None:
        """Let so many gangs of two start that stay."""
        self.standing = count
        self.cluster.nodes(count // 4, gpus=8, first=1000)
        for number in range(count):
            self.cluster.add(podgroup(f"s{number}", 2), *pods(f"s{number}", 2))
        await self.cluster.until(lambda: all(self.cluster.bound(f"s{number}") == 2 for number in range(count)))

    async def go_on(self, count: int) -> None:
        for _ in range(count // WAVE):
            await self.wave()
            # What the fake remembers for tests is not the operator's.
            self.cluster.core.seen.clear()
            self.cluster.core.api.store.table(PODS).log.compact()

    async def wave(self) -> None:
        cluster = self.cluster
        names = [f"g{self.made + number}" for number in range(WAVE)]
        self.made += WAVE
        ours, bare = names[:3], names[3:]
        for name in bare:
            cluster.add(podgroup(name, 2), *pods(name, 2))
        cluster.add(*(job(name, 2) for name in ours))
        groups = [*bare, *(f"{name}-workers" for name in ours)]
        await cluster.until(lambda: all(cluster.reason(group) == "Scheduled" for group in groups))
        for name in bare:
            cluster.delete(POD_GROUPS, name)
            for one in cluster.pods(name):
                cluster.delete(PODS, one["metadata"]["name"])
        for name in ours:
            cluster.delete(JOBS, name)
        await cluster.until(lambda: (len(cluster.all(PODS)), len(cluster.all(POD_GROUPS))) == self.left)

    @property
    def left(self) -> tuple[int, int]:
        """How many pods and groups are there when all that came is gone."""
        return 2 * self.standing, self.standing


def things_held(*roots: object) -> tuple[int, int]:
    """How many objects the operator's own ones hold, directly or through containers, and how many bytes those are."""
    seen: set[int] = set()
    size = 0
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if id(one) in seen or not _is_walked(one):
            continue
        seen.add(id(one))
        size += sys.getsizeof(one)
        waiting += gc.get_referents(one)
    return len(seen), size


def _is_walked(one: object) -> bool:
    if isinstance(one, dict | list | set | tuple | frozenset | str | bytes | int | float):
        return True
    module = type(one).__module__
    return module.startswith("ganglift.") and not module.startswith("ganglift.kube")


def bytes_held(cluster: FakeCluster) -> int:
    """Memory that the operator's own code has allocated and that is still held, but for what tests remember of it."""
    cluster.core.seen.clear()
    for table in cluster.core.api.store.tables():
        table.log.compact()
    for operator in cluster.operators:
        operator.announcer.said.clear()
    gc.collect()
    ours = tracemalloc.Filter(True, "*/ganglift/*")
    return sum(stat.size for stat in tracemalloc.take_snapshot().filter_traces([ours]).statistics("filename"))


async def settled(cluster: FakeCluster, operator: Operator, standing: int = 0) -> None:
    await cluster.quiet(for_s=30)
    assert len(operator.engine.entries) == standing


async def test_nothing_is_held_that_is_gone(cluster: FakeCluster, full: bool) -> None:
    cluster.nodes(10, gpus=8)
    operator = cluster.operator()
    churn = Churn(cluster)
    await churn.stand(100)
    await churn.go_on(50)
    await settled(cluster, operator, churn.standing)
    before = things_held(operator.engine, operator.kinds)
    await churn.go_on(10_000 if full else 250)
    await settled(cluster, operator, churn.standing)
    after = things_held(operator.engine, operator.kinds)
    print(f"{before} things and bytes before, {after} after {churn.made} gangs")
    assert before[0] > 300, "something is not walked"
    assert all(now <= then * 1.1 for then, now in zip(before, after, strict=True)), f"{before} before, {after} after"


@pytest.mark.full
@pytest.mark.timeout(5400)
async def test_memory_is_given_back(cluster: FakeCluster) -> None:
    cluster.nodes(10, gpus=8)
    operator = cluster.operator()
    churn = Churn(cluster)
    tracemalloc.start()
    try:
        await churn.stand(100)
        await churn.go_on(PARSER_IS_FULL)
        await settled(cluster, operator, churn.standing)
        before = bytes_held(cluster)
        await churn.go_on(10_000)
        await settled(cluster, operator, churn.standing)
        after = bytes_held(cluster)
    finally:
        tracemalloc.stop()
    print(f"{before} bytes before, {after} after {churn.made} gangs")
    assert after <= before * 1.1, f"{before} bytes before, {after} after {churn.made} gangs"


async def test_books_are_those_of_a_process_that_has_just_read_everything(cluster: FakeCluster) -> None:
    cluster.nodes(10, gpus=8)
    operator = cluster.operator()
    await Churn(cluster).go_on(100)
    cluster.add(*(one for name in "abc" for one in (podgroup(name, 3), *pods(name, 5))))
    await cluster.until(lambda: all(cluster.bound(name) == 5 for name in "abc"))
    await cluster.quiet()
    fresh = Cache(Told())
    fresh.replace_nodes([Node.model_validate(one) for one in cluster.all(NODES)])
    fresh.replace_pods([Pod.model_validate(one) for one in cluster.all(PODS)])
    known, read = operator.engine.cache.snapshot(), fresh.snapshot()
    columns = [known.columns[name] for name in read.columns]
    assert known.names == read.names
    assert np.array_equal(known.used[:, columns], read.used)
    assert known.used.sum() == read.used.sum()


async def test_log_lines_are_bounded(cluster: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    cluster.nodes(10, gpus=8)
    cluster.operator()
    caplog.set_level("INFO")
    churn = Churn(cluster)
    await churn.go_on(100)
    assert len(caplog.records) <= 5 * churn.made


async def test_nobody_is_waited_for_that_is_gone(cluster: FakeCluster) -> None:
    cluster.nodes(10, gpus=8)
    operator = cluster.operator()
    await Churn(cluster).go_on(50)
    await settled(cluster, operator)
    engine = operator.engine
    assert (engine.nominations.written, engine.cache.reserved_uids(), len(engine._timers)) == ({}, frozenset(), 0)
