"""A gang that was whole loses a member on a real control plane."""

from functools import partial

import pytest
from tests.controlplane.cluster import GANG_JOBS, JOBS, NODES, PODS, Cluster, gang_job
from tests.controlplane.history import History
from tests.support.polling import eventually

pytestmark = pytest.mark.usefixtures("operator")

GROUP = "train-workers"


def test_gang_disrupted_as_one_is_degraded_within_seconds_and_starts_anew_whole_and_once(
    cluster: Cluster, history: History
) -> None:
    cluster.add_gpu_nodes(3)
    cluster.create(GANG_JOBS, gang_job("train", 3, scheduling={"disruptionMode": {"all": {}}}))
    first = cluster.await_bound(3, GROUP)
    cluster.await_reason(GROUP, "Scheduled")
    lost, node = next(iter(first.items()))
    cluster.merge(f"{NODES}/{node}", {"spec": {"unschedulable": True}})
    cluster.delete(f"{PODS}/{lost}?gracePeriodSeconds=0")
    eventually(partial(cluster.condition, GROUP, "Degraded"), lambda found: found.get("status") == "True", within_s=10)
    eventually(lambda: set(cluster.bound()), lambda left: not left, within_s=10)
    assert cluster.get(f"{JOBS}/train")["status"].get("failed", 0) == 1
    cluster.merge(f"{NODES}/{node}", {"spec": {"unschedulable": None}})
    anew = cluster.await_bound(3, GROUP, within_s=20)
    cluster.await_reason(GROUP, "Scheduled")
    assert not anew.keys() & first.keys()
    assert cluster.condition(GROUP, "Degraded")["status"] == "False"
    history.catch_up()
    assert {life.name for life in history.lives(GROUP) if life.was_ungated} == {*first, *anew}
