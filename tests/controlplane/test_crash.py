"""The operator is killed in the middle of an admission: who comes after it finishes the gang and admits nobody twice.

A proxy holds back what the operator asks for at the chosen moment; after the kill those requests are lost, as they may
be in a real crash. What the API server has by then is all that the next process starts from.
"""

from collections.abc import Iterator
from functools import partial

import pytest
from tests.controlplane.cluster import GANG_JOBS, JOBS, POD_GROUPS, PODS, Cluster, gang_job, pod, pod_group
from tests.controlplane.conftest import StartOperator
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.controlplane.playgrounds import on_both_versions
from tests.controlplane.proxy import Hold, Match, Proxy, Request
from tests.support.polling import eventually

GROUP = "train-workers"
TAKEOVER_S = 30
"""A dead holder's Lease is taken after 15 s, and looked at every 2 s."""


def kill_at(proxy: Proxy, operator: OperatorProcess, match: Match, *, after: int = 0, count: int = 1) -> None:
    """Start the operator and kill it once `count` such requests are held back, `after` others having passed."""
    hold = proxy.hold(match, after=after)
    operator.start(wait=False)
    hold.wait(count, within_s=30)
    operator.kill()
    hold.drop()


@pytest.fixture
def operator(cluster: Cluster, proxy: Proxy, start_operator: StartOperator) -> OperatorProcess:
    """An operator behind the proxy, not running yet."""
    operator = start_operator(cluster, through=proxy, wait=False)
    operator.kill()
    return operator


def lifted(proxy: Proxy, since: int) -> list[str]:
    """The pods whose gate was to be removed by requests from number `since` on, in order of their paths."""
    return sorted(request.path.removeprefix(f"{PODS}/") for request in proxy.requests[since:] if request.is_lift())


def names_of(cluster: Cluster, *, is_gated: bool) -> list[str]:
    pods = cluster.pods(GROUP)
    return sorted(each["metadata"]["name"] for each in pods if bool(each["spec"].get("schedulingGates")) is is_gated)


def test_gang_killed_between_reserve_and_lift_starts_on_the_room_kept_for_it(
    cluster: Cluster, history: History, proxy: Proxy, operator: OperatorProcess
) -> None:
    cluster.add_gpu_nodes(6)
    cluster.create(GANG_JOBS, gang_job("train", 3))
    kill_at(proxy, operator, Request.is_dry_lift)
    operator.start()
    bound = cluster.await_bound(3, GROUP)
    history.catch_up()
    assert {life.name: life.nominations for life in history.lives(GROUP)} == {n: (node,) for n, node in bound.items()}


def test_only_the_members_not_let_loose_before_the_kill_are_lifted_after_it(
    cluster: Cluster, proxy: Proxy, operator: OperatorProcess
) -> None:
    cluster.add_gpu_nodes(8)
    cluster.create(GANG_JOBS, gang_job("train", 8))
    kill_at(proxy, operator, Request.is_lift, after=4, count=4)
    gated = eventually(lambda: names_of(cluster, is_gated=True), lambda names: len(names) == 4, within_s=10)
    before = len(proxy.requests)
    operator.start()
    cluster.await_bound(8, GROUP)
    assert lifted(proxy, before) == gated


def test_nobody_beyond_the_room_is_admitted_after_a_kill_halfway(
    cluster: Cluster, proxy: Proxy, operator: OperatorProcess
) -> None:
    cluster.add_gpu_nodes(4)
    cluster.create(GANG_JOBS, gang_job("train", 8, min_count=4))
    kill_at(proxy, operator, Request.is_lift, after=2, count=2)
    operator.start()
    cluster.await_bound(4, GROUP)
    cluster.await_reason(GROUP, "Scheduled")
    assert len(names_of(cluster, is_gated=True)) == 4


def test_rest_of_a_gang_killed_halfway_keeps_its_room_from_others(
    cluster: Cluster, proxy: Proxy, operator: OperatorProcess
) -> None:
    cluster.add_gpu_nodes(4)
    cluster.create(GANG_JOBS, gang_job("train", 4))
    kill_at(proxy, operator, Request.is_lift, after=2, count=2)
    cluster.create(PODS, pod("rival"))
    cluster.create(PODS, pod("witness", gpus=0))  # placed after the rival was tried
    eventually(cluster.bound, lambda bound: "witness" in bound, within_s=15)
    operator.start()
    cluster.await_bound(4, GROUP)
    assert "rival" not in cluster.bound()


def test_gang_that_was_not_reserved_stays_whole_and_waiting_after_a_kill(
    cluster: Cluster, history: History, proxy: Proxy, operator: OperatorProcess
) -> None:
    cluster.add_gpu_nodes(4)
    for name in ("a", "b"):
        cluster.create(POD_GROUPS, pod_group(name, 3))
        cluster.create_all(PODS, [pod(f"{name}-{number}", group=name) for number in range(3)])
    kill_at(proxy, operator, Request.is_lift, after=1, count=2)
    history.catch_up()
    operator.start()
    winner = next(life.group for life in history.lives() if life.was_ungated)
    loser = {"a": "b", "b": "a"}[winner]
    cluster.await_bound(3, winner)
    cluster.await_reason(loser, "Unschedulable")
    history.catch_up()
    assert [life.name for life in history.lives(loser) if life.was_ungated] == []


@on_both_versions
def test_take_back_cut_off_by_a_kill_is_finished_and_counts_no_failure(
    cluster: Cluster, proxy: Proxy, operator: OperatorProcess
) -> None:
    cluster.ensure_priority_class("high", 1000)
    cluster.add_gpu_nodes(3)
    cluster.create(GANG_JOBS, gang_job("train", 3))
    lifts = proxy.hold(Request.is_lift)
    operator.start()
    lifts.wait(3)
    cluster.create(PODS, pod("urgent", priority_class="high"))
    cluster.await_bound(1)
    deletions = proxy.hold(_is_deletion_of_member, after=1)
    lifts.release()
    deletions.wait()
    operator.kill()
    deletions.drop()
    operator.start()
    eventually(lambda: names_of(cluster, is_gated=True), lambda gated: len(gated) == 3, within_s=15)
    assert names_of(cluster, is_gated=False) == []
    assert cluster.get(f"{JOBS}/train")["status"].get("failed", 0) == 0


def _is_deletion_of_member(request: Request) -> bool:
    return request.method == "DELETE" and request.path.startswith(PODS)


@pytest.mark.timeout(1800)
def test_gang_starts_whole_at_whatever_write_the_operator_was_killed(
    cluster: Cluster, proxy: Proxy, operator: OperatorProcess, full: bool
) -> None:
    cluster.add_gpu_nodes(4)
    operator.start()
    writes = run_gang(cluster, proxy, "train")
    operator.kill()
    for number in range(0, writes, 1 if full else max(1, writes // 2)):
        name = f"train-{number}"
        cluster.create(GANG_JOBS, gang_job(name, 3))
        hold = proxy.hold(Request.is_write, after=number)
        operator.start(wait=False)
        # Status and events may be told in fewer writes this time, so that the last ones never come.
        eventually(partial(is_held_or_whole, hold, cluster, name), bool, within_s=30)
        operator.kill()
        hold.drop()
        operator.start()
        cluster.await_bound(3, f"{name}-workers")
        assert len(cluster.pods(f"{name}-workers")) == 3
        remove_gang(cluster, name)
        operator.kill()


def is_held_or_whole(hold: Hold, cluster: Cluster, name: str) -> bool:
    return bool(hold.held) or cluster.condition(f"{name}-workers").get("reason") == "Scheduled"


def run_gang(cluster: Cluster, proxy: Proxy, name: str) -> int:
    """Let a gang of three start undisturbed, and remove it; return how many writes its start took."""
    before = len(proxy.writes)
    cluster.create(GANG_JOBS, gang_job(name, 3))
    cluster.await_reason(f"{name}-workers", "Scheduled")
    writes = len(proxy.writes) - before
    remove_gang(cluster, name)
    return writes


def remove_gang(cluster: Cluster, name: str) -> None:
    cluster.delete(f"{GANG_JOBS}/{name}")
    eventually(cluster.pods, lambda pods: not pods, within_s=30)


@pytest.fixture
def standby(cluster: Cluster) -> Iterator[Proxy]:
    """What a second replica goes through."""
    with Proxy(cluster.playground) as passing:
        yield passing


def test_second_replica_finishes_a_gang_when_the_first_is_killed(
    cluster: Cluster, proxy: Proxy, standby: Proxy, start_operator: StartOperator
) -> None:
    cluster.add_gpu_nodes(4)
    lifts = proxy.hold(Request.is_lift, after=2)
    first = start_operator(cluster, through=proxy, has_lease=True)
    eventually(lambda: first.records("leading"), bool, within_s=TAKEOVER_S)
    start_operator(cluster, through=standby, has_lease=True)
    cluster.create(GANG_JOBS, gang_job("train", 4))
    lifts.wait(2)
    gated = eventually(lambda: names_of(cluster, is_gated=True), lambda names: len(names) == 2, within_s=10)
    assert standby.writes == []
    first.kill()
    lifts.drop()
    cluster.await_bound(4, GROUP, within_s=TAKEOVER_S)
    assert lifted(standby, 0) == gated
