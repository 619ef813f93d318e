"""How many members are needed, where it is the Job controller's doing: no gang waits for ever, no member starts alone.

What is needed is worked out in `gang.need` and tried there; here the Job controller plays its own part.
"""

import json
import signal
from functools import partial

import pytest
from tests.controlplane.cluster import GANG_JOBS, JOBS, PODS, Cluster, Object, gang_job, pod
from tests.controlplane.history import History
from tests.support.polling import eventually

from ganglift.playground.options import Component

pytestmark = pytest.mark.usefixtures("operator")

GROUP = "train-workers"
RUN_SECONDS, EXIT_CODE = "playground.ganglift.dev/run-seconds", "playground.ganglift.dev/exit-code"
INDEX = "batch.kubernetes.io/job-completion-index"


def running(cluster: Cluster, group: str = GROUP) -> list[Object]:
    pods = cluster.pods(group)
    return [one for one in pods if one["status"]["phase"] == "Running" and "deletionTimestamp" not in one["metadata"]]


def await_running(cluster: Cluster, count: int, group: str = GROUP) -> list[Object]:
    return eventually(partial(running, cluster, group), lambda pods: len(pods) == count, within_s=30)


def end(cluster: Cluster, member: Object, code: int = 0) -> None:
    """Let a pod end with that exit code."""
    notes = {RUN_SECONDS: "0", EXIT_CODE: str(code)}
    cluster.merge(f"{PODS}/{member['metadata']['name']}", {"metadata": {"annotations": notes}})


def await_need(cluster: Cluster, need: int, group: str = GROUP) -> None:
    eventually(lambda: cluster.group(group)["status"].get("need", 0), lambda found: found == need, within_s=15)


def await_end(cluster: Cluster, kind: str) -> None:
    def conditions() -> list[Object]:
        return [c for c in cluster.job("train").get("status", {}).get("conditions", []) if c["status"] == "True"]

    eventually(conditions, lambda found: kind in [c["type"] for c in found], within_s=30)


def index_of(member: Object) -> str:
    return str(member["metadata"]["annotations"][INDEX])


def test_index_that_failed_for_good_is_waited_for_no_more(cluster: Cluster) -> None:
    cluster.add_gpu_nodes(2)
    job = gang_job("train", 2, completions=3, completionMode="Indexed", backoffLimitPerIndex=0)
    cluster.create(GANG_JOBS, job)
    first = await_running(cluster, 2)
    end(cluster, first[0], code=1)
    end(cluster, first[1])
    await_need(cluster, 1)
    (last,) = await_running(cluster, 1)
    assert index_of(last) == "2"
    end(cluster, last)
    await_end(cluster, "Failed")
    assert cluster.job("train")["status"]["succeeded"] == 2


def test_workers_of_a_queue_go_on_after_the_first_success(cluster: Cluster) -> None:
    cluster.add_gpu_nodes(3)
    cluster.create(GANG_JOBS, gang_job("train", 3, completions=None))
    first = await_running(cluster, 3)
    end(cluster, first[0])
    await_need(cluster, 2)
    cluster.await_reason(GROUP, "Scheduled")
    for member in first[1:]:
        end(cluster, member)
    await_end(cluster, "Complete")


def test_nobody_starts_once_the_job_has_succeeded_by_its_own_policy(cluster: Cluster, history: History) -> None:
    cluster.add_gpu_nodes(2)
    policy = {"rules": [{"succeededIndexes": "0"}]}
    cluster.create(GANG_JOBS, gang_job("train", 2, completions=4, completionMode="Indexed", successPolicy=policy))
    leader = next(one for one in await_running(cluster, 2) if index_of(one) == "0")
    end(cluster, leader)
    await_end(cluster, "Complete")
    cluster.await_reason(GROUP, "Succeeded")
    assert cluster.group(GROUP)["status"].get("need", 0) == 0
    history.catch_up()
    assert sum(life.was_ungated for life in history.lives(GROUP)) == 2


def test_replacement_that_comes_only_when_the_old_pod_is_gone_is_explained(cluster: Cluster) -> None:
    cluster.add_gpu_nodes(2)
    job = gang_job("train", 2, podReplacementPolicy="Failed")
    job["spec"]["template"]["metadata"] = {"annotations": {"playground.ganglift.dev/stop-seconds": "2"}}
    job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 30
    cluster.create(GANG_JOBS, job)
    gone = await_running(cluster, 2)[0]
    cluster.delete(f"{PODS}/{gone['metadata']['name']}")
    message = cluster.await_reason(GROUP, "WaitingForMembers")["message"]
    assert f"being deleted: {gone['metadata']['name']} on {gone['spec']['nodeName']}" in message
    cluster.await_reason(GROUP, "Scheduled", within_s=30)
    assert len(cluster.bound(GROUP)) == 2


def test_adopted_job_with_less_parallelism_than_its_minimum_does_not_wait(cluster: Cluster) -> None:
    asks = json.dumps({"schedulingPolicy": {"gang": {"minCount": 3}}})
    spec = {"parallelism": 3, "completions": 3, "suspend": True, "template": {"spec": pod("x")["spec"]}}
    metadata = {"name": "plain", "annotations": {"scheduling.ganglift.dev/scheduling": asks}}
    cluster.add_gpu_nodes(2)
    cluster.create(JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})
    cluster.await_reason("plain", "Unschedulable")
    cluster.merge(f"{JOBS}/plain", {"spec": {"parallelism": 2}})
    for member in await_running(cluster, 2, "plain"):
        end(cluster, member)
    (last,) = await_running(cluster, 1, "plain")
    end(cluster, last)
    cluster.await_reason("plain", "Succeeded", within_s=30)


@pytest.mark.parametrize("mode", ["Indexed", "NonIndexed"])
def test_success_that_the_jobs_status_does_not_show_yet_is_counted_and_counted_once(
    cluster: Cluster, mode: str
) -> None:
    cluster.add_gpu_nodes(3)
    cluster.create(GANG_JOBS, gang_job("train", 3, completionMode=mode))
    members = await_running(cluster, 3)
    cluster.playground.signal(Component.CONTROLLER_MANAGER, signal.SIGSTOP)
    try:
        end(cluster, members[0])
        await_need(cluster, 2)
        assert cluster.get(f"{JOBS}/train")["status"].get("succeeded", 0) == 0
    finally:
        cluster.playground.signal(Component.CONTROLLER_MANAGER, signal.SIGCONT)
    eventually(lambda: cluster.get(f"{JOBS}/train")["status"].get("succeeded", 0), lambda n: n == 1, within_s=15)
    cluster.await_reason(GROUP, "Scheduled")
    assert cluster.group(GROUP)["status"]["need"] == 2
