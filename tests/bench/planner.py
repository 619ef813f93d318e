"""The planner on 5,000 nodes in 100 racks with 50,000 pods: nodes of 8 GPUs, of which half are taken."""

import gc
import json
from functools import cache
from typing import Any

from tests.bench.registry import bench, best_of_ms, peak_mib
from tests.builders import HOST, RACK, PodBuilder, gang, members, node, pod

from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.api.scheduling import TopologyConstraint
from ganglift.plan.books import Books, Kind
from ganglift.plan.plan import plan
from ganglift.plan.request import GroupRequest
from ganglift.plan.verdict import DoesNotFit, Fits

NODES, PODS, RACKS = 5_000, 50_000, 100
WORKER = pod("w").asks(cpu=4, memory="16Gi").gpu(1)


@cache
def cluster_nodes() -> tuple[Node, ...]:
    return tuple(
        node(f"node-{i:05}").offers(cpu=192, memory="2Ti").gpus(8).rack(f"rack-{i % RACKS:03}").made
        for i in range(NODES)
    )


def running(i: int) -> PodBuilder:
    """Pod i of the load: every fifth has a GPU, so that 2 of 8 on each node are taken; labels as Jobs' pods have."""
    builder = pod(f"load-{i:05}").asks(cpu=1, memory="2Gi").label("app", f"app-{i % 500}")
    builder = builder.label("batch.kubernetes.io/job-completion-index", str(i))
    return (builder.gpu(1) if i % 5 == 0 else builder).on(f"node-{i % NODES:05}")


@cache
def pod_events() -> tuple[bytes, ...]:
    return tuple(json.dumps(running(i).wire).encode() for i in range(PODS))


def fill(count: int = PODS) -> Books:
    books = Books()
    for one in cluster_nodes():
        books.set_node(one)
    for event in pod_events()[:count]:
        made = Pod.model_validate_json(event)
        books.place(made, made.spec.node_name, Kind.BOUND)
    return books


@cache
def cluster() -> Books:
    return fill()


def gang_of(count: int, like: PodBuilder = WORKER, name: str = "gang", **more: Any) -> GroupRequest:
    return gang(name, members(count, like, name), **more)


def planning(group: GroupRequest) -> float:
    """Milliseconds to plan a gang that fits, on a snapshot that is there already."""
    snapshot = cluster().snapshot()

    def work() -> None:
        (verdict,) = plan(snapshot, [group]).verdicts.values()
        assert isinstance(verdict, Fits)

    return best_of_ms(work, rounds=3)


@bench("planner/gang-of-1000", budget=20)
def gang_of_1000() -> float:
    """Snapshot and plan of one gang of 1,000."""
    books, group = cluster(), gang_of(1000)

    def work() -> None:
        (verdict,) = plan(books.snapshot(), [group]).verdicts.values()
        assert isinstance(verdict, Fits)

    return best_of_ms(work)


@bench("planner/1000-gangs-of-3", budget=1500)
def gangs_of_3() -> float:
    """Snapshot and plan of 1,000 gangs of three, of ten templates."""
    books = cluster()
    groups = [gang_of(3, WORKER.asks(cpu=1 + i % 10), f"g{i:04}", created=i) for i in range(1000)]

    def work() -> None:
        assert all(isinstance(verdict, Fits) for verdict in plan(books.snapshot(), groups).verdicts.values())

    return best_of_ms(work, rounds=3)


@bench("planner/impossible-gang-of-1000", budget=5)
def impossible() -> float:
    """Plan of a gang of 1,000 that no node can take, and the reasons."""
    snapshot, group = cluster().snapshot(), gang_of(1000, WORKER.gpu(16))

    def work() -> None:
        (verdict,) = plan(snapshot, [group]).verdicts.values()
        assert isinstance(verdict, DoesNotFit)

    return best_of_ms(work)


@bench("planner/one-rack-of-100", budget=50)
def one_rack() -> float:
    """Plan of a gang of 250 that must be in one rack, of which most have room for 400."""
    return planning(gang_of(250, WORKER, "racked", topology=(TopologyConstraint(key=RACK),)))


@bench("planner/spread-gang-of-1000", budget=2000)
def spread() -> float:
    """Plan of a gang of 1,000, one member a node at most one apart: every step depends on the one before."""
    return planning(gang_of(1000, WORKER.gang("gang").spread(HOST)))


@bench("planner/two-sizes-to-the-brim", budget=500)
def two_sizes() -> float:
    """Plan of 6,000 + 6,000 members that just fit, which largest-first packing misses."""
    large, small = members(6000, WORKER.gpu(3), "large"), members(6000, WORKER.gpu(2), "small")
    return planning(gang("gang", (*large, *small)))


@bench("planner/preferred-rack-gang-of-1000", budget=100)
def preferred() -> float:
    """Plan of a gang of 1,000 that would be in one rack if one had room, which none has."""
    return planning(gang_of(1000, WORKER, "racked", topology=(TopologyConstraint(key=RACK, mode="Preferred"),)))


@bench("planner/snapshot", unit="ms", budget=5)
def snapshot() -> float:
    """A snapshot after a pod event."""
    books = cluster()
    return best_of_ms(books.snapshot)


@bench("planner/10000-pod-events", budget=1000)
def events() -> float:
    """10,000 decoded pods into books that hold 40,000."""
    books = fill(PODS - 10_000)
    pods = [Pod.model_validate_json(event) for event in pod_events()[-10_000:]]

    def work() -> None:
        for one in pods:
            books.place(one, one.spec.node_name, Kind.BOUND)

    return best_of_ms(work, rounds=1)


@bench("planner/5000-heartbeats", budget=100)
def heartbeats() -> float:
    """A heartbeat of every node, freshly decoded."""
    books = cluster()
    again = [Node.model_validate_json(one.model_dump_json(by_alias=True)) for one in cluster_nodes()]

    def work() -> None:
        assert not sum(map(books.set_node, again))

    return best_of_ms(work)


@bench("planner/state", unit="MiB", budget=150)
def state() -> float:
    """What the books and one snapshot hold, the decoded objects themselves aside."""
    cluster_nodes()
    cluster.cache_clear()  # shapes are shared with whoever holds them, and would not be counted twice
    gc.collect()

    def work() -> object:
        books = fill()
        snapshot = books.snapshot()
        plan(snapshot, [gang_of(1000)])
        return books, snapshot

    return peak_mib(work)
