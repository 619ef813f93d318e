"""Members are taken back on a real control plane: nothing is counted, nothing is run twice, nobody else is slowed.

It rests on how the Job controller behaves, and on no promise of the API: pods without its finalizer are never counted.
So each supported version has to show it.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tests.controlplane.cluster import GANG_JOBS, JOBS, PODS, Cluster, Object, gang_job, pod
from tests.controlplane.conftest import StartOperator
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.controlplane.playgrounds import on_both_versions
from tests.controlplane.proxy import Proxy, Request
from tests.support.polling import eventually

from ganglift.playground.options import Component

pytestmark = on_both_versions

RUN_SECONDS = "playground.ganglift.dev/run-seconds"
TAKEN_BACK = "scheduling.ganglift.dev/taken-back"
TIMEOUT = {"scheduleTimeoutSeconds": 2}


@contextmanager
def standing_still(cluster: Cluster, component: Component) -> Iterator[None]:
    cluster.playground.signal(component, signal.SIGSTOP)
    try:
        yield
    finally:
        cluster.playground.signal(component, signal.SIGCONT)


def is_gated(member: Object) -> bool:
    return bool(member["spec"].get("schedulingGates"))


def await_let_loose(cluster: Cluster, group: str, count: int) -> list[Object]:
    """Wait for so many members to be without a gate and a node; return them."""
    return eventually(
        lambda: [one for one in cluster.pods(group) if not (is_gated(one) or one["spec"].get("nodeName"))],
        lambda loose: len(loose) == count,
        within_s=30,
    )


def bind(cluster: Cluster, name: str, node: str) -> None:
    """Bind a pod past kube-scheduler."""
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
    cluster.create(f"{PODS}/{name}/binding", {**body, "target": {"kind": "Node", "name": node}})


def failed(cluster: Cluster, name: str) -> int:
    return int(cluster.get(f"{JOBS}/{name}")["status"].get("failed", 0))


def ends(cluster: Cluster, name: str) -> set[str]:
    """The conditions of a batch/v1 Job that are true."""
    conditions = cluster.get(f"{JOBS}/{name}")["status"].get("conditions", ())
    return {condition["type"] for condition in conditions if condition["status"] == "True"}


ON_143 = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [143]}}
JOBS_THAT_BEAR_NO_FAILURE: dict[str, Object] = {
    "no-retry": {"backoffLimit": 0},
    "per-index": {"backoffLimitPerIndex": 0, "completionMode": "Indexed"},
    "on-143": {"backoffLimit": 0, "podFailurePolicy": {"rules": [ON_143]}},
}


def test_no_failure_is_counted_whatever_a_job_says_of_failures_also_while_the_job_controller_is_away(
    cluster: Cluster, operator: OperatorProcess
) -> None:
    names = list(JOBS_THAT_BEAR_NO_FAILURE)
    cluster.add_gpu_nodes(2 * len(names))
    with standing_still(cluster, Component.SCHEDULER):
        for name, spec in JOBS_THAT_BEAR_NO_FAILURE.items():
            job = gang_job(name, 2, scheduling={"scheduleTimeoutSeconds": 5}, **spec)
            job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 30
            cluster.create(GANG_JOBS, job)
        for name in names:
            one, _ = await_let_loose(cluster, f"{name}-workers", 2)
            bind(cluster, one["metadata"]["name"], one["status"]["nominatedNodeName"])
        with standing_still(cluster, Component.CONTROLLER_MANAGER):
            eventually(cluster.pods, lambda left: not left, within_s=20)
        for name in names:
            eventually(partial(cluster.pods, f"{name}-workers"), lambda pods: len(pods) == 2, within_s=20)
        assert {name: failed(cluster, name) for name in names} == dict.fromkeys(names, 0)
        assert {name: ends(cluster, name) for name in names} == {name: set() for name in names}
    for name in names:
        cluster.await_bound(2, f"{name}-workers", within_s=30)
        for member in cluster.bound(f"{name}-workers"):
            cluster.merge(f"{PODS}/{member}", {"metadata": {"annotations": {RUN_SECONDS: "0"}}})
    for name in names:
        eventually(partial(ends, cluster, name), lambda found: "Complete" in found, within_s=30)
        assert cluster.get(f"{JOBS}/{name}")["status"]["succeeded"] == 2
        assert failed(cluster, name) == 0


def test_four_of_many_are_back_within_three_seconds_and_nobody_else_is_slowed(
    cluster: Cluster, operator: OperatorProcess, history: History, full: bool
) -> None:
    size = 200 if full else 40
    cluster.add_gpu_nodes(size // 8 + 1, gpus=8)
    job = gang_job("train", size - 4, scheduling=TIMEOUT, completions=size, backoffLimit=0)
    cluster.create(GANG_JOBS, job)
    stay = set(cluster.await_bound(size - 4, "train-workers", within_s=60))
    cluster.await_reason("train-workers", "Scheduled")
    with standing_still(cluster, Component.SCHEDULER):
        cluster.merge(f"{GANG_JOBS}/train", {"spec": {"parallelism": size}})
        going = {one["metadata"]["name"] for one in await_let_loose(cluster, "train-workers", 4)}
        begun = min(eventually(lambda: taken_back_at(history, going), bool, within_s=15))
        other = {"metadata": {"name": "other"}, "spec": {"parallelism": 10, "completions": 10}}
        template = {"template": {"spec": pod("x")["spec"]}}
        cluster.create(JOBS, {**other, "apiVersion": "batch/v1", "kind": "Job", "spec": other["spec"] | template})
        anew = eventually(lambda: made_at(history, "train-", stay | going), lambda made: len(made) == 4, within_s=3)
        others = eventually(lambda: made_at(history, "other-", set()), lambda made: len(made) == 10, within_s=3)
    print(
        f"4 of {size} taken back: all gated anew after {max(anew) - begun:.2f} s, "
        f"ten pods of another Job made {max(others) - begun:.2f} s after that began"
    )
    assert stay <= set(cluster.bound("train-workers"))
    assert failed(cluster, "train") == 0


def taken_back_at(history: History, names: set[str]) -> list[float]:
    """When members of these names were detached, as far as they have been."""
    marks = [
        [event.at for event in life.events if TAKEN_BACK in event.pod["metadata"].get("annotations", {})]
        for life in history.lives()
        if life.name in names
    ]
    return [min(times) for times in marks if times]


def made_at(history: History, prefix: str, but: set[str]) -> list[float]:
    """When pods whose names begin so were made, those of these names aside."""
    lives = [life for life in history.lives() if life.name.startswith(prefix) and life.name not in but]
    return [life.events[0].at for life in lives]


def test_user_may_suspend_the_job_meanwhile(cluster: Cluster, proxy: Proxy, start_operator: StartOperator) -> None:
    cluster.add_gpu_nodes(2)
    start_operator(cluster, through=proxy)
    deletions = proxy.hold(_is_deletion_of_member)
    with standing_still(cluster, Component.SCHEDULER):
        cluster.create(GANG_JOBS, gang_job("train", 2, scheduling=TIMEOUT, backoffLimit=0))
        deletions.wait(2, within_s=20)
        cluster.merge(f"{GANG_JOBS}/train", {"spec": {"suspend": True}})
        eventually(lambda: ends(cluster, "train"), lambda found: "Suspended" in found, within_s=15)
        deletions.release()
        eventually(lambda: cluster.pods("train-workers"), lambda left: not left, within_s=15)
    assert failed(cluster, "train") == 0
    cluster.await_reason("train-workers", "Suspended")
    cluster.merge(f"{GANG_JOBS}/train", {"spec": {"suspend": False}})
    cluster.await_bound(2, "train-workers", within_s=30)
    assert failed(cluster, "train") == 0


def _is_deletion_of_member(request: Request) -> bool:
    return request.method == "DELETE" and request.path.startswith(PODS)
