"""What ganglift builds on and Kubernetes doesn't promise, per version: any change upstream must fail here first.

KEP-5278 tolerates a `nominatedNodeName` that someone else writes; nothing is promised for pods that are still gated. So
each thing that the admission protocol relies on is tried on every supported minor, also with SchedulerAsyncAPICalls on.
Where minors differ, EXPECTED says how.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.controlplane import chart
from tests.controlplane.cluster import GANG_JOBS, PODS, Cluster, Object, gang_job, pod
from tests.controlplane.conftest import StartCluster, StartOperator
from tests.controlplane.history import History
from tests.controlplane.playgrounds import NEWEST, NEWEST_ASYNC, OLDEST, OLDEST_ASYNC
from tests.controlplane.proxy import Proxy, Request
from tests.support.polling import eventually

from ganglift.api.names import GATE
from ganglift.engine.fence import fence_pod
from ganglift.playground.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from ganglift.playground.options import Component, PlaygroundOptions

HIGH, PATIENT = "high", "patient"
GROUP = "train-workers"
FOREIGN_GATE = "example.com/other"


@dataclass(frozen=True)
class Expected:
    """How a minor does what differs between minors."""

    survives_restart: bool
    """A restarted kube-scheduler counts the nominations of gated pods that were there before it."""
    is_cleared_at_bind: bool
    is_refused_once_bound: bool
    """The API server refuses a nomination of a bound pod."""


EXPECTED = {
    "1.37": Expected(survives_restart=True, is_cleared_at_bind=True, is_refused_once_bound=True),
    "1.34": Expected(survives_restart=False, is_cleared_at_bind=False, is_refused_once_bound=False),
}
PLAYGROUNDS = {"newest": NEWEST, "oldest": OLDEST, "newest_async": NEWEST_ASYNC, "oldest_async": OLDEST_ASYNC}


@pytest.fixture(scope="module", params=PLAYGROUNDS.values(), ids=list(PLAYGROUNDS))
def options(request: pytest.FixtureRequest) -> PlaygroundOptions:
    """One playground after the other, all tests on each: they are slow to start."""
    chosen: PlaygroundOptions = request.param
    return chosen


@pytest.fixture
def cluster(control_plane: StartCluster, options: PlaygroundOptions) -> Cluster:
    made = control_plane(options)
    made.ensure_priority_class(HIGH, 1000)
    made.ensure_priority_class(PATIENT, 0, preemptionPolicy="Never")
    return made


@pytest.fixture
def expected(options: PlaygroundOptions) -> Expected:
    return EXPECTED[f"{options.kubernetes.major}.{options.kubernetes.minor}"]


def nominate(cluster: Cluster, name: str, node: str) -> None:
    cluster.merge(f"{PODS}/{name}/status", nomination(node))


def nomination(node: str) -> Object:
    return {"status": {"nominatedNodeName": node}}


def lift(cluster: Cluster, name: str) -> None:
    client = cluster.playground.client
    client.patch(f"{PODS}/{name}", removal_of_gate(uid_of(cluster, name)), content_type=STRATEGIC_MERGE_PATCH)


def removal_of_gate(uid: str) -> Object:
    return {"metadata": {"uid": uid}, "spec": {"schedulingGates": [{"$patch": "delete", "name": GATE}]}}


def uid_of(cluster: Cluster, name: str) -> str:
    return str(cluster.get(f"{PODS}/{name}")["metadata"]["uid"])


def nominated_node(cluster: Cluster, name: str) -> str:
    return str(cluster.get(f"{PODS}/{name}")["status"].get("nominatedNodeName", ""))


def gates(cluster: Cluster, name: str) -> list[str]:
    return [gate["name"] for gate in cluster.get(f"{PODS}/{name}")["spec"].get("schedulingGates", ())]


def refusal_of(cluster: Cluster, path: str) -> str:
    """Why kube-scheduler found no node for a pod, in its words; empty while it has not said so."""
    conditions = cluster.get(path)["status"].get("conditions", ())
    scheduled: Object = next((c for c in conditions if c["type"] == "PodScheduled"), {})
    return str(scheduled["message"]) if scheduled.get("reason") == "Unschedulable" else ""


def await_refusal(cluster: Cluster, name: str) -> str:
    return eventually(lambda: refusal_of(cluster, f"{PODS}/{name}"), bool, within_s=15)


def is_refused(cluster: Cluster, name: str) -> bool:
    """Wait until kube-scheduler has bound or refused a pod; return which."""
    path = f"{PODS}/{name}"
    return eventually(lambda: (name in cluster.bound(), bool(refusal_of(cluster, path))), any, within_s=15)[1]


@pytest.fixture
def node(cluster: Cluster) -> str:
    """The only node, of one GPU, kept for the gated pod `member`."""
    (name,) = cluster.add_gpu_nodes(1)
    cluster.create(PODS, pod("member", is_gated=True))
    nominate(cluster, "member", name)
    return name


# Nominations of gated pods


def test_nomination_of_a_gated_pod_keeps_the_room_from_a_pod_of_equal_priority(cluster: Cluster, node: str) -> None:
    cluster.create(PODS, pod("rival"))
    assert "Insufficient nvidia.com/gpu" in await_refusal(cluster, "rival")
    assert nominated_node(cluster, "member") == node


def test_pod_of_higher_priority_takes_nominated_room(cluster: Cluster, node: str) -> None:
    cluster.create(PODS, pod("urgent", priority_class=HIGH))
    assert cluster.await_bound(1) == {"urgent": node}


def test_nomination_keeps_room_that_is_not_free_yet(cluster: Cluster) -> None:
    (name,) = cluster.add_gpu_nodes(1)
    cluster.create(PODS, pod("first"))
    cluster.await_bound(1)
    cluster.create(PODS, pod("member", is_gated=True))
    nominate(cluster, "member", name)
    cluster.create(PODS, pod("rival"))
    await_refusal(cluster, "rival")
    cluster.delete(f"{PODS}/first?gracePeriodSeconds=0")
    lift(cluster, "member")
    eventually(cluster.bound, lambda bound: bound == {"member": name}, within_s=15)


def test_gated_pods_nomination_outlives_a_restart_of_kube_scheduler(
    cluster: Cluster, node: str, expected: Expected
) -> None:
    cluster.playground.restart(Component.SCHEDULER)
    cluster.create(PODS, pod("rival"))
    assert is_refused(cluster, "rival") is expected.survives_restart


def test_nomination_counts_again_after_a_restart_once_the_pod_has_changed(cluster: Cluster, node: str) -> None:
    cluster.playground.restart(Component.SCHEDULER)
    cluster.merge(f"{PODS}/member", {"metadata": {"annotations": {"example.com/touched": "1"}}})
    cluster.create(PODS, pod("rival"))
    assert is_refused(cluster, "rival")


# After the lift


def test_lifted_pod_goes_to_its_nominated_node(cluster: Cluster, expected: Expected) -> None:
    node = cluster.add_gpu_nodes(5)[3]
    cluster.create(PODS, pod("member", is_gated=True))
    nominate(cluster, "member", node)
    lift(cluster, "member")
    assert cluster.await_bound(1) == {"member": node}
    assert nominated_node(cluster, "member") == ("" if expected.is_cleared_at_bind else node)


@pytest.mark.parametrize(("member_class", "stays"), [(None, False), (PATIENT, True)])
def test_refused_pod_keeps_its_nomination_only_if_it_may_not_preempt(
    cluster: Cluster, member_class: str | None, stays: bool
) -> None:
    (node,) = cluster.add_gpu_nodes(1)
    cluster.create(PODS, pod("member", is_gated=True, priority_class=member_class))
    nominate(cluster, "member", node)
    cluster.create(PODS, pod("urgent", priority_class=HIGH))
    cluster.await_bound(1)
    lift(cluster, "member")
    await_refusal(cluster, "member")
    eventually(lambda: nominated_node(cluster, "member"), lambda kept: kept == (node if stays else ""), within_s=5)


def test_nomination_of_a_bound_pod_is_refused(cluster: Cluster, expected: Expected) -> None:
    (node,) = cluster.add_gpu_nodes(1)
    cluster.create(PODS, pod("bound"))
    cluster.await_bound(1)
    words = cluster.refusal("PATCH", f"{PODS}/bound/status", nomination(node), content_type=MERGE_PATCH)
    assert bool(words) is expected.is_refused_once_bound


# The patch that lifts


def test_lift_under_another_uid_is_refused_and_changes_nothing(cluster: Cluster) -> None:
    cluster.create(PODS, pod("member", is_gated=True))
    patch = removal_of_gate("00000000-0000-0000-0000-000000000000")
    assert "422" in cluster.refusal("PATCH", f"{PODS}/member", patch, content_type=STRATEGIC_MERGE_PATCH)
    assert gates(cluster, "member") == [GATE]


def test_lift_leaves_foreign_gates_and_may_be_repeated(cluster: Cluster) -> None:
    cluster.create(PODS, pod("member", is_gated=True, gates=[FOREIGN_GATE]))
    lift(cluster, "member")
    lift(cluster, "member")
    assert gates(cluster, "member") == [FOREIGN_GATE]


def test_dry_run_of_a_lift_changes_nothing(cluster: Cluster) -> None:
    cluster.create(PODS, pod("member", is_gated=True))
    patch, path = removal_of_gate(uid_of(cluster, "member")), f"{PODS}/member?dryRun=All"
    assert cluster.refusal("PATCH", path, patch, content_type=STRATEGIC_MERGE_PATCH) == ""
    assert gates(cluster, "member") == [GATE]


# The fence


def test_fence_is_answered_with_unschedulable(cluster: Cluster) -> None:
    chart.install(cluster.playground)
    cluster.add_gpu_nodes(1)
    pods = f"/api/v1/namespaces/{chart.NAMESPACE}/pods"
    cluster.create(pods, fence_pod(chart.NAMESPACE, "fence-canary"))
    eventually(lambda: refusal_of(cluster, f"{pods}/fence-canary"), bool, within_s=15)
    cluster.delete(f"{pods}/fence-canary?gracePeriodSeconds=0")


# The operator, when kube-scheduler is restarted under it


def let_loose(history: History) -> list[str]:
    history.catch_up()
    return sorted(life.name for life in history.lives(GROUP) if life.was_ungated)


def test_gang_is_whole_or_waits_whole_when_kube_scheduler_is_restarted_between_reserve_and_lift(
    cluster: Cluster, history: History, proxy: Proxy, start_operator: StartOperator, expected: Expected
) -> None:
    cluster.add_gpu_nodes(3)
    before_lift = proxy.hold(Request.is_dry_lift)
    start_operator(cluster, through=proxy)
    cluster.create(GANG_JOBS, gang_job("train", 3))
    before_lift.wait()
    cluster.playground.restart(Component.SCHEDULER)
    cluster.create(PODS, pod("rival"))
    assert is_refused(cluster, "rival") is expected.survives_restart
    before_lift.release()
    # Whoever gets the room: the operator does not count on what a kube-scheduler before this one was told.
    reason = cluster.await_reason(GROUP, "Scheduled", "Unschedulable")["reason"]
    assert reason == "Unschedulable" or expected.survives_restart
    cluster.await_bound(3 if reason == "Scheduled" else 1)
    assert let_loose(history) == sorted(cluster.bound(GROUP))


@pytest.fixture
def without_scheduler(cluster: Cluster) -> Iterator[Cluster]:
    """Sixteen nodes of eight GPUs; kube-scheduler does not run, and is brought back for the tests that follow."""
    cluster.add_gpu_nodes(16, gpus=8)
    cluster.playground.kill(Component.SCHEDULER)
    yield cluster
    if cluster.playground.status().components[Component.SCHEDULER] is None:
        cluster.playground.start_component(Component.SCHEDULER)


def test_gang_is_whole_or_waits_whole_when_kube_scheduler_starts_anew_before_many_rivals(
    without_scheduler: Cluster, history: History, start_operator: StartOperator
) -> None:
    # 1.34 has forgotten the nominations, yet answers the fence before it looks at the rivals.
    operator = start_operator(without_scheduler)
    without_scheduler.create_all(PODS, [pod(f"rival-{number}") for number in range(160)])
    without_scheduler.create(GANG_JOBS, gang_job("train", 4))
    eventually(lambda: operator.records("fence raised"), bool, within_s=15)
    without_scheduler.playground.start_component(Component.SCHEDULER)
    without_scheduler.await_bound(128, within_s=40)
    assert len(without_scheduler.bound(GROUP)) in (0, 4)
    assert let_loose(history) == sorted(without_scheduler.bound(GROUP))
