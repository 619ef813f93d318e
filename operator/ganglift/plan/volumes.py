"""Claims and volumes: where a pod that mounts them can go, and what of that can't be told beforehand.

The rules of kube-scheduler's VolumeBinding (bound claims), VolumeZone, VolumeRestrictions and NodeVolumeLimits. A
claim that is bound only once its pod has a node (WaitForFirstConsumer) is named as not judged. Volumes that are still
attached to a node though no pod uses them any more do not count toward its limit here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ganglift.api.selectors import Requirement
from ganglift.api.storage import Claim, PersistentVolume, StorageClass
from ganglift.base.ids import NodeName
from ganglift.plan.nodes import Mask, NodeTable
from ganglift.plan.shape import ClaimKey, Demand
from ganglift.plan.verdict import Cause, CauseKind

_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_ZONE_KEYS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
_MANY_ZONES = "__"


@dataclass(frozen=True, slots=True)
class VolumeId:
    driver: str
    handle: str


@dataclass(frozen=True, slots=True)
class Storage:
    """Claims, volumes and classes as last seen. `is_known` is False until they have been listed once.

    `limits` are how many volumes of each CSI driver a node takes. `why_unknown` is for the user, and may be empty.
    """

    is_known: bool = False
    why_unknown: str = ""
    claims: Mapping[ClaimKey, Claim] = field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    limits: Mapping[NodeName, Mapping[str, int]] = field(default_factory=dict)

    def volume_id(self, key: ClaimKey) -> VolumeId | None:
        """Return the CSI volume behind a bound claim, None where there is none that counts toward a limit."""
        claim = self.claims.get(key)
        volume = self.volumes.get(claim.spec.volume_name) if claim is not None else None
        csi = volume.spec.csi if volume is not None else None
        return VolumeId(csi.driver, csi.volume_handle) if csi is not None and csi.driver and csi.volume_handle else None

    def is_exclusive(self, key: ClaimKey) -> bool:
        """Whether only one pod at a time may use the claim, wherever it runs (ReadWriteOncePod)."""
        claim = self.claims.get(key)
        return claim is not None and "ReadWriteOncePod" in claim.spec.access_modes


@dataclass(frozen=True, slots=True)
class Mounts:
    """What a demand's claims mean for its place. `refusals` are causes with the nodes they keep it off."""

    refusals: tuple[tuple[Cause, Mask], ...] = ()
    unjudged: tuple[str, ...] = ()
    exclusive: tuple[ClaimKey, ...] = ()
    attached: frozenset[VolumeId] = frozenset()


def mounts_of(demand: Demand, storage: Storage, table: NodeTable) -> Mounts:
    """Return what the demand's claims mean on these nodes."""
    if not demand.claims:
        return Mounts()
    if not storage.is_known:
        why = f", since {storage.why_unknown}" if storage.why_unknown else ""
        return Mounts(unjudged=tuple(f"volume claim {name}{why}" for _, name in demand.claims))
    refusals: list[tuple[Cause, Mask]] = []
    unjudged: list[str] = []
    for key in demand.claims:
        if (problem := _problem(storage, key)) is not None:
            refusals.append((Cause(CauseKind.CLAIM, problem), np.ones(len(table), np.bool_)))
        elif (claim := storage.claims[key]).is_fully_bound:
            refusals += _off_limits(storage.volumes[claim.spec.volume_name], table)
        else:
            refusals += _off_selected(claim, table)
            unjudged.append(f"volume claim {claim.name}, which is bound only once its pod has a node")
    ids = (storage.volume_id(key) for key in demand.claims)
    return Mounts(
        tuple(refusals),
        tuple(unjudged),
        tuple(key for key in demand.claims if storage.is_exclusive(key)),
        frozenset(one for one in ids if one is not None),
    )


def over_limit(mounts: Mounts, storage: Storage, table: NodeTable, on_node: Mapping[int, Iterable[ClaimKey]]) -> Mask:
    """Return the nodes on which the demand's volumes would be more than a driver takes."""
    over = np.zeros(len(table), np.bool_)
    if not mounts.attached:
        return over
    for name, limits in storage.limits.items():
        if (node := table.position.get(name)) is None:
            continue
        ids = {storage.volume_id(key) for key in on_node.get(node, ())}
        over[node] = any(
            _count(ids, driver) + _count(mounts.attached - ids, driver) > limit
            for driver, limit in limits.items()
            if _count(mounts.attached - ids, driver)
        )
    return over


def _count(ids: Iterable[VolumeId | None], driver: str) -> int:
    return sum(one is not None and one.driver == driver for one in ids)


def _problem(storage: Storage, key: ClaimKey) -> str | None:
    """Why no pod with this claim can go anywhere, None if there is no such reason."""
    claim, name = storage.claims.get(key), key[1]
    if claim is None:
        return f"claim {name} does not exist"
    if claim.status.phase == "Lost":
        return f"claim {name} has lost its volume"
    if claim.is_deleting:
        return f"claim {name} is being deleted"
    if claim.is_fully_bound:
        return None if claim.spec.volume_name in storage.volumes else f"volume of claim {name} does not exist"
    return None if _waits_for_consumer(storage, claim) else f"claim {name} is not bound"


def _waits_for_consumer(storage: Storage, claim: Claim) -> bool:
    """Whether the claim is to be bound by kube-scheduler; one that names its volume already is not."""
    name = claim.metadata.annotations.get(_BETA_CLASS, claim.spec.storage_class_name or "")
    storage_class = storage.classes.get(name)
    return storage_class is not None and storage_class.waits_for_consumer and not claim.spec.volume_name


def _off_selected(claim: Claim, table: NodeTable) -> list[tuple[Cause, Mask]]:
    """A claim whose volume is being made for one node already ties its pod to that node."""
    if not claim.selected_node:
        return []
    elsewhere = np.ones(len(table), np.bool_)
    if (node := table.position.get(NodeName(claim.selected_node))) is not None:
        elsewhere[node] = False
    return [(Cause(CauseKind.CLAIM, f"claim {claim.name} is being bound for {claim.selected_node}"), elsewhere)]


def _off_limits(volume: PersistentVolume, table: NodeTable) -> list[tuple[Cause, Mask]]:
    refusals = []
    affinity = volume.spec.node_affinity.required if volume.spec.node_affinity else None
    if affinity is not None:
        refusals.append((Cause(CauseKind.VOLUME_AFFINITY, volume.name), ~table.selected(affinity)))
    zoned = table.labelled(tuple(_ZONE_KEYS))
    for key, general in _ZONE_KEYS.items():
        if (value := volume.metadata.labels.get(key)) is not None:
            zones = tuple(zone.strip() for zone in value.split(_MANY_ZONES))
            if all(zones):
                elsewhere = zoned & ~_in_zone(table, key, general, zones)
                refusals.append((Cause(CauseKind.VOLUME_ZONE, volume.name), elsewhere))
    return refusals


def _in_zone(table: NodeTable, key: str, general: str, zones: tuple[str, ...]) -> Mask:
    """Nodes whose label of that key, or else of its general successor, is one of the zones."""
    own = table.where(Requirement(key=key, operator="In", values=zones))
    lacks = table.where(Requirement(key=key, operator="DoesNotExist"))
    return own | (lacks & table.where(Requirement(key=general, operator="In", values=zones)))
