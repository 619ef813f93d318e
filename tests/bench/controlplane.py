"""The operator on a real control plane: how soon a gang starts, alone and beside Kubernetes' own gang scheduling.

All with an administrator's kubeconfig, so that nothing but etcd, API server, controller-manager, scheduler and operator
is measured. Times are those at which an independent watch is told of a bind.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Literal

from tests.bench import cpu
from tests.bench.registry import bench
from tests.bench.rounds import told
from tests.controlplane.cluster import GANG_JOBS, JOBS, NODES, PODS, Cluster, Object, gang_job
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.support.polling import eventually

from ganglift.api.node import Node
from ganglift.playground.client import MERGE_PATCH, Session
from ganglift.playground.errors import RequestFailed
from ganglift.playground.options import PlaygroundOptions
from ganglift.playground.playground import Playground

CRDS = Path(__file__).parents[2] / "crds"
MEMBERS, BIG_CLUSTER, GPUS = 512, 1_000, 8
REST_S = 5.0


@bench("controlplane/node-ready-to-last-bind", unit="s", budget=1)
def node_ready_to_last_bind() -> float:
    """A gang of four waits on three GPUs: from the fourth node being Ready and untainted to the last of four binds.

    Default request rates, kwok as kubelets; median of five rounds.
    """
    options = PlaygroundOptions(nodes=3, gpus=1, crds=(CRDS,))
    with Playground.start(options) as playground, _operator(playground):
        cluster = Cluster(playground)
        return told("node ready to last bind", [_add_fourth_node(cluster) for _ in range(5)])


@bench("controlplane/gang-of-512-to-native, default rates", unit="ratio", budget=1.2)
def gang_of_512_default_rates() -> float:
    """Creation to last bind of a Job of 512 one-GPU pods on 1,000 nodes of 8, to the same as a native gang Job.

    Medians of two rounds each, A B A B; no kubelets.
    """
    return _beside_native("default", rounds=2)


@bench("controlplane/gang-of-512-to-native, raised rates", unit="ratio", budget=1.2)
def gang_of_512_raised_rates() -> float:
    """The same with the request rates of controller-manager and scheduler raised to 5,000/s; three rounds each."""
    return _beside_native(5_000, rounds=3)


def _add_fourth_node(cluster: Cluster) -> float:
    node = "gpu-3"
    with History(cluster.playground.client) as history, cluster.playground.client.session() as session:
        cluster.create(GANG_JOBS, gang_job("experiment", 4))
        cluster.await_reason("experiment-workers", "Unschedulable")
        cluster.playground.add_node(node, wait=False)
        ready_at = _await_usable(session, node)
        cluster.await_bound(4, "experiment-workers")
        history.catch_up()
        bound_at = max(life.bound_at or 0.0 for life in history.lives("experiment-workers"))
    cluster.delete(f"{GANG_JOBS}/experiment")
    cluster.playground.delete_node(node)
    eventually(cluster.pods, lambda pods: not pods, within_s=60)
    return bound_at - ready_at


def _await_usable(session: Session, name: str) -> float:
    """Return when the node was first seen Ready and untainted; asked for every few milliseconds."""
    while True:
        node = Node.model_validate(session.request("GET", f"{NODES}/{name}"))
        if node.is_ready and node.status.conditions and not node.spec.taints:
            return time.monotonic()
        time.sleep(0.005)


@dataclass(frozen=True)
class _Start:
    """When things happened to a Job's pods, in seconds from its creation."""

    last_made: float
    first_bind: float
    last_bind: float

    def __str__(self) -> str:
        return f"pods exist {self.last_made:.2f}, first bind {self.first_bind:.2f}, last bind {self.last_bind:.2f} s"


def _beside_native(rates: Literal["default"] | int, *, rounds: int) -> float:
    """Alternate ours and native on one control plane; the operator runs for ours only. Return the medians' ratio."""
    options = PlaygroundOptions(
        nodes=BIG_CLUSTER,
        gpus=GPUS,
        kubelets=False,
        request_rates=rates,
        native_gang_scheduling=True,
        crds=(CRDS,),
    )
    ours, native = [], []
    with Playground.start(options) as playground:
        cluster = Cluster(playground)
        for _ in range(rounds):
            with _operator(playground) as operator:
                ours.append(_time(cluster, "ours", GANG_JOBS, operator))
                _clear(cluster, GANG_JOBS)
            native.append(_time(cluster, "native", JOBS))
            _clear(cluster, JOBS)
    ours_s, native_s = told("ours", ours), told("native", native)
    return ours_s / native_s


def _time(cluster: Cluster, name: str, path: str, operator: OperatorProcess | None = None) -> float:
    """Create a gang Job of that kind and wait until all its members are bound; return seconds to the last bind."""
    pids = {each.value: pid for each, pid in cluster.playground.status().components.items() if pid is not None}
    pids |= {"operator": operator.pid} if operator is not None else {}
    with History(cluster.playground.client) as history:
        used, created_at = cpu.used_s(pids), time.monotonic()
        cluster.create(path, _job(name, path))
        eventually(lambda: _bound(history), lambda count: count == MEMBERS, within_s=300)
        cost = cpu.told(used, cpu.used_s(pids))
        lives = history.lives()
    binds = [life.bound_at or 0.0 for life in lives]
    made = max(life.events[0].at for life in lives)
    start = _Start(made - created_at, min(binds) - created_at, max(binds) - created_at)
    print(f"  {name}: {start}; {cost}", flush=True)
    return start.last_bind


def _bound(history: History) -> int:
    return sum(life.was_bound for life in history.lives())


def _job(name: str, path: str) -> Object:
    job = gang_job(name, MEMBERS)
    return job if path == GANG_JOBS else job | {"apiVersion": "batch/v1"}


def _clear(cluster: Cluster, path: str) -> None:
    """Remove the Job and its pods, by hand where the controllers would take half a minute; then let them rest."""
    cluster.delete(f"{path}?gracePeriodSeconds=0")
    eventually(lambda: cluster.items(JOBS), lambda jobs: not jobs, within_s=60)
    with cluster.playground.client.session() as session:
        eventually(lambda: _force_out(cluster, session), lambda left: left == 0, within_s=120)
    time.sleep(REST_S)


def _force_out(cluster: Cluster, session: Session) -> int:
    """Delete the pods that are left, and take off the Job controller's finalizers; return how many there were."""
    session.request("DELETE", f"{PODS}?gracePeriodSeconds=0")
    pods = cluster.pods()
    for pod in pods:
        try:
            body = {"metadata": {"finalizers": None}}
            session.request("PATCH", f"{PODS}/{pod['metadata']['name']}", body, content_type=MERGE_PATCH)
        except RequestFailed as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
    return len(pods)


@contextmanager
def _operator(playground: Playground) -> Iterator[OperatorProcess]:
    """The operator as a process, ready."""
    with tempfile.TemporaryDirectory() as directory:
        operator = OperatorProcess(playground.kubeconfig, Path(directory) / "operator.log", ("--no-leader-elect",))
        operator.start()
        try:
            yield operator
        finally:
            operator.stop()
