"""Nodes that come, go, lose their devices or fall ill while gangs wait or run."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.fakecluster import FakeCluster
from tests.support.manifests import GPU, job, node_of, pod, podgroup, pods

from ganglift.kube.resources import NODES, PODS

APART: dict[str, Any] = {
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "kubernetes.io/hostname",
                    "labelSelector": {"matchLabels": {"scheduling.ganglift.dev/pod-group": "g"}},
                }
            ]
        }
    }
}


def offer(cluster: FakeCluster, node: str, gpus: int) -> None:
    cluster.edit(NODES, node, {"status": {"allocatable": {GPU: str(gpus)}}}, subresource="status")


def be_ready(cluster: FakeCluster, node: str, is_ready: bool) -> None:
    condition = {"type": "Ready", "status": "True" if is_ready else "Unknown"}
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
    cluster.edit(NODES, node, {"spec": {"taints": [] if is_ready else [taint]}})
    cluster.edit(NODES, node, {"status": {"conditions": [condition]}}, subresource="status")


async def test_r12_a_gang_starts_within_a_second_of_the_return_of_a_nodes_devices(cluster: FakeCluster) -> None:
    """The plain pod on the node counts all the while, and what is free there never falls below nothing."""
    cluster.nodes(2, gpus=8)
    cluster.add(pod("plain", gpus=4, nodeName="n1"))
    offer(cluster, "n1", 0)
    cluster.operator()
    cluster.add(podgroup("g", 2), *pods("g", 2, gpus=4, **APART))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    assert cluster.condition("g")["message"].startswith("1 of 2 members fit")
    await cluster.stays(lambda: cluster.count("g", gated=True) == 2, for_s=20)
    offer(cluster, "n1", 8)
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=1)
    assert {node_of(one) for one in cluster.pods("g")} == {"n1", "n2"}


async def test_j3_a_node_counts_as_soon_as_it_is_ready_and_no_longer_than_that(cluster: FakeCluster) -> None:
    cluster.nodes(1, gpus=4)
    be_ready(cluster, "n1", False)
    cluster.operator()
    cluster.add(podgroup("g", 4), *pods("g", 4))
    await cluster.until(lambda: "1 not ready" in cluster.condition("g").get("message", ""), within_s=5)
    be_ready(cluster, "n1", True)
    await cluster.until(lambda: cluster.bound("g") == 4, within_s=5)


async def test_e6_of_two_replacements_exactly_one_gets_the_last_gpu(cluster: FakeCluster) -> None:
    cluster.nodes(4)
    cluster.operator()
    for name in ("a", "b"):
        cluster.add(job(name, 2))
    await cluster.until(lambda: cluster.bound("a-workers") == cluster.bound("b-workers") == 2)
    lost = [cluster.pods(f"{name}-workers")[0] for name in ("a", "b")]
    cluster.edit(NODES, node_of(lost[1]), {"spec": {"unschedulable": True}})
    for one in lost:
        cluster.delete(PODS, one["metadata"]["name"])
    await cluster.until(lambda: cluster.bound("a-workers") + cluster.bound("b-workers") == 3)
    await asyncio.sleep(30)
    assert sorted([cluster.bound("a-workers"), cluster.bound("b-workers")]) == [1, 2]
    assert {cluster.count(f"{name}-workers", gated=True) for name in ("a", "b")} == {0, 1}
