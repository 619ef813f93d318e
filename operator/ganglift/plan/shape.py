"""A pod as placement sees it: two values, interned, so that thousands of like pods cost one.

A `Demand` is what a pod asks of a node: requests, selector, affinity, tolerations, ports, spread, volumes. All pods
made from one template share one, so node masks and capacities are computed once for a whole gang. A `Shape` adds what
other pods' rules may look at: the namespace and the labels.

Both compare by identity, because equal ones are the same object while anyone holds it (they are kept in weak maps, so
finished work leaves nothing behind). Both survive pickling as the same object.
"""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from ganglift.api.pod import Pod
from ganglift.api.selectors import NodeSelector, PodAffinityTerm, Toleration, TopologySpreadConstraint
from ganglift.plan.requests import requests_of, with_slot

Pair = tuple[str, str]
Pairs = tuple[Pair, ...]


ClaimKey = tuple[str, str]
"""Namespace and name of a PersistentVolumeClaim."""


class HostPort(NamedTuple):
    """A port on the node itself; two pods may not have the same one."""

    ip: str
    protocol: str
    port: int


class Disk(NamedTuple):
    """A network disk that a pod names itself, not through a claim. `parts` of which one in common makes it the same."""

    kind: str
    name: str
    parts: tuple[str, ...]
    is_shareable: bool


Exclusive = HostPort | Disk
"""What one node can't give to two pods at a time."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Demand:
    """What a pod asks of a node. `requests` are (resource, units) sorted by name, above 0, the pod slot included.

    `spread` has the DoNotSchedule constraints only, the affinities the required terms only. `unjudged` says in words
    for the user what of this demand the planner has no rule for.
    """

    key: tuple[object, ...]
    requests: tuple[tuple[str, int], ...]
    selector: Pairs
    node_affinity: NodeSelector | None
    tolerations: tuple[Toleration, ...]
    exclusives: tuple[Exclusive, ...]
    spread: tuple[TopologySpreadConstraint, ...]
    affinity: tuple[PodAffinityTerm, ...]
    anti_affinity: tuple[PodAffinityTerm, ...]
    claims: tuple[ClaimKey, ...]
    unjudged: tuple[str, ...]

    @property
    def is_alone(self) -> bool:
        """Whether no rule of its own makes its place depend on where other pods are."""
        return not (self.spread or self.affinity or self.anti_affinity)

    def __reduce__(self) -> tuple[Any, ...]:
        return _revive_demand, tuple(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Shape:
    """A demand with what other pods' rules look at. `labels` are sorted pairs."""

    demand: Demand
    namespace: str
    labels: Pairs

    def label(self, key: str) -> str | None:
        """Return the value of a label, None where the shape lacks it."""
        return next((value for name, value in self.labels if name == key), None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _intern, (self.demand, self.namespace, self.labels)


_ANY_ADDRESS = "0.0.0.0"
DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_PLACEMENT = {
    "node_selector",
    "affinity",
    "tolerations",
    "topology_spread_constraints",
    "containers",
    "init_containers",
    "resources",
    "overhead",
    "resource_claims",
}
_RESIZED = {"container_statuses", "init_container_statuses", "allocated_resources", "resources"}

_demands: WeakValueDictionary[tuple[object, ...], Demand] = WeakValueDictionary()
_shapes: WeakValueDictionary[tuple[Demand, str, Pairs], Shape] = WeakValueDictionary()


_KEPT = "_shape"


def shape_of(pod: Pod) -> Shape:
    """Return the pod's shape; raise InvalidQuantity where it asks for something that is no quantity.

    A pod never changes, so it keeps its shape beside what its own cached properties have made of it.
    """
    kept: Shape | None = pod.__dict__.get(_KEPT)
    if kept is None:
        kept = pod.__dict__[_KEPT] = _shape(pod)
    return kept


def _shape(pod: Pod) -> Shape:
    key = _key(pod)
    demand = _demands.get(key)
    if demand is None:
        demand = _demands.setdefault(key, _demand(key, pod))
    return _intern(demand, pod.metadata.namespace, tuple(sorted(pod.metadata.labels.items())))


def _intern(demand: Demand, namespace: str, labels: Pairs) -> Shape:
    key = (demand, namespace, labels)
    shape = _shapes.get(key)
    return shape if shape is not None else _shapes.setdefault(key, Shape(*key))


def _revive_demand(key: tuple[object, ...], *rest: Any) -> Demand:
    demand = _demands.get(key)
    return demand if demand is not None else _demands.setdefault(key, Demand(key, *rest))


def _key(pod: Pod) -> tuple[object, ...]:
    """What is equal for pods of equal demand: the fields that matter, as JSON that native code writes."""
    key: tuple[object, ...] = (pod.spec.model_dump_json(include=_PLACEMENT, exclude_unset=True),)
    if pod.spec.volumes:
        key += (claims_of(pod), _disks(pod))
    if pod.status.container_statuses or pod.status.resources:
        resize = pod.condition("PodResizePending")
        key += (pod.status.model_dump_json(include=_RESIZED, exclude_unset=True), resize and resize.reason)
    return key


def _demand(key: tuple[object, ...], pod: Pod) -> Demand:
    spec = pod.spec
    node = spec.affinity.node_affinity if spec.affinity else None
    near = spec.affinity.pod_affinity if spec.affinity else None
    apart = spec.affinity.pod_anti_affinity if spec.affinity else None
    return Demand(
        key=key,
        requests=with_slot(requests_of(pod)),
        selector=tuple(sorted(spec.node_selector.items())),
        node_affinity=node.required if node else None,
        tolerations=spec.tolerations,
        exclusives=(*_ports(pod), *_disks(pod)),
        spread=tuple(c for c in spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"),
        affinity=near.required if near else (),
        anti_affinity=apart.required if apart else (),
        claims=claims_of(pod),
        unjudged=_unjudged(pod),
    )


def _ports(pod: Pod) -> tuple[HostPort, ...]:
    """Host ports that are taken while the pod runs: of containers and sidecars, not of other init containers."""
    sidecars = (container for container in pod.spec.init_containers if container.restart_policy == "Always")
    ports = {
        HostPort(port.host_ip or _ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in (*sidecars, *pod.spec.containers)
        for port in container.ports
        if port.host_port > 0
    }
    return tuple(sorted(ports))


def claims_of(pod: Pod) -> tuple[ClaimKey, ...]:
    """Return the claims whose volumes it mounts; a generic ephemeral volume's claim is named POD-VOLUME."""
    keys = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            keys.append((pod.metadata.namespace, volume.persistent_volume_claim.claim_name))
        elif volume.ephemeral is not None:
            keys.append((pod.metadata.namespace, f"{pod.name}-{volume.name}"))
    return tuple(keys)


def _disks(pod: Pod) -> tuple[Disk, ...]:
    """The in-tree disks for which kube-scheduler (VolumeRestrictions) sees to it that one node mounts them once."""
    disks = []
    for volume in pod.spec.volumes:
        if gce := volume.gce_persistent_disk:
            disks.append(Disk("gce", str(gce.get("pdName")), (), bool(gce.get("readOnly"))))
        if aws := volume.aws_elastic_block_store:
            disks.append(Disk("aws", str(aws.get("volumeID")), (), False))
        if iscsi := volume.iscsi:
            disks.append(Disk("iscsi", str(iscsi.get("iqn")), (), bool(iscsi.get("readOnly"))))
        if rbd := volume.rbd:
            image = f"{rbd.get('pool', 'rbd')}/{rbd.get('image')}"
            disks.append(Disk("rbd", image, tuple(rbd.get("monitors", ())), bool(rbd.get("readOnly"))))
    return tuple(disks)


def collide(a: Exclusive, b: Exclusive) -> bool:
    """Whether one node can't give both to two pods."""
    if isinstance(a, HostPort) and isinstance(b, HostPort):
        return a.port == b.port and a.protocol == b.protocol and (a.ip == b.ip or _ANY_ADDRESS in (a.ip, b.ip))
    if isinstance(a, Disk) and isinstance(b, Disk):
        same = a.kind == b.kind and a.name == b.name and (a.parts == b.parts or not set(a.parts).isdisjoint(b.parts))
        return same and not (a.is_shareable and b.is_shareable)
    return False


def _unjudged(pod: Pod) -> tuple[str, ...]:
    found = [f"resource claim {claim.name}" for claim in pod.spec.resource_claims]
    found += [f"{name}, which a device class serves" for name in requests_of(pod) if name.startswith(DEVICE_CLASS)]
    return tuple(found)
