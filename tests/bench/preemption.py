"""Preemption for a gang of 512 on 5,000 full nodes, with 5,000 lower gangs of eight that span nodes."""

from functools import cache

from tests.bench.planner import cluster_nodes, gang_of
from tests.bench.registry import bench, best_of_ms
from tests.builders import pod

from ganglift.base.ids import Uid
from ganglift.plan.books import Books, Kind
from ganglift.plan.preempt import preempt
from ganglift.plan.shape import shape_of
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.victims import Evictable

GANGS, SIZE = 5_000, 8


@cache
def full() -> Snapshot:
    """Every GPU of the cluster is taken by one pod of a gang; pod j of gang i is on node i + j."""
    books, shape = Books(), shape_of(pod("w").asks(cpu=4, memory="16Gi").gpu(1).made)
    for one in cluster_nodes():
        books.set_node(one)
    names = [one.name for one in cluster_nodes()]
    for i in range(GANGS):
        for j in range(SIZE):
            books.place_shape(Uid(f"{i}-{j}"), shape, names[(i + j) % len(names)], Kind.BOUND)
    return books.snapshot()


def preempting(evictable: list[Evictable]) -> float:
    snapshot, group = full(), gang_of(512)

    def work() -> None:
        found = preempt(snapshot, group, 100, evictable)
        assert found is not None
        assert len(found.victims) == 512

    return best_of_ms(work, rounds=3)


@bench("planner/preemption", budget=500)
def preemption() -> float:
    """Victims for a gang of 512 among 5,000 gangs of eight that go whole, each on eight nodes."""
    return preempting([Evictable(Uid(f"{i}-{j}"), i % 7, str(i), i) for i in range(GANGS) for j in range(SIZE)])


@bench("planner/preemption-by-pod", budget=1500)
def preemption_by_pod() -> float:
    """The same where each of the 40,000 pods goes alone."""
    return preempting([Evictable(Uid(f"{i}-{j}"), i % 7, f"{i}-{j}", i) for i in range(GANGS) for j in range(SIZE)])
