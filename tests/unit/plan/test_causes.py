"""Which causes are told for a node that refuses a pod for several: what kube-scheduler names is never left out."""

from tests.builders import NodeBuilder, PodBuilder, books, node, pod

from ganglift.api.storage import Claim, CsiNode, PersistentVolume, StorageClass
from ganglift.base.ids import NodeName
from ganglift.plan.books import Books
from ganglift.plan.filters import check
from ganglift.plan.shape import shape_of
from ganglift.plan.words import cause_words

DISK = {"gcePersistentDisk": {"pdName": "disk"}}


def with_no_claims(nodes: list[NodeBuilder], pods: list[PodBuilder] | None = None) -> Books:
    kept = books(nodes, pods)
    for kind in (Claim, PersistentVolume, StorageClass, CsiNode):
        kept.ledger.listed(kind)
    return kept


def causes(kept: Books, who: PodBuilder) -> list[str]:
    return [cause_words(cause) for cause in check(kept.snapshot(), shape_of(who.made), NodeName("n"))]


def test_a_claim_that_lets_nobody_in_is_told_before_a_taint() -> None:
    assert causes(with_no_claims([node("n").taint("spot")]), pod("w").claim("data")) == ["claim data does not exist"]


def test_a_taken_port_is_not_told_as_a_taken_disk() -> None:
    kept = with_no_claims([node("n")], [pod("x").host_port(80).on("n")])
    assert causes(kept, pod("w").host_port(80).volume("d", **DISK)) == ["without free host ports"]


def test_a_taken_disk_is_not_told_as_a_taken_port() -> None:
    kept = with_no_claims([node("n")], [pod("x").volume("d", **DISK).on("n")])
    words = causes(kept, pod("w").host_port(80).volume("d", **DISK))
    assert words == ["with a disk in use that only one pod may mount"]


def test_a_node_short_of_room_is_told_as_short_of_it_whatever_its_disks() -> None:
    kept = with_no_claims([node("n").gpus(1)], [pod("x").gpu(1).volume("d", **DISK).on("n")])
    words = causes(kept, pod("w").gpu(1).volume("d", **DISK))
    assert words == ["insufficient nvidia.com/gpu", "with a disk in use that only one pod may mount"]
