"""Room held on busy nodes by the real kube-scheduler: for a big gang against a stream, through restarts, not against
DaemonSets."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest
from tests.controlplane.cluster import NODES, POD_GROUPS, PODS, Cluster, Object, pod, pod_group
from tests.controlplane.conftest import StartOperator
from tests.controlplane.playgrounds import NEWEST, OLDEST, on, on_both_versions
from tests.support.polling import eventually

from ganglift.api.names import REASSERTED
from ganglift.playground.options import Component

RUN_SECONDS = "playground.ganglift.dev/run-seconds"
DAEMON_SETS = "/apis/apps/v1/namespaces/default/daemonsets"
SMALL_S = 8
"""How long a pod of the stream runs."""
HOLD_AFTER_S = 3
BOUND_S = HOLD_AFTER_S + 2 * SMALL_S + 6
"""Within which a held gang must be in: its wait, twice what the longest pod runs, and what it takes to start."""


def running(name: str, on_node: str) -> Object:
    return pod(name, nodeName=on_node)


def end(cluster: Cluster, name: str) -> None:
    """Let a pod end by itself, now."""
    cluster.merge(f"{PODS}/{name}", {"metadata": {"annotations": {RUN_SECONDS: "0"}}})


def make_gang(cluster: Cluster, name: str, size: int, *, gpus: int = 1) -> None:
    cluster.create(POD_GROUPS, pod_group(name, size))
    cluster.create_all(PODS, [pod(f"{name}-{n}", group=name, gpus=gpus) for n in range(size)])


def held_nodes(cluster: Cluster, group: str) -> list[str]:
    pods = cluster.pods(group)
    return sorted(one["status"]["nominatedNodeName"] for one in pods if one["status"].get("nominatedNodeName"))


def notes_of(cluster: Cluster, group: str) -> list[dict[str, str]]:
    """The annotations of each member."""
    return [one["metadata"].get("annotations") or {} for one in cluster.pods(group)]


@contextmanager
def stream(cluster: Cluster) -> Iterator[None]:
    """Pods of one GPU without an end: twenty of them always wait, and each runs for a while."""
    over, number = threading.Event(), count()

    def flow() -> None:
        while not over.wait(0.2):
            waiting = sum(
                1 for one in cluster.pods() if one["metadata"]["name"].startswith("small-") and not _node(one)
            )
            for _ in range(20 - waiting):
                body = pod(f"small-{next(number)}")
                body["metadata"]["annotations"] = {RUN_SECONDS: str(SMALL_S)}
                cluster.create(PODS, body)

    thread = threading.Thread(target=flow)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _node(one: Object) -> str:
    return str(one["spec"].get("nodeName", ""))


def against_the_stream(cluster: Cluster) -> float:
    """Sixteen members of two GPUs come to four full nodes of eight; return the time."""
    eventually(lambda: sum(bool(_node(one)) for one in cluster.pods()), lambda bound: bound >= 32, within_s=30)
    make_gang(cluster, "big", 16, gpus=2)
    return time.monotonic()


@on_both_versions
def test_c4_a_gang_of_sixteen_gets_in_against_an_endless_stream_of_small_pods(
    cluster: Cluster, start_operator: StartOperator
) -> None:
    cluster.add_gpu_nodes(4, gpus=8)
    start_operator(cluster, "--hold-after", f"{HOLD_AFTER_S}s")
    with stream(cluster):
        since = against_the_stream(cluster)
        cluster.await_bound(16, "big", within_s=BOUND_S)
    print(f"in after {time.monotonic() - since:.1f} s of at most {BOUND_S} s")


@on(newest=NEWEST)
def test_c4_without_a_hold_it_does_not_get_in_meanwhile(cluster: Cluster, start_operator: StartOperator) -> None:
    cluster.add_gpu_nodes(4, gpus=8)
    start_operator(cluster, "--hold-after", "1h")
    with stream(cluster):
        since = against_the_stream(cluster)
        while time.monotonic() < since + BOUND_S:
            assert cluster.bound("big") == {}
            time.sleep(0.5)


@pytest.fixture
def held(cluster: Cluster, start_operator: StartOperator) -> Cluster:
    """Two full nodes held for a gang of two, and a pod of its priority that waits for the same room."""
    first, second = cluster.add_gpu_nodes(2)
    cluster.create(PODS, running("low-1", first))
    cluster.create(PODS, running("low-2", second))
    cluster.await_bound(2)
    start_operator(cluster, "--hold-after", "2s")
    make_gang(cluster, "train", 2)
    cluster.create(PODS, pod("rival"))
    message = cluster.await_reason("train", "Held")["message"]
    assert f"room is held on {first}, {second} until " in message
    eventually(lambda: held_nodes(cluster, "train"), lambda nodes: nodes == [first, second], within_s=5)
    return cluster


def rival_waits(cluster: Cluster, for_s: float) -> None:
    until = time.monotonic() + for_s
    while time.monotonic() < until:
        assert "rival" not in cluster.bound()
        time.sleep(0.2)


@on_both_versions
def test_c7_a_new_kube_scheduler_keeps_the_held_room_too(held: Cluster) -> None:
    held.playground.kill(Component.SCHEDULER)
    held.playground.start_component(Component.SCHEDULER)
    eventually(lambda: notes_of(held, "train"), lambda notes: all(REASSERTED in note for note in notes), within_s=60)
    end(held, "low-1")
    rival_waits(held, 4)
    end(held, "low-2")
    held.await_bound(2, "train")


@on(newest=NEWEST, oldest=OLDEST)
def test_a_hold_stands_while_no_operator_runs_and_a_new_one_goes_on_with_it(
    cluster: Cluster, start_operator: StartOperator
) -> None:
    first, second = cluster.add_gpu_nodes(2)
    cluster.create(PODS, running("low-1", first))
    cluster.create(PODS, running("low-2", second))
    cluster.await_bound(2)
    operator = start_operator(cluster, "--hold-after", "2s")
    make_gang(cluster, "train", 2)
    cluster.create(PODS, pod("rival"))
    until = cluster.await_reason("train", "Held")["message"].split(" until ")[1][:20]
    eventually(lambda: held_nodes(cluster, "train"), lambda nodes: nodes == [first, second], within_s=5)
    operator.kill()
    end(cluster, "low-1")
    rival_waits(cluster, 2)
    operator.start()
    rival_waits(cluster, 3)
    assert held_nodes(cluster, "train") == [first, second]
    assert until in cluster.await_reason("train", "Held")["message"]
    end(cluster, "low-2")
    cluster.await_bound(2, "train")


@on_both_versions
def test_r3_a_daemonset_pod_gets_its_node_and_the_gang_is_planned_anew(
    cluster: Cluster, start_operator: StartOperator
) -> None:
    (name,) = cluster.add_gpu_nodes(1, gpus=2)
    cluster.create(PODS, running("low", name))
    cluster.await_bound(1)
    start_operator(cluster, "--hold-after", "2s")
    make_gang(cluster, "train", 1, gpus=2)
    eventually(lambda: held_nodes(cluster, "train"), lambda nodes: nodes == [name], within_s=20)
    cluster.create(DAEMON_SETS, daemon_set("agent"))
    try:
        eventually(lambda: [n for n in cluster.bound() if n.startswith("agent-")], lambda n: len(n) == 1, within_s=20)
        eventually(lambda: held_nodes(cluster, "train"), lambda nodes: nodes == [], within_s=75)
        cluster.await_reason("train", "Unschedulable")
    finally:
        cluster.delete(f"{DAEMON_SETS}/agent")


@on(newest=NEWEST)
def test_held_room_on_a_node_that_vanishes_is_given_up_at_once(held: Cluster) -> None:
    gone = held_nodes(held, "train")[0]
    held.delete(f"{NODES}/{gone}")
    eventually(lambda: held_nodes(held, "train"), lambda nodes: gone not in nodes, within_s=2)


def daemon_set(name: str) -> Object:
    template = pod("x")
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {**template["spec"], "restartPolicy": "Always"},
            },
        },
    }
