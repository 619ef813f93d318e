"""Which busy nodes a hold is on."""

from tests.builders import books, gang, members, node, pod

from ganglift.base.ids import Uid
from ganglift.plan.hold import Hold, hold
from ganglift.plan.request import GroupRequest
from ganglift.plan.snapshot import Snapshot

WORKER = pod("w").gpu(1)


def cluster(*gpus: int) -> Snapshot:
    """Nodes n0, n1 and on of two GPUs each, of which pod pN has so many of nN."""
    nodes = [node(f"n{i}").gpus(2) for i in range(len(gpus))]
    pods = [pod(f"p{i}").gpu(count).on(f"n{i}") for i, count in enumerate(gpus) if count]
    return books(nodes, pods).snapshot()


def ends(*numbers: int) -> list[Uid]:
    return [Uid(f"uid-p{number}") for number in numbers]


def nodes_of(found: Hold | None) -> list[str] | None:
    return None if found is None else sorted(place.node for place in found.fits.placements)


def two(gpus: int = 1) -> GroupRequest:
    return gang("g", members(2, WORKER.gpu(gpus)))


def test_nodes_of_pods_that_end_first_are_held_and_no_more_of_them_than_needed() -> None:
    found = hold(cluster(2, 2, 2), two(2), ends(2, 0, 1))
    assert nodes_of(found) == ["n0", "n2"]
    assert found is not None
    assert (found.goes, found.last) == (("uid-p0", "uid-p2"), "uid-p0")


def test_room_that_is_free_is_part_of_it() -> None:
    found = hold(cluster(0, 2, 2), two(2), ends(2, 1))
    assert nodes_of(found) == ["n0", "n2"]
    assert found is not None
    assert found.goes == ("uid-p2",)


def test_nothing_is_held_where_the_gang_would_not_fit_after_all_ends() -> None:
    assert hold(cluster(2, 2, 2), two(2), ends(0)) is None


def test_pods_that_leave_anyway_come_before_all_that_are_to_end() -> None:
    snapshot = books(
        [node("n0").gpus(1), node("n1").gpus(1)],
        [pod("p0").gpu(1).on("n0"), pod("p1").gpu(1).on("n1").terminating()],
    ).snapshot()
    found = hold(snapshot, gang("g", members(1, WORKER)), ends(0))
    assert nodes_of(found) == ["n1"]
    assert found is not None
    assert (found.goes, found.last) == (("uid-p1",), None)
