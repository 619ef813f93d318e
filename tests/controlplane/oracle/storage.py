"""Claims and volumes that pods of the oracle's worlds mount, all in namespace `default`, the same for all worlds.

Volumes have what binds a pod to nodes: node affinity, labels of a zone, a CSI driver with limits on some nodes. Two
claims let nobody in: one that is not bound and one that is being deleted.
"""

from collections.abc import Iterable
from random import Random
from typing import Any

from tests.builders import HOST, RACK, ZONE, PodBuilder

Object = dict[str, Any]

DRIVER = "csi.example.com"
LIMITS = {"n0": 1, "n1": 1, "n2": None, "n3": 1, "n4": 2}
"""How many volumes of the driver a node takes; None where it does not say."""


def _term(key: str, operator: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


AFFINITIES = {
    "in-zones": [_term(ZONE, "In", "a", "b")],
    "on-hosts": [_term(HOST, "In", "n1", "n3")],
    "off-rack": [_term(RACK, "NotIn", "x")],
    "sized": [_term("size", "Exists")],
    "large": [_term("size", "Gt", "4"), _term(ZONE, "In", "c")],
}
_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
_REGION = "topology.kubernetes.io/region"
LABELS = {
    "zone-a": {ZONE: "a"},
    "zones-b-c": {ZONE: "b__c"},
    "beta-zone-a": {_BETA_ZONE: "a"},
    "region-r": {_REGION: "r"},
    "zone-b-region-s": {ZONE: "b", _REGION: "s"},
}
HANDLES = {"csi-1": "v1", "csi-2": "v2", "csi-3": "v3", "csi-3-again": "v3"}
ALONE = ("alone-1", "alone-2")
"""Claims for one pod at a time."""
NOWHERE = ("unbound", "leaving", "missing")
"""Claims with which a pod can go nowhere; the last is not there."""


def claims() -> tuple[str, ...]:
    """The names of all claims that are bound."""
    return (*AFFINITIES, *LABELS, *HANDLES, *ALONE)


def volumes() -> Iterable[Object]:
    """The volumes, each for the claim of its name."""
    for name in claims():
        spec: Object = {"hostPath": {"path": "/tmp/oracle"}}
        if name in HANDLES:
            spec = {"csi": {"driver": DRIVER, "volumeHandle": HANDLES[name]}}
        if name in AFFINITIES:
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": AFFINITIES[name]}}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": LABELS.get(name, {})},
            "spec": {
                **spec,
                **_common(name),
                "capacity": {"storage": "1Gi"},
                "claimRef": {"namespace": "default", "name": name},
            },
        }


def volume_claims() -> Iterable[Object]:
    """The claims; those in NOWHERE name no volume."""
    for name in (*claims(), *NOWHERE[:-1]):
        metadata: Object = {"name": name}
        if name == "leaving":
            metadata["finalizers"] = ["example.com/stay"]
        spec = {**_common(name), "resources": {"requests": {"storage": "1Gi"}}}
        if name not in NOWHERE:
            spec["volumeName"] = name
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def _common(name: str) -> Object:
    return {"storageClassName": "", "accessModes": ["ReadWriteOncePod" if name in ALONE else "ReadWriteMany"]}


def driver() -> Object:
    """The CSI driver: nothing is ever attached, so that a pod's volumes go with it."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER},
        "spec": {"attachRequired": False},
    }


def csi_nodes() -> Iterable[Object]:
    """What nodes say of the driver."""
    for node, count in LIMITS.items():
        allocatable = {} if count is None else {"allocatable": {"count": count}}
        yield {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": node},
            "spec": {"drivers": [{"name": DRIVER, "nodeID": node, "topologyKeys": [], **allocatable}]},
        }


# Pods that mount


def mounting(rng: Random, made: PodBuilder) -> PodBuilder:
    """Mount a claim or two."""
    made = made.namespace("default")
    if rng.random() < 0.07:
        return made.claim(rng.choice(NOWHERE))
    kind = rng.choice((AFFINITIES, LABELS, HANDLES, HANDLES, HANDLES))
    for name in rng.sample(tuple(kind), rng.choice((1, 1, 2))):
        made = made.claim(name)
    return made


def mounting_alone(rng: Random, made: PodBuilder) -> PodBuilder:
    """Mount a claim for one pod at a time."""
    return made.namespace("default").claim(rng.choice(ALONE))


def mounting_disk(rng: Random, made: PodBuilder) -> PodBuilder:
    """Mount a disk without a claim."""
    return made.volume("disk", **_disk(rng))


def _disk(rng: Random) -> Object:
    """A disk that a pod names itself; of some kinds several pods may read one."""
    read_only = {"readOnly": rng.random() < 0.5}
    monitors = rng.sample(("10.0.0.1", "10.0.0.2", "10.0.0.3"), 2)
    return rng.choice(
        (
            {"gcePersistentDisk": {"pdName": "d1", **read_only}},
            {"awsElasticBlockStore": {"volumeID": "d1", **read_only}},
            {"iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2026-11.com.example:d1", "lun": 0, **read_only}},
            {"rbd": {"monitors": monitors, "image": "d1", **read_only}},
        )
    )
