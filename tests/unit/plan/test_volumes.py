"""Claims and volumes: where they let a pod go."""

from typing import Any

import pytest
from tests.builders import PodBuilder, books, gang, members, node, pod

from ganglift.api.model import Object
from ganglift.api.storage import BIND_COMPLETED, Claim, CsiNode, PersistentVolume, StorageClass
from ganglift.base.ids import Key, NodeName
from ganglift.plan.books import Books
from ganglift.plan.filters import check
from ganglift.plan.plan import plan
from ganglift.plan.shape import shape_of
from ganglift.plan.verdict import DoesNotFit, Fits
from ganglift.plan.words import cause_words

ZONE = "topology.kubernetes.io/zone"
MOUNTS = pod("w").claim("data")


def claim(name: str = "data", volume: str = "pv", **more: Any) -> Claim:
    metadata = {"name": name, "namespace": "default", "annotations": {BIND_COMPLETED: "yes"} if volume else {}}
    spec = {"volumeName": volume, "storageClassName": "fast", "accessModes": ["ReadWriteOnce"]} | more.pop("spec", {})
    return Claim.model_validate({"metadata": metadata | more.pop("metadata", {}), "spec": spec} | more)


def volume(name: str = "pv", labels: dict[str, str] | None = None, **spec: Any) -> PersistentVolume:
    return PersistentVolume.model_validate({"metadata": {"name": name, "labels": labels or {}}, "spec": spec})


def storage_class(mode: str) -> StorageClass:
    return StorageClass.model_validate({"metadata": {"name": "fast"}, "volumeBindingMode": mode})


def near(zone: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}


def cluster(*objects: Object, pods: list[PodBuilder] | None = None) -> Books:
    """Two nodes in zones a and b, with everything of storage listed."""
    kept = books([node("a").zone("a"), node("b").zone("b")], pods)
    for one in objects:
        kept.ledger.put(one)
    for kind in (Claim, PersistentVolume, StorageClass, CsiNode):
        kept.ledger.listed(kind)
    return kept


def refusals(kept: Books, name: str, who: PodBuilder = MOUNTS) -> list[str]:
    return [cause_words(cause) for cause in check(kept.snapshot(), shape_of(who.made), NodeName(name))]


def verdict(kept: Books, who: PodBuilder = MOUNTS, count: int = 1) -> Fits | DoesNotFit:
    found = plan(kept.snapshot(), [gang("g", members(count, who))]).verdicts[Key("default", "g")]
    assert isinstance(found, Fits | DoesNotFit)
    return found


def test_a_bound_volume_keeps_its_pod_where_the_volume_can_be() -> None:
    kept = cluster(claim(), volume(**near("b")))
    assert refusals(kept, "a") == ["out of reach of volume pv"]
    assert refusals(kept, "b") == []


@pytest.mark.parametrize("key", [ZONE, "failure-domain.beta.kubernetes.io/zone"])
def test_a_zone_label_of_the_volume_does_the_same(key: str) -> None:
    kept = cluster(claim(), volume(labels={key: "b__c"}))
    assert refusals(kept, "a") == ["not in the zone of volume pv"]
    assert refusals(kept, "b") == []


def test_nodes_without_any_zone_label_take_every_volume() -> None:
    kept = cluster(claim(), volume(labels={ZONE: "c"}))
    kept.set_node(node("bare").made)
    assert refusals(kept, "bare") == []


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        pytest.param([], "claim data does not exist", id="no claim"),
        pytest.param([claim()], "volume of claim data does not exist", id="no volume"),
        pytest.param([claim(status={"phase": "Lost"}), volume()], "claim data has lost its volume", id="lost"),
        pytest.param(
            [claim(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), volume()],
            "claim data is being deleted",
            id="deleting",
        ),
        pytest.param([claim(volume=""), storage_class("Immediate")], "claim data is not bound", id="not bound yet"),
        pytest.param([claim(volume="")], "claim data is not bound", id="no storage class"),
    ],
)
def test_a_claim_that_nobody_can_mount_keeps_the_pod_off_every_node(objects: list[Any], words: str) -> None:
    kept = cluster(*objects)
    assert refusals(kept, "a") == refusals(kept, "b") == [words]


def test_a_claim_that_waits_for_its_pod_is_named_as_not_judged() -> None:
    found = verdict(cluster(claim(volume=""), storage_class("WaitForFirstConsumer")))
    assert isinstance(found, Fits)
    assert found.unjudged == ("volume claim data, which is bound only once its pod has a node",)


def test_claims_are_named_as_not_judged_until_storage_has_been_listed() -> None:
    found = verdict(books([node("a")]))
    assert isinstance(found, Fits)
    assert found.unjudged == ("volume claim data",)


def test_a_claim_for_one_pod_alone_is_not_shared() -> None:
    alone = claim(spec={"accessModes": ["ReadWriteOncePod"]})
    assert isinstance(verdict(cluster(alone, volume())), Fits)
    assert isinstance(verdict(cluster(alone, volume()), count=2), DoesNotFit)
    used = cluster(alone, volume(), pods=[pod("other").claim("data").on("b")])
    assert refusals(used, "a") == ["claim data is in use by another pod"]


def test_that_members_with_claims_of_their_own_do_not_fit_is_proven() -> None:
    claims = [claim(f"data-{i}", f"pv-{i}") for i in range(3)]
    kept = cluster(*claims, *(volume(f"pv-{i}") for i in range(3)))
    kept.set_node(node("a").zone("a").gpus(2).made)
    mounting = tuple(pod(f"w-{i}").gpu(1).claim(f"data-{i}").member() for i in range(3))
    found = plan(kept.snapshot(), [gang("g", mounting)]).verdicts[Key("default", "g")]
    assert isinstance(found, DoesNotFit)
    assert (found.fit, found.proven) == (2, True)


def csi(handle: str) -> PersistentVolume:
    return volume(f"pv-{handle}", csi={"driver": "disk.example.com", "volumeHandle": handle})


def limit(name: str, count: int) -> CsiNode:
    driver = {"name": "disk.example.com", "allocatable": {"count": count}}
    return CsiNode.model_validate({"metadata": {"name": name}, "spec": {"drivers": [driver]}})


def test_a_node_takes_as_many_volumes_as_its_driver_allows() -> None:
    bound = [claim("data", "pv-1"), claim("other", "pv-2"), csi("1"), csi("2")]
    kept = cluster(
        *bound, limit("a", 1), limit("b", 2), pods=[pod("x").claim("other").on("a"), pod("y").claim("other").on("b")]
    )
    assert refusals(kept, "a") == ["with too many volumes"]
    assert refusals(kept, "b") == []


def test_a_volume_that_is_there_already_counts_once() -> None:
    kept = cluster(claim("data", "pv-1"), csi("1"), limit("a", 1), pods=[pod("x").claim("data").on("a")])
    assert refusals(kept, "a") == []


def test_disks_that_one_node_mounts_once_keep_pods_apart() -> None:
    disk = [{"name": "d", "gcePersistentDisk": {"pdName": "disk", "readOnly": False}}]
    mounts = pod("w")._with("spec", "volumes", value=disk)
    kept = cluster(pods=[pod("x")._with("spec", "volumes", value=disk).on("a")])
    assert refusals(kept, "a", mounts) == ["with a disk in use that only one pod may mount"]
    found = verdict(cluster(), mounts, 2)
    assert isinstance(found, Fits)
    assert {placement.node for placement in found.placements} == {"a", "b"}


def test_the_ledger_says_whether_an_object_changed_anything() -> None:
    kept = cluster(claim(), volume())
    assert kept.ledger.put(claim(metadata={"resourceVersion": "7"})) is False
    assert kept.ledger.put(claim(volume="other")) is True
    assert kept.ledger.drop(claim()) is True
    assert kept.ledger.drop(claim()) is False


def test_a_resource_that_a_device_class_serves_is_not_missed_on_nodes_that_do_not_offer_it() -> None:
    from ganglift.api.storage import DeviceClass

    served = {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}}
    kept = cluster()
    kept.ledger.put(DeviceClass.model_validate(served))
    kept.set_node(node("a").zone("a").resource("example.com/gpu", 1).made)
    asks = pod("w").resource("example.com/gpu", 2)
    assert refusals(kept, "a", asks) == ["insufficient example.com/gpu"]
    found = verdict(kept, asks)
    assert isinstance(found, Fits)
    assert found.unjudged == ("example.com/gpu, where a device class serves it",)
