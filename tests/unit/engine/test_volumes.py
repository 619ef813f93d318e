"""Gangs with claims, namespaces and device classes in a whole cluster: what wakes them, what is told as not judged."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.fakes.apiserver import Refuse, on
from tests.fakes.apiserver.refusals import Obj, not_served
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import GPU, job, node, node_of, pod, podgroup, pods

from ganglift.api.storage import BIND_COMPLETED, SELECTED_NODE
from ganglift.base.ids import Key
from ganglift.kube.resources import (
    DEVICE_CLASSES,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_GROUPS,
    PODS,
)

ZONE = "topology.kubernetes.io/zone"
IMEX: dict[str, Any] = {"resourceClaims": [{"name": "imex", "resourceClaimName": "imex"}]}
NOT_JUDGED = "not judged: resource claim imex"


def mounts(claim: str = "data") -> dict[str, Any]:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def claim(name: str = "data", volume: str = "", *, waits: bool = False, annotations: Obj | None = None) -> Obj:
    metadata: Obj = {"name": name, "namespace": "default", "annotations": annotations or {}}
    if volume:
        metadata["annotations"] = {BIND_COMPLETED: "yes"} | metadata["annotations"]
    spec = {"volumeName": volume, "storageClassName": "late" if waits else "now"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def volume(name: str = "pv", zone: str = "a", claim: str = "data") -> Obj:
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    spec: Obj = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
    spec |= {"claimRef": {"namespace": "default", "name": claim}} if claim else {}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def storage_class(name: str) -> Obj:
    mode = {"now": "Immediate", "late": "WaitForFirstConsumer"}[name]
    metadata = {"name": name}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata,
        "provisioner": "example.dev/disk",
        "volumeBindingMode": mode,
    }


def zoned(cluster: FakeCluster) -> None:
    """A node in each of the zones a and b, storage classes, and an operator."""
    cluster.add(node("na", gpus=4, **{ZONE: "a"}), node("nb", gpus=4, **{ZONE: "b"}))
    cluster.add(storage_class("now"), storage_class("late"))
    cluster.operator()


def message(cluster: FakeCluster) -> str:
    return str(cluster.condition("g").get("message", ""))


def messages(cluster: FakeCluster) -> list[tuple[str, str]]:
    """Reason and message of each state that the group goes through, as they are written."""
    said: list[tuple[str, str]] = []

    def see(resource: Any, _place: Any, change: Any) -> None:
        if resource == POD_GROUPS and change.stored.obj.get("status"):
            condition = next(c for c in change.stored.obj["status"]["conditions"] if c["type"] == "Scheduled")
            said.append((condition["reason"], condition["message"]))

    cluster.core.api.store.observe(see)
    return said


# What can't be judged is told


async def test_what_is_not_judged_is_told_from_the_first_step_until_all_are_bound(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    said = messages(cluster)
    cluster.add(podgroup("g", 2), *pods("g", 2, **IMEX))
    await cluster.until(lambda: cluster.reason("g") == "Scheduled")
    planned = [words for reason, words in said if reason in ("Reserved", "Lifting", "Settling")]
    assert planned
    assert [words for words in planned if not words.endswith(f"; {NOT_JUDGED}")] == []
    assert "not judged" not in message(cluster)


async def test_what_is_not_judged_is_told_behind_a_fence(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(pod("rival", gpus=9))
    await cluster.until(lambda: cluster.scheduler.pods)
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 2), *pods("g", 2, **IMEX))
    await cluster.until(lambda: "a fence makes sure" in message(cluster))
    assert message(cluster).endswith(f"; {NOT_JUDGED}")


async def test_a_new_process_tells_what_is_not_judged_of_a_gang_that_is_being_bound(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    first = cluster.operator()
    cluster.scheduler.stop()
    cluster.add(podgroup("g", 2), *pods("g", 2, **IMEX))
    await cluster.until(lambda: cluster.reason("g") == "Settling")
    await first.kill()
    cluster.edit(POD_GROUPS, "g", {"metadata": {"annotations": {"touched": "yes"}}})
    cluster.operator()
    await asyncio.sleep(5)
    assert message(cluster) == f"0 of 2 members bound; {NOT_JUDGED}"


async def test_a_gang_taken_back_says_what_was_not_judged(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.scheduler.stop()
    cluster.add(job("train", 2, pod_spec=IMEX, scheduleTimeoutSeconds=5))
    said = messages(cluster)
    await cluster.until(lambda: any(reason == "BackOff" for reason, _ in said))
    assert next(f"; {NOT_JUDGED}; next" in words for reason, words in said if reason == "BackOff")


async def test_a_gang_that_waits_for_its_volumes_is_tried_and_says_so(cluster: FakeCluster) -> None:
    zoned(cluster)
    cluster.scheduler.stop()
    cluster.add(claim(waits=True), podgroup("g", 1), pod("g-0", "g", **mounts()))
    await cluster.until(lambda: cluster.reason("g") == "Settling")
    assert message(cluster).endswith("; not judged: volume claim data, which is bound only once its pod has a node")


async def test_a_permission_that_is_missing_is_named(cluster: FakeCluster) -> None:
    cluster.core.deny("watch", PERSISTENT_VOLUME_CLAIMS)
    zoned(cluster)
    cluster.scheduler.stop()
    cluster.add(claim(), podgroup("g", 1), pod("g-0", "g", **mounts()))
    await cluster.until(lambda: cluster.reason("g") == "Settling")
    assert message(cluster).endswith("volume claim data, since the operator may not watch persistentvolumeclaims")


async def test_without_the_right_to_list_too_nothing_is_known(cluster: FakeCluster) -> None:
    for verb in ("list", "watch"):
        cluster.core.deny(verb, PERSISTENT_VOLUME_CLAIMS)
    zoned(cluster)
    cluster.scheduler.stop()
    cluster.add(claim(), podgroup("g", 1), pod("g-0", "g", **mounts()))
    await cluster.until(lambda: cluster.reason("g") == "Settling")
    assert "since the operator may not" in message(cluster)


async def test_a_permission_that_comes_late_is_used(cluster: FakeCluster) -> None:
    fault = cluster.core.faults
    cluster.core.deny("watch", PERSISTENT_VOLUME_CLAIMS)
    zoned(cluster)
    cluster.add(claim(), podgroup("g", 2), pod("g-0", "g", **mounts()))
    await cluster.until(lambda: cluster.reason("g") == "WaitingForMembers")
    fault.clear()
    await asyncio.sleep(40)
    cluster.add(pod("g-1", "g", **mounts()))
    await cluster.until(lambda: "claim data is not bound" in message(cluster))


async def test_a_permission_that_is_taken_away_ends_what_is_known(cluster: FakeCluster) -> None:
    zoned(cluster)
    cluster.add(claim(), podgroup("g", 1), pod("g-0", "g", **mounts()))
    await cluster.until(lambda: "claim data is not bound" in message(cluster))
    cluster.core.deny("watch", PERSISTENT_VOLUME_CLAIMS)
    cluster.scheduler.stop()
    cluster.core.end_watches(PERSISTENT_VOLUME_CLAIMS)
    await cluster.until(lambda: "may not watch persistentvolumeclaims" in message(cluster))
    cluster.core.faults.clear()
    await cluster.until(lambda: "not judged" not in message(cluster))


async def test_a_cluster_that_serves_no_device_classes_has_none(cluster: FakeCluster) -> None:
    cluster.core.faults.add(on("watch", DEVICE_CLASSES), Refuse(not_served()), times=None)
    cluster.core.faults.add(on("list", DEVICE_CLASSES), Refuse(not_served()), times=None)
    cluster.nodes(1)
    cluster.operator()
    cluster.add(podgroup("g", 1), *pods("g", 1))
    await cluster.until(lambda: cluster.bound("g") == 1, within_s=2)


async def test_a_resource_that_a_device_class_serves_is_not_judged(cluster: FakeCluster) -> None:
    cluster.nodes(1)
    cluster.operator()
    cluster.scheduler.stop()
    cluster.add(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "gpus"},
            "spec": {"extendedResourceName": GPU},
        }
    )
    cluster.add(podgroup("g", 1), *pods("g", 1))
    await cluster.until(lambda: cluster.reason("g") == "Settling")
    assert message(cluster).endswith(f"not judged: {GPU}, where a device class serves it")


# What wakes


async def test_a_gang_starts_where_its_volumes_are(cluster: FakeCluster) -> None:
    zoned(cluster)
    for name, zone in (("one", "a"), ("two", "b")):
        cluster.add(volume(f"pv-{name}", zone, name), claim(name, f"pv-{name}"))
    cluster.add(podgroup("g", 2), *(pod(f"g-{name}", "g", **mounts(name)) for name in ("one", "two")))
    await cluster.until(lambda: cluster.bound("g") == 2)
    assert [node_of(one) for one in cluster.pods("g")] == ["na", "nb"]


@pytest.mark.parametrize("last", ["claim", "volume"])
async def test_a_gang_starts_within_a_second_of_the_last_of_claim_and_volume(cluster: FakeCluster, last: str) -> None:
    zoned(cluster)
    cluster.add(claim(), podgroup("g", 1), pod("g-0", "g", **mounts()))
    await cluster.until(lambda: "claim data is not bound" in message(cluster))

    def bind_claim() -> None:
        change = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "spec": {"volumeName": "pv"}}
        cluster.edit(PERSISTENT_VOLUME_CLAIMS, "data", change)

    def make_volume() -> None:
        cluster.add(volume())

    first, second = (make_volume, bind_claim) if last == "claim" else (bind_claim, make_volume)
    first()
    await asyncio.sleep(5)
    assert cluster.bound("g") == 0
    second()
    await cluster.until(lambda: cluster.bound("g") == 1, within_s=1)
    assert node_of(cluster.pods("g")[0]) == "na"


async def test_a_gang_starts_within_a_second_of_a_namespaces_labels(cluster: FakeCluster) -> None:
    """A pod of the other namespace keeps away from pods of the team, of which the gang's are no longer."""
    cluster.edit(NAMESPACES, "default", {"metadata": {"labels": {"team": "x"}}})
    cluster.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}})
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {},
        "namespaceSelector": {"matchLabels": {"team": "x"}},
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    loner = pod("loner", gpus=0, affinity=apart, nodeName="n1")
    loner["metadata"]["namespace"] = "lab"
    cluster.nodes(1)
    cluster.add(loner)
    cluster.operator()
    cluster.add(podgroup("g", 1), *pods("g", 1))
    await cluster.until(lambda: "anti-affinity" in message(cluster))
    cluster.edit(NAMESPACES, "default", {"metadata": {"labels": {"team": "y"}}})
    await cluster.until(lambda: cluster.bound("g") == 1, within_s=1)


# Who is being bound


async def test_room_is_taken_that_a_claim_shows_a_pod_is_being_bound_to(cluster: FakeCluster) -> None:
    cluster.add(node("na"), storage_class("late"))
    cluster.operator()
    cluster.scheduler.stop()
    cluster.add(claim(waits=True, annotations={SELECTED_NODE: "na"}), pod("user", **mounts()))
    await asyncio.sleep(1)
    cluster.add(podgroup("g", 1), *pods("g", 1))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    assert message(cluster).startswith("0 of 1 member fits: 1 node: 1 insufficient nvidia.com/gpu")
    cluster.delete(PODS, "user")
    cluster.scheduler.go_on()
    await cluster.until(lambda: cluster.bound("g") == 1)


async def test_nothing_is_lifted_onto_nodes_that_a_pod_without_a_node_is_being_bound_to(cluster: FakeCluster) -> None:
    """Its volume is taken for its claim and nothing shows where it goes; kube-scheduler answers the fence at once."""
    cluster.nodes(1)
    cluster.add(storage_class("late"), claim(waits=True), volume(zone="a"))
    cluster.operator()
    cluster.scheduler.stop()
    cluster.add(pod("user", **mounts()))
    await asyncio.sleep(1)
    cluster.add(podgroup("g", 1), *pods("g", 1))
    await cluster.until(lambda: "default/user may be on its way" in message(cluster))
    await cluster.stays(lambda: cluster.count("g", gated=True) == 1, for_s=60)
    cluster.bind("user", "n1")
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable", within_s=400)


async def test_a_claim_that_is_bound_ends_the_wait_after_a_failure(cluster: FakeCluster) -> None:
    cluster.add(node("na", 1, **{ZONE: "a"}), storage_class("late"), claim(waits=True))
    operator = cluster.operator()
    cluster.scheduler.stop()
    cluster.add(job("train", 1, pod_spec=mounts(), scheduleTimeoutSeconds=1))
    group = Key("default", "train-workers")
    await cluster.until(
        lambda: group in operator.engine.entries and operator.engine.entries[group].backoff.failures > 5
    )
    await asyncio.sleep(3)
    assert cluster.count("train-workers", gated=True) == 1
    cluster.scheduler.go_on()
    cluster.add(volume())
    change = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "spec": {"volumeName": "pv"}}
    cluster.edit(PERSISTENT_VOLUME_CLAIMS, "data", change)
    await cluster.until(lambda: cluster.bound("train-workers") == 1, within_s=2)
