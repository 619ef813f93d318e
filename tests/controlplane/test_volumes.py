"""Claims, volumes and namespaces on a real control plane: what they say of places, and what they leave open."""

from collections.abc import Iterator
from functools import partial

import pytest
from tests.controlplane.cluster import NODES, POD_GROUPS, PODS, Cluster, Object, pod, pod_group
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.controlplane.playgrounds import on_both_versions
from tests.support.polling import eventually

from ganglift.api.storage import SELECTED_NODE

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
NAMESPACES = "/api/v1/namespaces"
ZONE = "topology.kubernetes.io/zone"
LATE = "late"
TEAM = "team-x"


@pytest.fixture
def storage(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster; its claims and volumes, and the pods that use them, are gone after the test."""
    yield cluster
    cluster.playground.client.delete(f"{PODS}?gracePeriodSeconds=0")
    for path in (CLAIMS, VOLUMES):
        cluster.playground.client.delete(path)
        eventually(partial(cluster.items, path), lambda left: not left, within_s=60)


def zoned_nodes(cluster: Cluster) -> dict[str, str]:
    """Two nodes of a GPU in each of the zones a and b; return zone by node name."""
    zones = dict(zip(cluster.add_gpu_nodes(4), "abab", strict=True))
    for name, zone in zones.items():
        cluster.merge(f"{NODES}/{name}", {"metadata": {"labels": {ZONE: zone}}})
    return zones


def bound_claim(cluster: Cluster, name: str, zone: str) -> None:
    """A claim that has a volume in the zone."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
    size = {"storage": "1Gi"}
    spec: Object = {
        "capacity": size,
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "claimRef": {"namespace": "default", "name": name},
        "hostPath": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    cluster.create(VOLUMES, {"metadata": {"name": f"pv-{name}"}, "spec": spec})
    cluster.create(CLAIMS, claim(name, ""))
    eventually(lambda: cluster.get(f"{CLAIMS}/{name}"), lambda c: c["status"].get("phase") == "Bound", within_s=30)


def claim(name: str, storage_class: str) -> Object:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, "resources": resources}
    return {"metadata": {"name": name}, "spec": spec}


def late_claim(cluster: Cluster, name: str) -> None:
    """A claim whose volume is made once its pod has a node, by a provisioner that does not run."""
    body = {"metadata": {"name": LATE}, "provisioner": "example.dev/none", "volumeBindingMode": "WaitForFirstConsumer"}
    cluster.ensure(CLASSES, body)
    cluster.create(CLAIMS, claim(name, LATE))


def mounting(claim: str) -> list[Object]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]


def planned(history: History, group: str) -> dict[str, str]:
    """Node by pod name, as nominated last."""
    history.catch_up()
    return {life.name: [node for node in life.nominations if node][-1] for life in history.lives(group)}


@on_both_versions
def test_gang_goes_where_the_volumes_of_its_members_are(
    storage: Cluster, operator: OperatorProcess, history: History
) -> None:
    zones = zoned_nodes(storage)
    wanted = {"train-0": "b", "train-1": "a"}
    for name, zone in wanted.items():
        bound_claim(storage, name, zone)
        storage.create(PODS, pod(name, group="train", volumes=mounting(name)))
    storage.create(POD_GROUPS, pod_group("train", 2))
    bound = storage.await_bound(2, "train")
    assert {name: zones[node] for name, node in bound.items()} == wanted
    assert planned(history, "train") == bound


@on_both_versions
def test_gang_waits_where_no_node_reaches_its_volume_and_says_so(storage: Cluster, operator: OperatorProcess) -> None:
    zoned_nodes(storage)
    bound_claim(storage, "data", "c")
    storage.create(PODS, pod("train-0", group="train", volumes=mounting("data")))
    storage.create(POD_GROUPS, pod_group("train", 1))
    message = storage.await_reason("train", "Unschedulable")["message"]
    assert "4 out of reach of volume pv-data" in message


@on_both_versions
def test_gang_whose_volume_waits_for_it_is_tried_and_says_what_is_not_judged(
    storage: Cluster, operator: OperatorProcess
) -> None:
    zoned_nodes(storage)
    late_claim(storage, "data")
    storage.create(PODS, pod("train-0", group="train", volumes=mounting("data")))
    storage.create(POD_GROUPS, pod_group("train", 1))
    message = storage.await_reason("train", "Settling")["message"]
    assert message.endswith("not judged: volume claim data, which is bound only once its pod has a node")


@on_both_versions
def test_room_is_taken_by_a_pod_whose_volume_is_still_being_made(storage: Cluster, operator: OperatorProcess) -> None:
    """On 1.34 nothing but the claim tells that the pod is on its way to the node."""
    (node,) = storage.add_gpu_nodes(1)
    late_claim(storage, "data")
    storage.create(PODS, pod("other", volumes=mounting("data")))
    chosen = eventually(
        lambda: storage.get(f"{CLAIMS}/data")["metadata"].get("annotations", {}).get(SELECTED_NODE), bool, within_s=15
    )
    assert chosen == node
    storage.create(PODS, pod("train-0", group="train"))
    storage.create(POD_GROUPS, pod_group("train", 1))
    message = storage.await_reason("train", "Unschedulable")["message"]
    assert message.startswith("0 of 1 member fits: 1 node: 1 insufficient nvidia.com/gpu")


@pytest.fixture
def team(cluster: Cluster) -> Iterator[str]:
    """The path of the pods of a namespace with the label `team: x`; they are gone after the test."""
    cluster.ensure(NAMESPACES, {"metadata": {"name": TEAM, "labels": {"team": "x"}}})
    account = f"{NAMESPACES}/{TEAM}/serviceaccounts/default"
    eventually(lambda: cluster.exists(account), bool, within_s=15)
    pods = f"{NAMESPACES}/{TEAM}/pods"
    yield pods
    cluster.delete(f"{pods}?gracePeriodSeconds=0")
    eventually(lambda: cluster.items(pods), lambda left: not left, within_s=30)


@on_both_versions
def test_affinity_to_pods_of_namespaces_with_a_label_is_judged(
    cluster: Cluster, team: str, operator: OperatorProcess, history: History
) -> None:
    zones = zoned_nodes(cluster)
    term = {
        "topologyKey": ZONE,
        "labelSelector": {"matchLabels": {"app": "db"}},
        "namespaceSelector": {"matchLabels": {"team": "x"}},
    }
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for number in range(2):
        cluster.create(PODS, pod(f"train-{number}", group="train", affinity=near))
    cluster.create(POD_GROUPS, pod_group("train", 2))
    refused = cluster.await_reason("train", "Unschedulable")["message"]
    assert "4 not near the pods asked for" in refused
    assert "not judged" not in refused
    database = pod("db", gpus=0, nodeSelector={ZONE: "b"})
    database["metadata"]["labels"] = {"app": "db"}
    cluster.create(team, database)
    bound = cluster.await_bound(2, "train")
    assert {zones[node] for node in bound.values()} == {"b"}
    assert planned(history, "train") == bound
