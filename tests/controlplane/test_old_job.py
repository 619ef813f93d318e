"""A Job is deleted and applied again at once, while its old gang still runs and takes its time to stop.

Old and new pods bear the same label in the same namespace, and for a while most of the old ones are not even deleted.
"""

import pytest
from tests.controlplane.cluster import GANG_JOBS, JOBS, Cluster, Object, gang_job
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.support.polling import eventually

SIZE = 32
GROUP = "train-workers"


def slow_to_stop() -> Object:
    """A Job whose pods take three seconds to stop."""
    job = gang_job("train", SIZE)
    template = job["spec"]["template"]
    template["metadata"] = {"annotations": {"playground.ganglift.dev/stop-seconds": "3"}}
    template["spec"]["terminationGracePeriodSeconds"] = 30
    return job


@pytest.fixture
def anew(cluster: Cluster, operator: OperatorProcess, history: History) -> str:
    """A Job of 32 on 32 GPUs, deleted while it runs and made again at once; the uid of the new one."""
    cluster.add_gpu_nodes(4, gpus=8)
    cluster.create(GANG_JOBS, slow_to_stop())
    cluster.await_bound(SIZE, GROUP, within_s=30)
    cluster.delete(f"{GANG_JOBS}/train")
    return str(cluster.create(GANG_JOBS, slow_to_stop())["metadata"]["uid"])


def await_child(cluster: Cluster, job_uid: str) -> str:
    """Wait for the child of that Job; return its uid."""

    def children() -> list[str]:
        return [
            child["metadata"]["uid"]
            for child in cluster.items(JOBS)
            if child["metadata"]["ownerReferences"][0]["uid"] == job_uid
        ]

    return eventually(children, bool, within_s=30)[0]


def test_new_gang_waits_until_the_old_one_is_gone_and_starts_whole(
    cluster: Cluster, history: History, anew: str
) -> None:
    child = await_child(cluster, anew)
    eventually(lambda: held_by(history, child), lambda held: held == SIZE, within_s=60)
    history.catch_up()
    lives = history.lives(GROUP)
    old = [life for life in lives if life.owner != child and life.was_bound]
    first = min(life.ungated_at for life in lives if life.owner == child and life.ungated_at is not None)
    assert len(old) == SIZE
    assert max(life.gone_at or float("inf") for life in old) < first


def held_by(history: History, child: str) -> int:
    """How many pods of a child hold a place."""
    return sum(1 for life in history.lives(GROUP) if life.owner == child and life.holds_place)


def test_new_group_counts_none_of_the_old_pods(cluster: Cluster, history: History, anew: str) -> None:
    child = await_child(cluster, anew)
    seen: list[tuple[int, int]] = []

    def look() -> int:
        held = held_by(history, child)
        status = cluster.group(GROUP).get("status", {})
        seen.append((held, int(status.get("scheduled", 0))))
        return held

    eventually(look, lambda held: held == SIZE, within_s=60)
    assert seen[0][0] == 0
    assert {counted for held, counted in seen if held == 0} == {0}


def test_job_says_that_it_waits_for_the_old_one(cluster: Cluster, anew: str) -> None:
    def reasons() -> set[str]:
        return {each["reason"] for each in cluster.events("train") if of(each) == anew}

    assert "WaitingForOldJob" in eventually(reasons, lambda found: "WaitingForOldJob" in found, within_s=15)


def of(event: Object) -> str:
    """The uid of the object that an event is about."""
    return str(event["involvedObject"]["uid"])
