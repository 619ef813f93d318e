"""Pods whose volumes are being bound: counted on their node where one is chosen, adrift where none shows."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import PodBuilder, pod
from tests.unit.engine.keptcache import KeptCache
from tests.unit.plan.test_volumes import claim, near, storage_class, volume

from ganglift.api.model import Object
from ganglift.api.storage import BIND_COMPLETED, SELECTED_NODE, Claim, CsiNode, DeviceClass, Namespace
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.engine.competitors import adrift_on
from ganglift.plan.ledger import STORAGE_KINDS
from ganglift.plan.snapshot import Kind
from ganglift.plan.verdict import Placement

USER = pod("user").gpu(1).claim("data")
REFUSED = USER.condition("PodScheduled", "False", "Unschedulable")
PLAN = [Placement(Uid("uid-a"), NodeName("n1"))]
G = Key("default", "g")


def pending(node: str = "") -> Claim:
    return claim(volume="", metadata={"annotations": {SELECTED_NODE: node} if node else {}})


def bound(node: str = "") -> Claim:
    annotations = {BIND_COMPLETED: "yes"} | ({SELECTED_NODE: node} if node else {})
    return claim(metadata={"annotations": annotations})


def taken_by_default() -> Object:
    return volume(claimRef={"namespace": "default", "name": "data"})


@pytest.fixture
def cache() -> KeptCache:
    kept = KeptCache()
    kept.facts.put(pending())
    kept.facts.put(storage_class("WaitForFirstConsumer"))
    kept.quiet()
    return kept


def adrift(cache: KeptCache) -> str:
    found = adrift_on(cache, PLAN)
    return found.name if found is not None else ""


# A node is chosen


def test_a_pod_counts_on_the_node_that_was_chosen_for_its_claim(cache: KeptCache) -> None:
    cache.show(USER)
    cache.facts.put(pending("n2"))
    assert (cache.kind("user"), cache.used("n2")) == (Kind.LIFTED, 1)


def test_it_does_so_whichever_is_seen_first(cache: KeptCache) -> None:
    cache.facts.put(pending("n2"))
    cache.show(USER)
    assert cache.used("n2") == 1


def test_the_choice_that_is_taken_back_counts_no_more(cache: KeptCache) -> None:
    cache.show(USER)
    cache.facts.put(pending("n2"))
    cache.facts.put(pending())
    assert (cache.kind("user"), cache.used("n2")) == (None, 0)
    assert cache.told.returned == 1


def test_it_counts_until_it_is_bound_though_its_claim_is_already(cache: KeptCache) -> None:
    cache.show(REFUSED)
    cache.facts.put(pending("n2"))
    cache.facts.put(bound("n2"))
    assert cache.kind("user") is Kind.LIFTED
    cache.show(REFUSED.on("n2"))
    assert cache.kind("user") is Kind.BOUND


def test_an_attempt_that_fails_once_the_claim_is_bound_ends_it(cache: KeptCache) -> None:
    cache.show(USER)
    cache.facts.put(pending("n2"))
    cache.facts.put(bound("n2"))
    cache.show(REFUSED)
    assert cache.kind("user") is None


def test_a_node_chosen_for_an_earlier_pod_of_the_claim_tells_nothing(cache: KeptCache) -> None:
    cache.facts.put(bound("n2"))
    cache.show(USER)
    assert cache.kind("user") is None


@pytest.mark.parametrize(
    "other",
    [USER.gated(), USER.gated("other"), USER.phase("Failed"), pod("user").gpu(1), pod("user").gpu(1).claim("other")],
    ids=["gated", "gated by others", "over", "without a claim", "with another claim"],
)
def test_who_is_not_being_bound_counts_nowhere(cache: KeptCache, other: PodBuilder) -> None:
    cache.facts.put(pending("n2"))
    cache.show(other)
    assert cache.kind("user") is None


def test_the_node_chosen_goes_before_the_one_nominated(cache: KeptCache) -> None:
    cache.show(USER.nominated("n1"))
    cache.facts.put(pending("n2"))
    assert (cache.used("n1"), cache.used("n2")) == (0, 1)


def test_a_pod_that_goes_leaves_nothing_behind(cache: KeptCache) -> None:
    cache.show(USER)
    cache.facts.put(pending("n2"))
    cache.delete_pod(USER.made)
    cache.facts.put(pending("n3"))
    assert (cache.used("n2"), cache.used("n3")) == (0, 0)


# No node shows


def test_a_pod_whose_volume_is_taken_may_be_on_its_way_to_any_node(cache: KeptCache) -> None:
    cache.show(USER)
    cache.facts.put(taken_by_default())
    assert adrift(cache) == "user"


@pytest.mark.parametrize(
    ("facts", "who"),
    [
        ([], USER),
        ([taken_by_default(), bound()], USER),
        ([taken_by_default(), pending("n2")], USER),
        ([taken_by_default()], USER.nominated("n2")),
        ([taken_by_default()], USER.node_selector({"disk": "fast"})),
        ([taken_by_default()], USER.gpu(9)),
        ([taken_by_default()], USER.on("n2")),
    ],
    ids=["volume not taken", "claim bound", "node chosen", "nominated", "can't go there", "no room there", "bound"],
)
def test_who_can_be_told_is_not_adrift(cache: KeptCache, facts: list[Object], who: PodBuilder) -> None:
    for one in facts:
        cache.facts.put(one)
    cache.show(who)
    assert adrift(cache) == ""


def test_it_is_adrift_until_it_is_bound_though_its_claim_is_already(cache: KeptCache) -> None:
    cache.show(USER)
    cache.facts.put(taken_by_default())
    cache.facts.put(bound())
    assert adrift(cache) == "user"
    cache.show(USER.on("n2"))
    assert adrift(cache) == ""


def test_a_volume_that_is_elsewhere_keeps_it_off_once_the_claim_says_so(cache: KeptCache) -> None:
    for kind in STORAGE_KINDS:
        cache.books.ledger.listed(kind)
    cache.show(USER)
    cache.facts.put(volume(claimRef={"namespace": "default", "name": "data"}, **near("a")))
    assert adrift(cache) == "user"
    cache.facts.put(bound())
    assert adrift(cache) == ""


# Who is told


def member(name: str = "a") -> PodBuilder:
    return pod(name).gang("g").gpu(1).gated().claim("data")


@pytest.mark.parametrize(
    "one", [pending("n1"), bound(), taken_by_default()], ids=["a node chosen", "claim bound", "volume taken"]
)
def test_the_group_that_mounts_the_claim_is_told(cache: KeptCache, one: Object) -> None:
    cache.show(member(), pod("b").gang("h").gpu(1).gated().claim("other"))
    cache.quiet()
    cache.facts.put(one)
    assert (cache.told.changed, cache.told.grew) == ([G], [])


def test_a_claim_that_is_bound_is_told_once(cache: KeptCache) -> None:
    cache.show(member("a"), member("b"))
    cache.facts.put(bound())
    cache.facts.put(bound("n1"))
    assert cache.told.bound == [G]


@pytest.mark.parametrize(
    "one",
    [
        claim("other"),
        volume(claimRef={"namespace": "default", "name": "other"}),
        pending(),
        Namespace.model_validate({"metadata": {"name": "empty", "labels": {"a": "b"}}}),
        Namespace.model_validate({"metadata": {"name": "default", "labels": {"a": "b"}, "annotations": {"c": "d"}}}),
    ],
    ids=["another claim", "a volume for another claim", "nothing new", "a namespace without pods", "an annotation"],
)
def test_what_can_matter_to_nobody_wakes_nobody(cache: KeptCache, one: Object) -> None:
    cache.facts.put(Namespace.model_validate({"metadata": {"name": "default", "labels": {"a": "b"}}}))
    cache.show(member(), pod("x").on("n1"))
    cache.quiet()
    cache.facts.put(one)
    assert (cache.told.changed, cache.told.grew, cache.told.bound) == ([], [], [])


@pytest.mark.parametrize(
    "one",
    [
        volume("free"),
        storage_class("Immediate"),
        CsiNode.model_validate({"metadata": {"name": "n1"}}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_claims_are_bound_to_is_told_to_groups_that_have_any_and_wait(cache: KeptCache, one: Object) -> None:
    cache.show(member("a"), member("b"), pod("c").gang("h").gpu(1).gated(), USER.gang("i"))
    cache.quiet()
    cache.facts.put(one)
    assert (cache.told.bound, cache.told.grew) == ([G], [])


@pytest.mark.parametrize("end", ["lifted", "gone"])
def test_it_is_not_told_to_those_that_wait_no_more(cache: KeptCache, end: str) -> None:
    cache.show(member())
    if end == "gone":
        cache.delete_pod(member().made)
    else:
        cache.show(pod("a").gang("g").gpu(1).claim("data"))
    cache.quiet()
    cache.facts.put(volume("free"))
    assert cache.told.bound == []


@pytest.mark.parametrize(
    "one",
    [
        DeviceClass.model_validate({"metadata": {"name": "gpus"}, "spec": {"extendedResourceName": "x.dev/gpu"}}),
        Namespace.model_validate({"metadata": {"name": "default", "labels": {"a": "c"}}}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_can_matter_to_any_wakes_all(cache: KeptCache, one: Object) -> None:
    cache.show(pod("x").on("n1"))
    cache.quiet()
    cache.facts.put(one)
    assert cache.told.grew == [None]


def test_claims_that_a_full_list_lacks_are_counted_no_more(cache: KeptCache) -> None:
    cache.facts.put(pending("n2"))
    cache.show(USER)
    cache.facts.replace(Claim, [])
    assert cache.kind("user") is None


@pytest.mark.parametrize("end", ["claim", "volume"])
def test_the_end_of_what_a_group_mounts_is_told(cache: KeptCache, end: str) -> None:
    things: dict[str, Any] = {"claim": bound(), "volume": taken_by_default()}
    for one in things.values():
        cache.facts.put(one)
    cache.show(member())
    cache.quiet()
    cache.facts.drop(things[end])
    assert (cache.told.changed, cache.told.bound) == ([G], [])
