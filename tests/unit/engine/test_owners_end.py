"""What is said when a Job is deleted by its user, and when only what was made for it is."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import Operator
from tests.support.manifests import GPU, job

from ganglift.api.names import SCHEDULING
from ganglift.kube.resources import BATCH_JOBS, JOBS, POD_GROUPS, PODS, WORKLOADS, Resource


def adopted_job(name: str, parallelism: int) -> dict[str, Any]:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {GPU: "1"}, "limits": {GPU: "1"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    annotations = {SCHEDULING: '{"schedulingPolicy":{"gang":{}}}'}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"suspend": True, "parallelism": parallelism, "completions": parallelism, "template": template},
    }


async def running(cluster: FakeCluster, manifest: dict[str, Any], group: str) -> Operator:
    cluster.nodes(2)
    operator = cluster.operator()
    cluster.add(manifest)
    await cluster.until(lambda: (cluster.status(group).get("running"), cluster.reason(group)) == (2, "Scheduled"))
    return operator


@pytest.mark.parametrize(
    ("manifest", "group", "goes"),
    [
        (job("train", 2), "train-workers", (JOBS, BATCH_JOBS, WORKLOADS)),
        (job("train", 2), "train-workers", (JOBS, WORKLOADS, BATCH_JOBS)),
        (adopted_job("train", 2), "train", (BATCH_JOBS,)),
    ],
)
async def test_a_job_that_its_user_deletes_is_not_said_to_be_lost(
    cluster: FakeCluster, manifest: dict[str, Any], group: str, goes: tuple[Resource, ...]
) -> None:
    operator = await running(cluster, manifest, group)
    operator.announcer.said.clear()
    # The garbage collector takes what was made for it in any order, here the group last and late.
    cluster.core.collector.stopped = True
    for kind in goes:
        cluster.delete(kind, "train")
        await cluster.quiet(for_s=10)
    assert cluster.reason(group) == "Deleting"
    assert {reason for _, reason, _ in operator.announcer.said} <= {"Deleting"}
    cluster.core.collector.restart()
    await cluster.until(lambda: cluster.get(POD_GROUPS, group) is None)


async def test_a_child_that_is_deleted_under_its_job_is_told_of_both(cluster: FakeCluster) -> None:
    operator = await running(cluster, job("train", 2), "train-workers")
    cluster.delete(BATCH_JOBS, "train")
    await cluster.until(lambda: cluster.reason("train-workers") == "ChildDeleted")
    await cluster.quiet(for_s=30)
    assert operator.announcer.reasons("train") == ["ChildDeleted"]
    assert operator.announcer.reasons("train-workers")[-1] == "ChildDeleted"
    await operator.stop()
    again = cluster.operator()
    await again.synced()
    await cluster.quiet(for_s=30)
    assert cluster.reason("train-workers") == "ChildDeleted"
    assert again.announcer.said == []


async def test_an_adopted_jobs_group_that_is_deleted_is_made_again_and_lets_replacements_start(
    cluster: FakeCluster,
) -> None:
    await running(cluster, adopted_job("train", 2), "train")
    cluster.delete(POD_GROUPS, "train")
    await cluster.until(lambda: cluster.reason("train") == "Scheduled", within_s=10)
    assert cluster.status("train")["scheduledTime"]
    cluster.delete(PODS, cluster.pods("train")[0]["metadata"]["name"])
    await cluster.until(lambda: cluster.status("train")["running"] < 2)
    await cluster.until(lambda: cluster.status("train")["running"] == 2, within_s=60)
