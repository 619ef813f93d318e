"""Who might take nominated room from a gang."""

import pytest
from tests.builders import PodBuilder, node, pod
from tests.unit.engine.keptcache import KeptCache

from ganglift.api.names import FENCE_LABEL, LIFTED_AT
from ganglift.base.ids import NodeName, Uid
from ganglift.engine.competitors import Rival, rival_of
from ganglift.plan.verdict import Placement

PLAN = [Placement(Uid("uid-a"), NodeName("n1"))]
RESERVED = pod("a").gang("g").gpu(1).gated().nominated("n1")


@pytest.fixture
def cache() -> KeptCache:
    return KeptCache()


def rival(cache: KeptCache) -> Rival | None:
    return rival_of(cache, PLAN, cache.nominated_at(Uid("uid-a")))


def test_a_pod_that_was_there_before_the_nomination_is_a_rival(cache: KeptCache) -> None:
    cache.show(pod("plain").gpu(1), RESERVED)
    assert str(rival(cache)) == "default/plain"


def test_a_pod_that_came_after_the_nomination_is_none(cache: KeptCache) -> None:
    cache.show(RESERVED, pod("plain").gpu(1))
    assert rival(cache) is None


def test_a_pod_whose_gate_went_after_the_nomination_is_none(cache: KeptCache) -> None:
    cache.show(pod("plain").gpu(1).gated("other"), RESERVED, pod("plain").gpu(1))
    assert rival(cache) is None


def test_a_later_event_of_an_old_rival_does_not_make_it_new(cache: KeptCache) -> None:
    cache.show(pod("plain").gpu(1), RESERVED, pod("plain").gpu(1).condition("PodScheduled", "False", "Unschedulable"))
    assert rival(cache) is not None


def test_all_pods_of_a_listing_are_rivals_of_what_the_listing_showed(cache: KeptCache) -> None:
    cache.disordered(True)
    cache.show(RESERVED, pod("plain").gpu(1))
    cache.disordered(False)
    assert rival(cache) is not None


def test_the_first_of_several_is_named_and_the_others_counted(cache: KeptCache) -> None:
    cache.show(*(pod(name).gpu(1) for name in "cab"), RESERVED.label("x", "y"))
    assert str(rival(cache)) == "default/b and 1 more pod"


@pytest.mark.parametrize(
    "other",
    [
        pod("other").gpu(1).on("n2"),
        pod("other").gpu(1).gated("other"),
        pod("other").gpu(1).phase("Succeeded"),
        pod("other").gpu(1).terminating(),
        pod("other").gpu(1).scheduler("other"),
        pod("other").gpu(1).needs_node(("metadata.name", "In", ["n2"]), fields=True),
        pod("other").label(FENCE_LABEL, "true"),
        pod("other").gang("h").gpu(1).annotation(LIFTED_AT, "2026-11-30T12:00:00Z").nominated("n2"),
    ],
    ids=[
        "bound",
        "gated",
        "over",
        "leaving",
        "of another scheduler",
        "can't go there",
        "a fence",
        "ours, with a place",
    ],
)
def test_who_cannot_take_the_room_is_no_rival(cache: KeptCache, other: PodBuilder) -> None:
    cache.show(other, RESERVED)
    assert rival(cache) is None


@pytest.mark.parametrize(
    "other",
    [
        pod("other").gang("h").gpu(1),
        pod("other").gang("h").gpu(1).annotation(LIFTED_AT, "2026-11-30T12:00:00Z"),
        pod("other").gang("h").gpu(1).nominated("n2"),
        pod("other").gpu(1).nominated("n2"),
        pod("other").gpu(1).priority(-5),
        pod("other").gpu(9),
    ],
    ids=["labelled", "ours, without a place", "nominated by others", "preempting", "of lower priority", "too big now"],
)
def test_everyone_else_who_may_go_to_the_node_is_one(cache: KeptCache, other: PodBuilder) -> None:
    cache.show(other, RESERVED)
    assert rival(cache) is not None


def test_a_pod_that_the_nodes_taint_keeps_away_is_no_rival(cache: KeptCache) -> None:
    cache.upsert_node(node("n1").gpus(1).taint("gpu").made)
    cache.show(pod("plain").gpu(1), RESERVED)
    assert rival(cache) is None
