"""Reports from the field about nodes and rooms that come, go and lie. Named after their ids."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from tests.fakes.apiserver.store import Change, Place
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import job, node, node_of, nominated, pod, podgroup, pods

from ganglift.kube.resources import NODES, PODS, Resource

GROUP = "train-workers"


async def test_r9_a_node_made_anew_under_its_name_is_reserved_for_nobody(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    operator = cluster.operator()
    await operator.synced()
    cluster.add(pod("rival", gpus=9))
    await cluster.until(lambda: cluster.scheduler.pods)
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: {nominated(one) for one in cluster.pods("g")} == {"n1", "n2"})
    cluster.delete(NODES, "n2")
    cluster.scheduler.go_on()
    await cluster.until(lambda: not any(nominated(one) for one in cluster.pods("g")), within_s=2)
    await asyncio.sleep(30)
    cluster.add(node("n2", 0))
    cluster.add(pod("plain", gpus=0, nodeSelector={"kubernetes.io/hostname": "n2"}))
    await cluster.until(lambda: node_of(cluster.get(PODS, "plain") or {}) == "n2", within_s=5)
    assert not any(nominated(one) for one in cluster.pods("g"))
    assert cluster.count("g", gated=True) == 2


async def test_r11_a_node_that_refuses_every_pod_is_avoided(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    refused: set[str] = set()

    def refuse(resource: Resource, place: Place, change: Change) -> None:
        if resource == PODS and node_of(change.stored.obj) == "n1" and place[1] not in refused:
            refused.add(place[1])
            end = lambda: cluster.kubelets.end(place[1], phase="Failed", reason="UnexpectedAdmissionError")  # noqa: E731
            asyncio.get_running_loop().call_soon(end)

    cluster.core.api.store.observe(refuse)
    cluster.add(job("train", 2, backoffLimit=6))
    await cluster.until(lambda: cluster.reason(GROUP) == "Scheduled" and len(refused) >= 1)
    await cluster.until(lambda: running_on(cluster) == {"n2", "n3"}, within_s=30)
    await asyncio.sleep(60)
    assert running_on(cluster) == {"n2", "n3"}
    assert len(refused) <= 3


def running_on(cluster: FakeCluster) -> set[str]:
    return {node_of(one) for one in cluster.pods(GROUP) if one["status"]["phase"] == "Running"}


async def test_r20_gated_pods_made_anew_again_and_again_keep_their_groups_place(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    operator = cluster.operator()
    for name in ("older", "later"):
        cluster.add(podgroup(name, 2), *pods(name, 2))
        await asyncio.sleep(1.5)
    await cluster.until(lambda: cluster.reason("later") == "Unschedulable")
    before = len(cluster.core.writes)
    for generation in range(1, 6):
        for name in ("older", "later"):
            for one in cluster.pods(name):
                cluster.delete(PODS, one["metadata"]["name"])
            cluster.add(*pods(name, 2, first=2 * generation))
        await asyncio.sleep(60)
    assert len(cluster.core.writes) - before <= 5 * 10
    said = [
        message.partition(":")[0] for name, reason, message in operator.announcer.said if reason == "MembersReplaced"
    ]
    assert sorted(said) == ["x2", "x2", "x4", "x4"]
    cluster.add(node("n2"))
    await cluster.until(lambda: cluster.bound("older") == 2, within_s=2)
    assert cluster.count("later", gated=True) == 2


async def test_r25_what_is_known_after_much_change_is_what_a_fresh_list_shows(cluster: FakeCluster) -> None:
    cluster.nodes(16)
    operator = cluster.operator()
    await operator.synced()
    for number in range(200):
        name = f"n{number % 16 + 1}"
        cluster.edit(NODES, name, {"metadata": {"labels": {"turn": str(number)}}})
        count = {"nvidia.com/gpu": str(number % 3)}
        cluster.edit(NODES, name, {"status": {"allocatable": count}}, subresource="status")
        if number in (70, 140):
            cluster.core.end_watches(NODES)
        await asyncio.sleep(0.01)
    for number in range(16):
        count = {"nvidia.com/gpu": "1"}
        cluster.edit(NODES, f"n{number + 1}", {"status": {"allocatable": count}}, subresource="status")
    cluster.add(podgroup("g", 16), *pods("g", 16))
    await cluster.until(lambda: cluster.bound("g") == 16, within_s=5)


async def test_r31_the_room_of_a_pod_that_cannot_end_is_taken_and_the_pod_named(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    members = pods("g", 2)
    for one in members:
        one["metadata"]["finalizers"] = ["example.com/kubelet-is-away"]
    cluster.add(podgroup("g", 2), *members)
    await cluster.until(lambda: cluster.reason("g") == "Scheduled")
    stays_on = node_of(cluster.pods("g")[0])
    away = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
    cluster.edit(NODES, stays_on, {"status": away}, subresource="status")
    cluster.delete(PODS, "g-0")
    cluster.add(pod("g-2", "g"))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable", within_s=3)
    assert f"being deleted: g-0 on {stays_on}" in cluster.condition("g")["message"]
    await cluster.stays(lambda: cluster.count("g", gated=True) == 1, for_s=60)


async def test_r33_a_node_is_used_as_soon_as_its_start_up_taint_is_gone_and_not_before(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    cluster.operator()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    new = node("n2")
    new["spec"] = {"taints": [{"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}]}
    cluster.add(new)
    await cluster.stays(lambda: cluster.count("g", gated=True) == 2, for_s=20)
    cluster.edit(NODES, "n2", {"spec": {"taints": None}})
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=2)


async def test_r35_a_nomination_wiped_late_is_made_again(cluster: FakeCluster) -> None:
    cluster.priority_class("meek", 0, preempts=False)
    cluster.nodes(3)
    cluster.operator()
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 2), *pods("g", 2, priorityClassName="meek"))
    await cluster.until(lambda: cluster.count("g", gated=False) == 2)
    taken = nominated(cluster.pods("g")[0])
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    refused["lastTransitionTime"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    cluster.add(pod("thief"))
    cluster.bind("thief", taken)
    cluster.edit(PODS, "g-0", {"status": {"conditions": [refused]}}, subresource="status")
    await cluster.until(lambda: nominated(cluster.pods("g")[0]) not in ("", taken), within_s=2)
    again = nominated(cluster.pods("g")[0])
    cluster.edit(PODS, "g-0", {"status": {"nominatedNodeName": None}}, subresource="status")
    await cluster.until(lambda: nominated(cluster.pods("g")[0]) == again, within_s=1)
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 2, within_s=15)
