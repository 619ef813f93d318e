"""Reports from the field about the life of Jobs and what is said of them. Named after their ids."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.fakes.apiserver import Refuse, on
from tests.fakes.apiserver.refusals import conflict
from tests.fakes.apiserver.store import Change, Place
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import job, node_of, pod, podgroup, pods

from ganglift.kube.resources import BATCH_JOBS, JOBS, POD_GROUPS, PODS, Resource

GROUP = "train-workers"


async def whole(cluster: FakeCluster, size: int, **spec: Any) -> None:
    cluster.nodes(size)
    cluster.operator()
    cluster.add(job("train", size, **spec))
    await cluster.until(lambda: cluster.reason(GROUP) == "Scheduled")


def members_made(cluster: FakeCluster) -> set[str]:
    """A set that gets the name of each pod that is made from now on."""
    names: set[str] = set()

    def note(resource: Resource, place: Place, change: Change) -> None:
        if resource == PODS and change.type == "ADDED" and place[0] == "default":
            names.add(place[1])

    cluster.core.api.store.observe(note)
    return names


async def test_h1_need_follows_parallelism_through_suspension(cluster: FakeCluster) -> None:
    await whole(cluster, 4, completions=10)
    cluster.edit(JOBS, "train", {"spec": {"parallelism": 2}})
    await cluster.until(lambda: cluster.status(GROUP)["need"] == 2 and cluster.bound(GROUP) == 2, within_s=3)
    cluster.edit(JOBS, "train", {"spec": {"suspend": True}})
    await cluster.until(lambda: cluster.status(GROUP)["need"] == 0 and not cluster.pods(GROUP), within_s=3)
    cluster.edit(JOBS, "train", {"spec": {"parallelism": 6, "suspend": False}})
    await cluster.until(lambda: cluster.status(GROUP)["need"] == 6, within_s=3)
    await cluster.stays(lambda: cluster.bound(GROUP) == 0, for_s=30)
    cluster.nodes(2, first=5)
    await cluster.until(lambda: cluster.bound(GROUP) == 6, within_s=3)


async def test_h2_a_gang_that_nobody_binds_makes_ever_fewer_pods(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    made = members_made(cluster)
    cluster.scheduler.stop()
    cluster.add(job("train", 2, scheduleTimeoutSeconds=30))
    await cluster.stays(lambda: len(cluster.pods(GROUP)) <= 4, for_s=600)
    assert len(made) <= 2 * 10
    before = len(made)
    await asyncio.sleep(1200)
    assert len(made) - before <= 2 * 5


async def test_h5_a_rolling_update_on_a_full_cluster_waits_without_a_block(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(podgroup("serve", 2), *pods("serve", 2))
    await cluster.until(lambda: cluster.reason("serve") == "Scheduled")
    for old in range(2):
        cluster.add(pod(f"new-{old}", "serve"))
        await cluster.stays(lambda: cluster.bound("serve") == 2 and cluster.reason("serve") == "Scheduled", for_s=20)
        cluster.delete(PODS, f"serve-{old}")
        await cluster.until(lambda: cluster.bound("serve") == 1)
        await cluster.until(lambda: cluster.bound("serve") == 2, within_s=2)
        await cluster.until(lambda: cluster.reason("serve") == "Scheduled", within_s=2)
    assert {one["metadata"]["name"] for one in cluster.pods("serve")} == {"new-0", "new-1"}


async def test_h7_the_group_outlives_the_restart_of_one_pod(cluster: FakeCluster) -> None:
    await whole(cluster, 3)
    before = (cluster.get(POD_GROUPS, GROUP) or {})["metadata"]["uid"]
    cluster.kubelets.end(cluster.pods(GROUP)[0]["metadata"]["name"], phase="Failed")
    await cluster.until(lambda: cluster.bound(GROUP) == 4, within_s=3)  # the failed one lies about
    await cluster.until(lambda: cluster.reason(GROUP) == "Scheduled", within_s=2)
    for one in cluster.pods(GROUP):
        if one["status"]["phase"] == "Running":
            cluster.kubelets.end(one["metadata"]["name"])
    await cluster.until(lambda: cluster.reason(GROUP) == "Succeeded", within_s=5)
    assert (cluster.get(POD_GROUPS, GROUP) or {})["metadata"]["uid"] == before


async def test_h14_a_job_deleted_during_its_lift_leaves_no_pod_and_no_reservation(cluster: FakeCluster) -> None:
    cluster.nodes(4)
    cluster.operator()
    cluster.scheduler.stop()
    made = members_made(cluster)
    cluster.add(job("train", 4))
    await cluster.until(lambda: cluster.count(GROUP, gated=False) > 0, every_s=0.0005)
    cluster.delete(JOBS, "train")
    await cluster.until(lambda: not cluster.pods(GROUP), within_s=5)
    await cluster.stays(lambda: not cluster.pods(GROUP) and len(made) == 4, for_s=60)
    assert cluster.get(BATCH_JOBS, "train") is None
    cluster.scheduler.go_on()
    cluster.add(podgroup("next", 4), *pods("next", 4))
    await cluster.until(lambda: cluster.bound("next") == 4, within_s=3)


# Status


async def test_i1_all_run_and_the_status_says_so(cluster: FakeCluster) -> None:
    await whole(cluster, 4)
    await cluster.until(lambda: cluster.status(GROUP)["phase"] == "Running", within_s=3)
    assert (cluster.status(GROUP)["running"], cluster.status(GROUP)["scheduled"]) == (4, 4)


async def test_i3_the_status_follows_a_member_that_is_made_anew(cluster: FakeCluster) -> None:
    await whole(cluster, 4)
    cluster.edit(PODS, (gone := cluster.pods(GROUP)[0])["metadata"]["name"], {"metadata": {"finalizers": None}})
    cluster.scheduler.stop()
    cluster.delete(PODS, gone["metadata"]["name"])
    await cluster.until(lambda: cluster.status(GROUP)["scheduled"] == 3, within_s=2)
    assert cluster.condition(GROUP)["status"] == "False"
    assert cluster.status(GROUP)["phase"] != "Running"
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.status(GROUP)["scheduled"] == 4, within_s=2)


async def test_i5_the_number_of_missing_members_is_announced(cluster: FakeCluster) -> None:
    operator = cluster.operator()
    cluster.add(podgroup("g", 4), *pods("g", 3))
    await cluster.until(lambda: "WaitingForMembers" in operator.announcer.reasons("g"), within_s=5)
    assert any(message.startswith("3 of 4 pods exist") for _, _, message in operator.announcer.said)


async def test_i6_a_status_that_met_a_conflict_is_written_again(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    cluster.operator()
    refusal = Refuse(conflict(POD_GROUPS, "g", "the object has been modified"))
    fault = cluster.core.faults.add(on("patch", POD_GROUPS, subresource="status"), refusal, times=2)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable", within_s=5)
    assert fault.struck == 2


async def test_i9_a_gang_that_runs_is_unschedulable_no_more(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    cluster.operator()
    cluster.add(pod("first"))
    await cluster.until(lambda: node_of(cluster.get(PODS, "first") or {}))
    cluster.add(podgroup("g", 1), *pods("g", 1))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    cluster.delete(PODS, "first")
    await cluster.until(lambda: cluster.condition("g").get("status") == "True", within_s=2)
    conditions = {c["type"]: c["reason"] for c in cluster.status("g")["conditions"]}
    assert "Unschedulable" not in conditions.values()
