"""The life of Jobs on a real control plane: finished members, suspension, deadlines, ttl, what users delete."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from tests.controlplane.cluster import GANG_JOBS, JOBS, POD_GROUPS, PODS, Cluster, Object, gang_job, pod
from tests.controlplane.operator import OperatorProcess
from tests.controlplane.playgrounds import on_both_versions
from tests.support.polling import eventually

pytestmark = pytest.mark.usefixtures("operator")

GROUP = "train-workers"
RUN_SECONDS = "playground.ganglift.dev/run-seconds"


@pytest.fixture
def running(cluster: Cluster, operator: OperatorProcess) -> Cluster:
    """An Indexed Job of three, all needed, that runs on three nodes."""
    cluster.add_gpu_nodes(3)
    cluster.create(GANG_JOBS, gang_job("train", 3, completionMode="Indexed"))
    cluster.await_bound(3, GROUP)
    cluster.await_reason(GROUP, "Scheduled")
    return cluster


def ending_job(name: str, parallelism: int, **spec: object) -> Object:
    """A Job whose pods end well at once."""
    body = gang_job(name, parallelism, **spec)
    body["spec"]["template"]["metadata"] = {"annotations": {RUN_SECONDS: "0"}}
    return body


def bound_of_index(cluster: Cluster, index: int) -> list[str]:
    """Names of the live, bound pods of a completion index."""
    return [
        pod["metadata"]["name"]
        for pod in cluster.pods(GROUP)
        if pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] == str(index)
        and pod["spec"].get("nodeName")
        and pod["status"]["phase"] in ("Pending", "Running")
        and "deletionTimestamp" not in pod["metadata"]
    ]


def pod_of_index(cluster: Cluster, index: int, *, other_than: str = "") -> str:
    """Wait for the pod of a completion index to be bound; return its name."""
    (name,) = eventually(
        lambda: bound_of_index(cluster, index), lambda names: len(names) == 1 and names != [other_than], within_s=30
    )
    return name


def end_well(cluster: Cluster, name: str) -> None:
    cluster.merge(f"{PODS}/{name}", {"metadata": {"annotations": {RUN_SECONDS: "0"}}})


def job_condition(cluster: Cluster, kind: str, name: str = "train") -> Object:
    conditions = cluster.job(name).get("status", {}).get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == kind), {})


def await_job(cluster: Cluster, kind: str, name: str = "train") -> Object:
    """Wait for a condition of our Job to be True."""
    return eventually(
        lambda: job_condition(cluster, kind, name), lambda found: found.get("status") == "True", within_s=30
    )


@on_both_versions
def test_f1_replacement_starts_though_another_index_has_completed(running: Cluster) -> None:
    end_well(running, pod_of_index(running, 0))
    eventually(lambda: running.job("train")["status"]["succeeded"], lambda count: count == 1, within_s=15)
    lost = pod_of_index(running, 1)
    running.delete(f"{PODS}/{lost}?gracePeriodSeconds=0")
    end_well(running, pod_of_index(running, 1, other_than=lost))
    end_well(running, pod_of_index(running, 2))
    await_job(running, "Complete")


def test_kubectl_wait_sees_our_job_complete(cluster: Cluster) -> None:
    cluster.add_gpu_nodes(2)
    cluster.create(GANG_JOBS, ending_job("train", 2))
    answer = cluster.kubectl.run("wait", "--for=condition=complete", "--timeout=20s", "gjob/train")
    assert answer.is_ok, answer.words


@on_both_versions
def test_ttl_takes_all_that_was_made_for_the_job(cluster: Cluster) -> None:
    cluster.add_gpu_nodes(2)
    cluster.create(GANG_JOBS, ending_job("train", 2, ttlSecondsAfterFinished=0))
    paths = (GANG_JOBS, JOBS, POD_GROUPS)
    eventually(lambda: cluster.items(GANG_JOBS), lambda left: not left, within_s=30)
    eventually(lambda: [cluster.items(path) for path in paths], lambda left: not any(left), within_s=30)


def test_h9_suspension_frees_the_room_and_a_resumed_gang_waits_whole(running: Cluster) -> None:
    running.merge(f"{GANG_JOBS}/train", {"spec": {"suspend": True}})
    running.await_bound(0, GROUP)
    assert running.await_reason(GROUP, "Suspended")["message"] == "gjob/train has spec.suspend: true"
    running.create(GANG_JOBS, gang_job("other", 2))
    running.await_bound(2, "other-workers")
    running.merge(f"{GANG_JOBS}/train", {"spec": {"suspend": False}})
    running.await_reason(GROUP, "Unschedulable")
    assert running.bound(GROUP) == {}
    running.delete(f"{GANG_JOBS}/other")
    running.await_bound(3, GROUP)


@on_both_versions
def test_h12_deadline_counts_from_when_the_gang_is_scheduled(cluster: Cluster) -> None:
    cluster.create(GANG_JOBS, gang_job("train", 2, activeDeadlineSeconds=3600))
    cluster.await_reason(GROUP, "Unschedulable")
    child = cluster.get(f"{JOBS}/train")
    assert "activeDeadlineSeconds" not in child["spec"]
    waits_since = datetime.fromisoformat(child["status"]["startTime"])
    eventually(lambda: datetime.now(UTC) - waits_since, lambda waited: waited.total_seconds() > 3, within_s=10)
    cluster.add_gpu_nodes(2)
    starts_at = datetime.fromisoformat(cluster.await_reason(GROUP, "Scheduled")["lastTransitionTime"])
    deadline = eventually(
        lambda: cluster.get(f"{JOBS}/train")["spec"].get("activeDeadlineSeconds"), lambda found: found, within_s=15
    )
    waited_s = (starts_at - waits_since).total_seconds()
    assert waited_s >= 3
    assert deadline == pytest.approx(3600 + waited_s, abs=1)


def test_child_that_is_deleted_fails_the_job_and_is_not_run_again(running: Cluster) -> None:
    running.delete(f"{JOBS}/train")
    assert await_job(running, "Failed")["reason"] == "ChildDeleted"
    assert running.items(JOBS) == []


def test_podgroup_that_a_user_deletes_is_made_again_and_counts_as_scheduled(running: Cluster) -> None:
    old = running.group(GROUP)["metadata"]["uid"]
    running.delete(f"{POD_GROUPS}/{GROUP}")
    eventually(
        lambda: [group["metadata"]["uid"] for group in running.items(POD_GROUPS)],
        lambda uids: len(uids) == 1 and uids != [old],
        within_s=30,
    )
    running.await_reason(GROUP, "Scheduled")
    assert running.condition(GROUP, "PodGroupInitiallyScheduled")["status"] == "True"
    assert len(running.bound(GROUP)) == 3


def test_p1_longest_name_works(cluster: Cluster) -> None:
    name = "j" * 63
    cluster.add_gpu_nodes(2)
    cluster.create(GANG_JOBS, gang_job(name, 2))
    cluster.await_bound(2)
    (group,) = cluster.items(POD_GROUPS)
    assert len(group["metadata"]["name"]) <= 63
    assert group["metadata"]["annotations"]["scheduling.ganglift.dev/full-name"] == f"{name}-workers"


def test_r18_helper_job_that_inherited_label_and_gate_runs(running: Cluster) -> None:
    running.add_gpu_nodes(1)
    eventually(lambda: running.group(GROUP)["status"].get("childUID"), bool, within_s=15)
    helper = pod("helper", group=GROUP)
    template = {"metadata": {"labels": helper["metadata"]["labels"]}, "spec": helper["spec"]}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "helper"}, "spec": {"template": template}}
    running.create(JOBS, body)
    eventually(
        lambda: [name for name in running.bound(GROUP) if name.startswith("helper")],
        lambda names: len(names) == 1,
        within_s=15,
    )
    assert running.group(GROUP)["status"]["members"] == 3


class TestQuota:
    """ResourceQuotas count gated pods."""

    @pytest.fixture(autouse=True)
    def quota(self, cluster: Cluster) -> Iterator[None]:
        path = "/api/v1/namespaces/default/resourcequotas"
        body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "6"}}}
        cluster.create(path, body)
        yield
        cluster.delete(f"{path}/q")

    @on_both_versions
    def test_b5_two_gangs_run_one_after_the_other(self, cluster: Cluster) -> None:
        cluster.add_gpu_nodes(8)
        for name in ("one", "two"):
            cluster.create(GANG_JOBS, gang_job(name, 4))
        started = eventually(cluster.bound, lambda bound: len(bound) == 4, within_s=60)
        (first,) = {name.rpartition("-")[0] for name in started}
        second = "two" if first == "one" else "one"
        cluster.await_reason(f"{second}-workers", "WaitingForQuota", within_s=30)
        assert len(cluster.bound()) == 4
        cluster.delete(f"{GANG_JOBS}/{first}")
        cluster.await_bound(4, f"{second}-workers", within_s=60)

    def test_r38_second_gang_follows_when_the_first_has_ended(self, cluster: Cluster) -> None:
        cluster.add_gpu_nodes(8)
        for name in ("one", "two"):
            cluster.create(GANG_JOBS, ending_job(name, 4))
        for name in ("one", "two"):
            await_job(cluster, "Complete", name)
