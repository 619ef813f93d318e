"""batch/v1 Jobs adopted by annotation, and groups split by a label, on a real control plane."""

import json

import pytest
import yaml
from tests.controlplane.cluster import JOBS, POD_GROUPS, PODS, Cluster, Object, pod, pod_group
from tests.controlplane.playgrounds import on_both_versions
from tests.docs.markdown import DOCS, blocks
from tests.support.polling import eventually

pytestmark = pytest.mark.usefixtures("operator")

ASKS = {"schedulingPolicy": {"gang": {}}}


def batch_job(name: str, parallelism: int, **spec: object) -> Object:
    """A batch/v1 Job that asks to be a gang."""
    annotations = {"scheduling.ganglift.dev/scheduling": json.dumps(ASKS)}
    template = {"spec": pod("x")["spec"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"parallelism": parallelism, "completions": parallelism, "template": template, **spec},
    }


@on_both_versions
def test_suspended_job_is_adopted_and_starts_whole(cluster: Cluster) -> None:
    cluster.add_gpu_nodes(2)
    cluster.create(JOBS, batch_job("plain", 3, suspend=True))
    assert cluster.await_reason("plain", "Unschedulable")["message"].startswith("2 of 3 members fit")
    assert cluster.bound() == {}
    cluster.add_gpu_nodes(1)
    cluster.await_bound(3, "plain")


@on_both_versions
def test_suspension_of_an_adopted_job_is_its_users(cluster: Cluster) -> None:
    cluster.add_gpu_nodes(2)
    cluster.create(JOBS, batch_job("plain", 2, suspend=True))
    cluster.await_bound(2, "plain")
    cluster.merge(f"{JOBS}/plain", {"spec": {"suspend": True}})
    cluster.await_reason("plain", "Suspended")
    assert cluster.await_bound(0) == {}
    assert cluster.get(f"{JOBS}/plain")["spec"]["suspend"] is True
    cluster.merge(f"{JOBS}/plain", {"spec": {"suspend": False}})
    cluster.await_bound(2, "plain")


def test_job_that_is_not_suspended_is_left_alone_and_told_what_to_do(cluster: Cluster) -> None:
    cluster.add_gpu_nodes(1)
    cluster.create(JOBS, batch_job("plain", 2))
    events = eventually(
        lambda: [event for event in cluster.events("plain") if event["reason"] == "NotAdopted"], bool, within_s=15
    )
    assert "create it with spec.suspend true" in events[0]["message"]
    assert cluster.items(POD_GROUPS) == []
    cluster.await_bound(1)


@on_both_versions
def test_run_of_the_documented_cronjob_is_a_gang(cluster: Cluster) -> None:
    (cronjob,) = [
        manifest
        for block in blocks(DOCS / "concepts.md", "yaml")
        if (manifest := yaml.safe_load(block.text)).get("kind") == "CronJob"
    ]
    assert cluster.kubectl.apply(cronjob).is_ok
    try:
        assert cluster.kubectl.run("create", "job", "nightly-1", "--from=cronjob/nightly").is_ok
        cluster.await_reason("nightly-1", "Unschedulable")
        cluster.add_gpu_nodes(1)
        cluster.await_bound(4, "nightly-1")
    finally:
        cluster.kubectl.run("delete", "cronjob", "nightly")


def test_podgroup_goes_with_the_adopted_job(cluster: Cluster) -> None:
    cluster.create(JOBS, batch_job("plain", 2, suspend=True))
    cluster.await_reason("plain", "Unschedulable")
    cluster.delete(f"{JOBS}/plain")
    eventually(lambda: cluster.items(POD_GROUPS), lambda groups: not groups, within_s=30)


def test_a6_replicas_split_by_a_label_start_whole_or_not_at_all(cluster: Cluster) -> None:
    cluster.add_gpu_nodes(4)
    group = pod_group("lws", 2)
    group["metadata"]["annotations"] = {"scheduling.ganglift.dev/group-by": "replica"}
    cluster.create(POD_GROUPS, group)
    for replica in range(3):
        for number in range(2):
            body = pod(f"r{replica}-{number}", group="lws")
            body["metadata"]["labels"]["replica"] = str(replica)
            cluster.create(PODS, body)
    bound = cluster.await_bound(4)
    whole = {name.partition("-")[0] for name in bound}
    assert len(whole) == 2
    (waits,) = {"r0", "r1", "r2"} - whole
    cluster.await_reason(f"lws-{waits[1]}", "Unschedulable")
    assert set(cluster.bound()) == set(bound)
    assert cluster.condition("lws")["reason"] == "Split"
