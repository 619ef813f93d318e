"""Gangs at the point from which many tests begin."""

from __future__ import annotations

from tests.support.fakecluster import FakeCluster
from tests.support.manifests import podgroup, pods


async def waiting(cluster: FakeCluster, need: int = 4, room: int = 3, count: int | None = None) -> None:
    """A gang that waits for room."""
    cluster.nodes(room)
    cluster.operator()
    cluster.add(podgroup("g", need), *pods("g", count or need))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
