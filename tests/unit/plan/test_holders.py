"""Which pods have the room that a gang lacks."""

import pytest
from tests.builders import GPU, NodeBuilder, PodBuilder, books, gang, members, node, pod

from ganglift.base.ids import NodeName
from ganglift.plan.holders import Holder, Share, lacking, shares
from ganglift.plan.plan import plan
from ganglift.plan.snapshot import Kind, Snapshot
from ganglift.plan.verdict import DoesNotFit
from ganglift.plan.words import fit_words, hints_of, holder_words, words_of

WORKER = pod("w").gpu(2)
NODES = [node("n1").gpus(2), node("n2").gpus(2), node("small").gpus(1)]


def verdict_on(nodes: list[NodeBuilder], pods: list[PodBuilder]) -> tuple[Snapshot, DoesNotFit]:
    snapshot = books(nodes, pods).snapshot()
    (verdict,) = plan(snapshot, [gang("g", members(3, WORKER))]).verdicts.values()
    assert isinstance(verdict, DoesNotFit)
    return snapshot, verdict


def found(nodes: list[NodeBuilder], pods: list[PodBuilder], *ignored: str) -> list[Share]:
    snapshot, verdict = verdict_on(nodes, pods)
    return list(shares(snapshot, verdict, {pod(name).made.uid for name in ignored}))


def test_pods_that_have_the_resource_on_nodes_that_would_do_are_named() -> None:
    one, two = found(NODES, [pod("a").gpu(1).on("n1"), pod("b").gpu(2).on("n2").terminating()])
    assert one == Share(pod("a").made.uid, NODES[0].made.name, Kind.BOUND, GPU, 1)
    assert two == Share(pod("b").made.uid, NODES[1].made.name, Kind.TERMINATING, GPU, 2)


def test_pods_on_nodes_that_are_too_small_even_when_empty_are_not_named() -> None:
    assert found(NODES, [pod("a").gpu(1).on("small")]) == []


def test_pods_that_have_none_of_the_resource_are_not_named() -> None:
    assert [share.units for share in found(NODES, [pod("a").asks(cpu=1).on("n1"), pod("b").gpu(1).on("n1")])] == [1]


def test_pods_that_are_left_out_are_not_named() -> None:
    assert found(NODES, [pod("a").gpu(1).on("n1")], "a") == []


def test_only_what_some_node_has_too_little_of_is_lacking() -> None:
    _, verdict = verdict_on(NODES, [pod("a").gpu(1).on("n1")])
    assert lacking(verdict) == (GPU,)


def test_parts_of_a_verdict_are_those_of_its_sentence() -> None:
    nodes = [node(f"n{i}").gpus(8) for i in range(3)]
    group = gang("g", members(2, pod("w").gpu(5)))
    full = [pod(f"b{i}").gpu(7).on(f"n{i}") for i in range(3)]
    verdict = plan(books(nodes, full).snapshot(), [group]).verdicts[group.key]
    assert isinstance(verdict, DoesNotFit)
    assert words_of(verdict).startswith(f"{fit_words(verdict)}: 3 nodes: ")
    assert words_of(verdict).endswith("; ".join(hints_of(verdict)))


@pytest.mark.parametrize(
    ("holder", "said"),
    [
        (
            Holder("Job a/j", Kind.BOUND, GPU, 8, 4, (NodeName("n1"), NodeName("n2")), "2026-11-30T12:00:00Z"),
            "Job a/j holds 8 nvidia.com/gpu on 2 nodes: 4 pods bound since 2026-11-30T12:00:00Z",
        ),
        (
            Holder("Pod a/p", Kind.TERMINATING, "memory", 2**30, 1, (NodeName("n1"),)),
            "Pod a/p holds 1Gi memory on n1: 1 pod terminating",
        ),
        (
            Holder("PodGroup a/g", None, "cpu", 1500, 3, (NodeName("n1"),)),
            "PodGroup a/g, before it in the queue, is to get 1500m cpu on n1",
        ),
    ],
)
def test_holder_is_told_with_how_much_where_and_how(holder: Holder, said: str) -> None:
    assert holder_words(holder) == said
