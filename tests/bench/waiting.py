"""A pass of the planner while thousands of gangs wait and next to nothing is free."""

from tests.bench.planner import NODES, WORKER, cluster_nodes, gang_of
from tests.bench.registry import bench, best_of_ms
from tests.builders import pod

from ganglift.base.ids import Uid
from ganglift.plan.books import Books, Kind
from ganglift.plan.plan import plan
from ganglift.plan.shape import shape_of
from ganglift.plan.verdict import Fits

WAITING, IMPOSSIBLE, TEMPLATES = 2_000, 200, 20


@bench("planner/2000-waiting-gangs", budget=200)
def waiting() -> float:
    """Snapshot and plan of 2,000 gangs of 20 templates, 200 of them impossible, after one pod of 5,000 has ended."""
    books, shape = Books(), shape_of(pod("x").gpu(8).made)
    for i, one in enumerate(cluster_nodes()):
        books.set_node(one)
        books.place_shape(Uid(f"full-{i}"), shape, one.name, Kind.BOUND)
    books.remove(Uid(f"full-{NODES // 2}"))
    groups = [
        gang_of(4, WORKER.gpu(16 if i < IMPOSSIBLE else 1).asks(cpu=1 + i % TEMPLATES), f"q{i:04}", created=i)
        for i in range(WAITING)
    ]

    def work() -> None:
        verdicts = plan(books.snapshot(), groups).verdicts.values()
        assert sum(isinstance(verdict, Fits) for verdict in verdicts) == 2

    return best_of_ms(work)
