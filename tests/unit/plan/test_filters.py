"""Every rule for one pod on one node agrees with kube-scheduler's, as written down in `tests.support.kube_filters`."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import books
from tests.support.clusters import NAMESPACE_LABELS, random_bound, random_nodes, random_pod
from tests.support.kube_filters import World, refusals

from ganglift.api.model import ObjectMeta
from ganglift.api.storage import Namespace
from ganglift.plan.books import Books
from ganglift.plan.filters import check
from ganglift.plan.shape import shape_of


def with_namespaces(kept: Books) -> Books:
    for name, labels in NAMESPACE_LABELS.items():
        kept.ledger.put(Namespace(metadata=ObjectMeta(name=name, labels=labels)))
    kept.ledger.listed(Namespace)
    return kept


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_node_takes_a_pod_exactly_if_no_filter_refuses(seed: int) -> None:
    rng = Random(seed)
    nodes = random_nodes(rng)
    bound = random_bound(rng, nodes)
    snapshot = with_namespaces(books(nodes, bound)).snapshot()
    world = World([n.made for n in nodes], [(b.made, b.made.spec.node_name) for b in bound], NAMESPACE_LABELS)
    for i in range(4):
        candidate = random_pod(rng, f"c{i}").made
        for one in nodes:
            refused = refusals(world, candidate, one.made)
            causes = check(snapshot, shape_of(candidate), one.made.name)
            assert bool(causes) == bool(refused), (one.wire, candidate, refused, causes)
