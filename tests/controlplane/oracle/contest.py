"""The same gang on the same cluster, first with the native gang scheduling of 1.37 and then with ours."""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from random import Random

from tests.controlplane.cluster import NODES, POD_GROUPS, PODS, Cluster, pod_group
from tests.controlplane.history import History
from tests.controlplane.oracle.gangs import GROUP, Case, Object, random_case
from tests.support.polling import eventually

_NATIVE_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
_PLACED = "PodGroupInitiallyScheduled"
_WITHIN_S = 20.0
_FORCED = "gracePeriodSeconds=0"


@dataclass
class Contest:
    """How often who placed the gang."""

    both: Counter[str] = field(default_factory=Counter)
    neither: Counter[str] = field(default_factory=Counter)
    only_ours: Counter[str] = field(default_factory=Counter)
    native_in_part: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """What must not be: a gang that only the native scheduling placed, or one of ours in part."""

    @property
    def cases(self) -> int:
        return self.both.total() + self.neither.total() + self.only_ours.total() + len(self.faults)

    def report(self) -> str:
        only = ", ".join(f"{kind} {count}" for kind, count in self.only_ours.most_common())
        return (
            f"{self.cases} gangs: {self.both.total()} placed by both, {self.neither.total()} by neither, "
            f"{self.only_ours.total()} by ganglift only ({only}); native in part: {len(self.native_in_part)}; "
            f"faults: {len(self.faults)}"
        )


def compete(cluster: Cluster, history: History, seeds: Iterable[int]) -> Contest:
    """Put a random gang for each seed to both, while the operator runs."""
    contest = Contest()
    for seed in seeds:
        case = random_case(Random(seed))
        _prepare(cluster, case)
        native = _bound_by_native(cluster, case)
        _clear_gang(cluster)
        ours = _bound_by_us(cluster, case, must_start=native >= case.min_count)
        _judge(contest, case, f"seed {seed} ({case.kind})", native, ours)
        _check_history(contest, history, case, seed)
        _clear_gang(cluster)
    return contest


def _judge(contest: Contest, case: Case, name: str, native: int, ours: int) -> None:
    need = case.min_count
    if 0 < native < need:
        contest.native_in_part.append(f"{name}: {native} of {need}")
    if 0 < ours < need:
        contest.faults.append(f"{name}: ganglift bound {ours} of {need}")
    elif native >= need > ours:
        contest.faults.append(f"{name}: native bound {native} where ganglift bound {ours} of {need}")
    else:
        (contest.neither if ours < need else contest.both if native >= need else contest.only_ours)[case.kind] += 1


def _check_history(contest: Contest, history: History, case: Case, seed: int) -> None:
    """A gang that does not start must not have been let loose, not even for a moment."""
    history.catch_up()
    lives = [life for life in history.lives(GROUP) if life.is_there]
    if not any(life.was_bound for life in lives) and any(life.was_ungated for life in lives):
        contest.faults.append(f"seed {seed} ({case.kind}): let loose and not bound")


# The two ways


def _prepare(cluster: Cluster, case: Case) -> None:
    cluster.playground.client.delete(f"{PODS}?{_FORCED}")
    cluster.playground.client.delete(NODES)
    for one in case.nodes:
        cluster.create(NODES, one)
    for other in case.others:
        cluster.create(PODS, other)


def _bound_by_native(cluster: Cluster, case: Case) -> int:
    """How many members the native gang scheduling binds."""
    group = {**pod_group(GROUP, case.min_count), "apiVersion": "scheduling.k8s.io/v1beta1", "spec": case.group_spec}
    cluster.create(_NATIVE_GROUPS, group)
    for member in case.native_pods():
        cluster.create(PODS, member)
    eventually(partial(_native_has_decided, cluster, len(case.members)), bool, within_s=_WITHIN_S)
    return _bound(cluster)


def _native_has_decided(cluster: Cluster, members: int) -> bool:
    """Whether every member is bound or refused, and the group is said to be placed or not to fit."""
    group = cluster.get(f"{_NATIVE_GROUPS}/{GROUP}")
    conditions = {c["type"]: c for c in group.get("status", {}).get("conditions", ())}
    decided = conditions.get(_PLACED, {})
    if decided.get("status") == "True":
        pods = _gang(cluster)
        return all(pod["spec"].get("nodeName") or _is_refused(pod) for pod in pods)
    return bool(decided.get("reason") == "Unschedulable")


def _bound_by_us(cluster: Cluster, case: Case, *, must_start: bool) -> int:
    """How many members are bound when the operator says that the gang is placed, or that it does not fit.

    It may have looked a moment before it saw that the native gang is gone, so its first no need not be its last.
    """
    cluster.create(POD_GROUPS, {**pod_group(GROUP, case.min_count), "spec": case.group_spec})
    for member in case.our_pods():
        cluster.create(PODS, member)
    cluster.await_reason(GROUP, "Scheduled", "Unschedulable", within_s=_WITHIN_S)
    if must_start:
        with suppress(AssertionError):  # then what is bound says so
            cluster.await_reason(GROUP, "Scheduled", within_s=_WITHIN_S)
    return _bound(cluster)


def _gang(cluster: Cluster) -> list[Object]:
    return [pod for pod in cluster.pods() if pod["metadata"]["name"].startswith("member-")]


def _bound(cluster: Cluster) -> int:
    return sum(bool(pod["spec"].get("nodeName")) for pod in _gang(cluster))


def _is_refused(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(c["type"] == "PodScheduled" and c["status"] == "False" for c in conditions)


def _clear_gang(cluster: Cluster) -> None:
    """Remove the gang, and leave the cluster."""
    for path in (_NATIVE_GROUPS, POD_GROUPS):
        cluster.playground.client.delete(f"{path}?propagationPolicy=Background")
    for member in _gang(cluster):
        cluster.delete(f"{PODS}/{member['metadata']['name']}?{_FORCED}")
    for path in (_NATIVE_GROUPS, POD_GROUPS):
        eventually(partial(cluster.items, path), lambda items: not items, within_s=15)
