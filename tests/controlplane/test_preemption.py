"""Preemption by a gang on the real kube-scheduler: whole gangs, few victims, room kept, budgets, Jobs unharmed."""

import time
from functools import partial

from tests.controlplane.cluster import (
    GANG_JOBS,
    JOBS,
    POD_GROUPS,
    PODS,
    Cluster,
    Object,
    gang_job,
    pod,
    pod_group,
)
from tests.controlplane.conftest import StartOperator
from tests.controlplane.history import History
from tests.controlplane.playgrounds import NEWEST, on, on_both_versions
from tests.controlplane.proxy import Proxy, Request
from tests.support.polling import eventually

STOP_SECONDS = "playground.ganglift.dev/stop-seconds"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
HIGH, PREEMPTOR = "gang-high", "plain-high"


def classes(cluster: Cluster) -> None:
    """`gang-high`, whose pods don't preempt by themselves, and `plain-high`, whose pods do; both of 1000."""
    cluster.ensure_priority_class(HIGH, 1000, preemptionPolicy="Never")
    cluster.ensure_priority_class(PREEMPTOR, 1000)


def low(name: str, on_node: str, *, gpus: int = 1, stops_s: int = 0) -> Object:
    body = pod(name, gpus=gpus, nodeName=on_node, terminationGracePeriodSeconds=stops_s + 5)
    body["metadata"]["annotations"] = {STOP_SECONDS: str(stops_s)}
    body["metadata"]["labels"] = {"app": name}
    return body


def make_gang(cluster: Cluster, name: str, size: int, *, gpus: int = 1, of: str = HIGH, **spec: object) -> None:
    cluster.create(POD_GROUPS, pod_group(name, size, **spec))
    cluster.create_all(PODS, [pod(f"{name}-{n}", group=name, gpus=gpus, priority_class=of) for n in range(size)])


def names(cluster: Cluster) -> set[str]:
    return {one["metadata"]["name"] for one in cluster.pods() if "deletionTimestamp" not in one["metadata"]}


def gated(cluster: Cluster, group: str) -> list[Object]:
    return [one for one in cluster.pods(group) if one["spec"].get("schedulingGates")]


def until_running(cluster: Cluster, *wanted: str) -> None:
    for name in wanted:
        eventually(partial(cluster.get, f"{PODS}/{name}"), lambda one: one["status"]["phase"] == "Running", within_s=15)


@on_both_versions
def test_d5_one_low_pod_that_fills_the_node_gives_way_and_is_told_for_whom(
    cluster: Cluster, start_operator: StartOperator
) -> None:
    classes(cluster)
    (node,) = cluster.add_gpu_nodes(1, gpus=8)
    cluster.create(PODS, low("a", node, gpus=8))
    until_running(cluster, "a")
    start_operator(cluster)
    make_gang(cluster, "train", 2, gpus=2)
    cluster.await_bound(2, "train")
    assert "a" not in names(cluster)
    said = eventually(
        lambda: cluster.events("a"), lambda events: any(e["reason"] == "Preempted" for e in events), within_s=10
    )
    (event,) = [e for e in said if e["reason"] == "Preempted"]
    assert event["message"] == "evicted so that gang default/train of priority 1000 fits"


@on_both_versions
def test_c4_a_gang_of_sixteen_of_higher_priority_evicts_as_many_as_it_needs(
    cluster: Cluster, history: History, start_operator: StartOperator
) -> None:
    classes(cluster)
    nodes = cluster.add_gpu_nodes(5, gpus=8)
    cluster.create_all(PODS, [low(f"low-{n}-{i}", node) for n, node in enumerate(nodes) for i in range(8)])
    cluster.await_bound(40)
    start_operator(cluster)
    make_gang(cluster, "big", 16, gpus=2)
    cluster.await_bound(16, "big", within_s=30)
    assert sum(name.startswith("low-") for name in names(cluster)) == 8
    history.catch_up()
    assert [life.name for life in history.lives("big") if life.troubles and life.gone_at] == []


@on(newest=NEWEST)
def test_d3_nobody_is_evicted_where_the_whole_gang_would_still_not_fit(
    cluster: Cluster, start_operator: StartOperator
) -> None:
    classes(cluster)
    first, second = cluster.add_gpu_nodes(2, gpus=2)
    bodies = [low("a", first), low("b", first), low("c", second)]
    cluster.create_all(PODS, [*bodies, pod("equal", nodeName=second, priority_class=HIGH)])
    cluster.await_bound(4)
    start_operator(cluster)
    make_gang(cluster, "train", 4)
    cluster.await_reason("train", "Unschedulable")
    until = time.monotonic() + 6
    while time.monotonic() < until:
        assert {"a", "b", "c", "equal"} <= names(cluster)
        time.sleep(0.3)


@on_both_versions
def test_d7_room_of_the_quick_victim_is_kept_until_the_slow_one_is_gone(
    cluster: Cluster, history: History, start_operator: StartOperator
) -> None:
    classes(cluster)
    first, second = cluster.add_gpu_nodes(2)
    cluster.create_all(PODS, [low("quick", first), low("slow", second, stops_s=6)])
    until_running(cluster, "quick", "slow")
    start_operator(cluster)
    make_gang(cluster, "train", 2)
    eventually(lambda: names(cluster), lambda there: not there & {"quick", "slow"}, within_s=10)
    cluster.create_all(PODS, [pod("again"), pod("equal", priority_class=HIGH)])
    cluster.await_bound(2, "train", within_s=20)
    assert not {"again", "equal"} & cluster.bound().keys()


@on(newest=NEWEST)
def test_a_pod_under_a_disruption_budget_is_spared_where_another_will_do(
    cluster: Cluster, start_operator: StartOperator
) -> None:
    classes(cluster)
    first, second = cluster.add_gpu_nodes(2)
    cluster.create_all(PODS, [low("a", first), low("b", second)])
    until_running(cluster, "a", "b")
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    cluster.create(BUDGETS, {"metadata": {"name": "a"}, "spec": budget})
    try:
        start_operator(cluster)
        make_gang(cluster, "train", 1)
        cluster.await_bound(1, "train")
        assert "a" in names(cluster)
        make_gang(cluster, "more", 1)
        trouble = eventually(
            lambda: cluster.condition("more").get("message", ""), lambda text: "can't be evicted" in text, within_s=15
        )
        assert "disruption budget" in trouble
        assert "a" in names(cluster)
        cluster.delete(f"{BUDGETS}/a")
        cluster.await_bound(1, "more", within_s=45)
    finally:
        if cluster.exists(f"{BUDGETS}/a"):
            cluster.delete(f"{BUDGETS}/a")


@on_both_versions
def test_a_job_that_is_disrupted_as_one_comes_back_gated_and_nothing_is_counted(
    cluster: Cluster, start_operator: StartOperator
) -> None:
    classes(cluster)
    cluster.add_gpu_nodes(4)
    start_operator(cluster)
    whole: Object = {"disruptionMode": {"all": {}}}
    cluster.create(GANG_JOBS, gang_job("low", 4, scheduling=whole, backoffLimit=0))
    cluster.await_bound(4, "low-workers")
    make_gang(cluster, "train", 1)
    cluster.await_bound(1, "train")
    eventually(lambda: gated(cluster, "low-workers"), lambda pods: len(pods) == 4, within_s=15)
    assert not cluster.get(f"{JOBS}/low")["status"].get("failed")
    cluster.await_reason("low-workers", "Unschedulable")


@on(newest=NEWEST)
def test_r1_a_preemptor_takes_reserved_room_and_no_member_is_let_loose(
    cluster: Cluster, history: History, proxy: Proxy, start_operator: StartOperator
) -> None:
    classes(cluster)
    (first,) = cluster.add_gpu_nodes(1, gpus=2)
    cluster.add_gpu_nodes(1)
    cluster.create(PODS, low("low", first))
    until_running(cluster, "low")
    before_lift = proxy.hold(Request.is_dry_lift)
    start_operator(cluster, through=proxy)
    cluster.create(POD_GROUPS, pod_group("train", 2))
    cluster.create_all(PODS, [pod(f"train-{n}", group="train") for n in range(2)])
    before_lift.wait()
    selector = {"kubernetes.io/hostname": first}
    cluster.create(PODS, pod("top", gpus=2, priority_class=PREEMPTOR, nodeSelector=selector))
    eventually(cluster.bound, lambda bound: "top" in bound, within_s=20)
    before_lift.release()
    assert "of 2 members fit" in cluster.await_reason("train", "Unschedulable")["message"]
    eventually(
        lambda: [p["status"].get("nominatedNodeName") for p in cluster.pods("train")], lambda n: not any(n), within_s=5
    )
    history.catch_up()
    assert [life.name for life in history.lives("train") if life.was_ungated] == []


@on(newest=NEWEST)
def test_r8_a_low_pod_that_slips_in_before_the_lift_goes_for_the_whole_gang_or_not_at_all(
    cluster: Cluster, history: History, proxy: Proxy, start_operator: StartOperator
) -> None:
    classes(cluster)
    first, second = cluster.add_gpu_nodes(2)
    before_lift = proxy.hold(Request.is_dry_lift)
    start_operator(cluster, through=proxy)
    make_gang(cluster, "train", 2, of=PREEMPTOR)
    before_lift.wait()
    cluster.create(PODS, low("low", second))
    before_lift.release()
    cluster.await_bound(2, "train", within_s=30)
    assert "low" not in names(cluster)
    history.catch_up()
    assert [life.name for life in history.lives("train") if life.gone_at] == []
    assert set(cluster.bound("train").values()) == {first, second}
