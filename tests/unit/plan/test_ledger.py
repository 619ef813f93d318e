"""What is known of claims, volumes, classes, namespaces: until when it is not, why not, and what counts as a change."""

from typing import Any

import pytest
from tests.builders import books, node, pod
from tests.unit.plan.test_volumes import claim, cluster, refusals, storage_class, verdict, volume

from ganglift.api.model import Object
from ganglift.api.storage import SELECTED_NODE, Claim, CsiNode, Namespace, PersistentVolume
from ganglift.base.ids import NodeName
from ganglift.plan.filters import check
from ganglift.plan.ledger import STORAGE_KINDS, Ledger
from ganglift.plan.room import Room
from ganglift.plan.shape import shape_of
from ganglift.plan.words import cause_words

NO_CLAIMS = "the operator may not list persistentvolumeclaims"
WAITS = "volume claim data, which is bound only once its pod has a node"


def namespace(name: str, **labels: str) -> Namespace:
    return Namespace.model_validate({"metadata": {"name": name, "labels": labels}})


def csi_node(count: int | None) -> CsiNode:
    allocatable = {} if count is None else {"allocatable": {"count": count}}
    return CsiNode.model_validate(
        {"metadata": {"name": "a"}, "spec": {"drivers": [{"name": "disk.example", **allocatable}]}}
    )


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def test_an_object_that_is_put_again_unchanged_is_no_change(ledger: Ledger) -> None:
    assert ledger.put(claim())
    version = ledger.version
    again = claim(metadata={"resourceVersion": "7", "generation": 2})
    assert not ledger.put(again)
    assert ledger.version == version


@pytest.mark.parametrize(
    "changed",
    [
        claim(volume="other"),
        claim(status={"phase": "Lost"}),
        claim(metadata={"deletionTimestamp": "2026-11-30T12:00:00Z"}),
        claim(metadata={"annotations": {SELECTED_NODE: "a"}}),
    ],
    ids=["bound elsewhere", "lost", "being deleted", "a node selected"],
)
def test_what_can_matter_of_a_claim_is_a_change(ledger: Ledger, changed: Claim) -> None:
    ledger.put(claim())
    assert ledger.put(changed)


def test_what_a_full_list_lacks_is_gone(ledger: Ledger) -> None:
    ledger.put(claim("old"))
    assert ledger.replace(Claim, [claim("new")])
    assert set(ledger.storage().claims) == {("default", "new")}


def test_a_full_list_of_what_was_known_is_no_change(ledger: Ledger) -> None:
    ledger.replace(Claim, [claim()])
    assert not ledger.replace(Claim, [claim()])


def test_storage_is_known_once_all_its_kinds_are(ledger: Ledger) -> None:
    for kind in STORAGE_KINDS:
        assert not ledger.storage().is_known
        ledger.listed(kind)
    assert ledger.storage().is_known


def test_a_kind_that_may_no_longer_be_listed_is_not_known_any_more(ledger: Ledger) -> None:
    for kind in STORAGE_KINDS:
        ledger.listed(kind)
    ledger.unknown(Claim, NO_CLAIMS)
    assert (ledger.storage().is_known, ledger.storage().why_unknown) == (False, NO_CLAIMS)
    ledger.listed(Claim)
    assert (ledger.storage().is_known, ledger.storage().why_unknown) == (True, "")


def test_a_volume_is_for_the_claim_that_it_names_last(ledger: Ledger) -> None:
    for name in ("one", "two"):
        ledger.put(volume(claimRef={"namespace": "default", "name": name}))
    assert not ledger.has_volume_for(("default", "one"))
    assert ledger.has_volume_for(("default", "two"))
    ledger.drop(volume())
    assert not ledger.has_volume_for(("default", "two"))


@pytest.mark.parametrize(("later", "limits"), [(csi_node(3), {"a": {"disk.example": 3}}), (csi_node(None), {})])
def test_a_nodes_limits_are_those_that_it_says_last(ledger: Ledger, later: CsiNode, limits: dict[str, Any]) -> None:
    ledger.put(csi_node(2))
    ledger.put(later)
    assert ledger.storage().limits == limits


def test_a_view_that_was_given_out_stays_as_it_was(ledger: Ledger) -> None:
    ledger.put(claim("one"))
    before = ledger.storage()
    ledger.put(claim("two"))
    assert set(before.claims) == {("default", "one")}


def test_only_what_changed_is_viewed_anew(ledger: Ledger) -> None:
    ledger.put(claim())
    before = ledger.storage()
    ledger.put(volume())
    assert ledger.storage().claims is before.claims


def test_why_claims_are_not_known_is_said() -> None:
    kept = books([node("a")])
    kept.ledger.unknown(Claim, NO_CLAIMS)
    kept.ledger.unknown(PersistentVolume, "the operator may not watch persistentvolumes")
    (words,) = verdict(kept).unjudged
    assert words == f"volume claim data, since {NO_CLAIMS} and the operator may not watch persistentvolumes"


def test_why_namespaces_are_not_known_is_said() -> None:
    kept = books([node("a")])
    kept.ledger.unknown(Namespace, "the operator may not list namespaces")
    who = pod("w").apart("zone", {"a": "b"}, namespaceSelector={"matchLabels": {"team": "x"}})
    said = Room(kept.snapshot()).unjudged(shape_of(who.made).demand)
    assert said == ("labels of namespaces, since the operator may not list namespaces",)


def test_labels_of_listed_namespaces_decide_what_a_selector_means() -> None:
    """The other pod keeps away from pods of the team, of which ours is one by its namespace's label."""
    other = pod("other").namespace("lab").apart("zone", {}, namespaceSelector={"matchLabels": {"team": "x"}})
    kept = books([node("a").label("zone", "a")], [other.on("a")])
    for one in (namespace("default", team="x"), namespace("lab")):
        kept.ledger.put(one)
    kept.ledger.listed(Namespace)
    who = shape_of(pod("w").made)
    assert [cause_words(c) for c in check(kept.snapshot(), who, NodeName("a"))]
    kept.ledger.put(namespace("default", team="y"))
    assert check(kept.snapshot(), who, NodeName("a")) == ()


def test_a_claim_being_bound_for_a_node_keeps_its_pod_off_the_others() -> None:
    waiting = claim(volume="", metadata={"annotations": {SELECTED_NODE: "a"}})
    kept = cluster(waiting, storage_class("WaitForFirstConsumer"))
    assert refusals(kept, "a") == []
    assert refusals(kept, "b") == ["claim data is being bound for a"]
    assert verdict(kept).unjudged == (WAITS,)


@pytest.mark.parametrize("one", [claim(), volume(), namespace("x")], ids=lambda one: type(one).__name__)
def test_an_object_that_is_not_there_ends_without_a_change(ledger: Ledger, one: Object) -> None:
    assert not ledger.drop(one)
