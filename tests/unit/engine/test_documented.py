"""What docs/concepts.md says of its manifests is what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from tests.docs.markdown import DOCS, blocks
from tests.fakes.apiserver.refusals import Obj
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import is_gated, pods

from ganglift.api.names import GROUP_BY
from ganglift.kube.resources import BATCH_JOBS, POD_GROUPS

MANIFESTS = {
    (manifest["kind"], manifest["metadata"]["name"]): manifest
    for block in blocks(DOCS / "concepts.md", "yaml")
    if "kind" in (manifest := yaml.safe_load(block.text))
}


def documented(kind: str, name: str) -> Obj:
    """The page's manifest, as kubectl sends it."""
    manifest: Obj = MANIFESTS[kind, name]
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": "default"}}


def run_of_the_cronjob() -> Obj:
    """The Job that the CronJob controller makes of the page's CronJob, but for its owner, which is not there."""
    template: dict[str, Any] = documented("CronJob", "nightly")["spec"]["jobTemplate"]
    metadata = {**template["metadata"], "name": "nightly-1", "namespace": "default"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]}


@pytest.mark.parametrize("job", [documented("Job", "training"), run_of_the_cronjob()], ids=["Job", "CronJob"])
async def test_annotated_job_is_adopted_and_starts_as_one(cluster: FakeCluster, job: Obj) -> None:
    name = job["metadata"]["name"]
    cluster.operator()
    cluster.add(job)
    await cluster.until(lambda: cluster.reason(name) == "Unschedulable")
    assert [is_gated(pod) for pod in cluster.pods(name)] == [True] * 4
    adopted = cluster.get(BATCH_JOBS, name)
    assert adopted is not None
    assert adopted["spec"]["suspend"] is False
    assert adopted["metadata"]["annotations"]["scheduling.ganglift.dev/adopted"] == name
    cluster.nodes(1)
    await cluster.until(lambda: cluster.bound(name) == 4)


async def test_group_by_makes_a_gang_of_each_value(cluster: FakeCluster) -> None:
    cluster.operator()
    group = documented("PodGroup", "inference")
    members = pods("inference", 8)
    for number, member in enumerate(members):
        member["metadata"]["labels"][group["metadata"]["annotations"][GROUP_BY]] = str(number // 4)
    cluster.add(group, *members)
    cluster.nodes(4)
    await cluster.until(
        lambda: {cluster.reason(f"inference-{part}") for part in (0, 1)} == {"Scheduled", "Unschedulable"}
    )
    await cluster.until(lambda: cluster.reason("inference") == "Split")
    assert cluster.bound("inference") == 4
    assert {found["metadata"]["name"] for found in cluster.all(POD_GROUPS)} == {
        "inference", "inference-0", "inference-1",
    }  # fmt: skip
