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

from ganglift.api.pod import Pod, Volume
from ganglift.api.selectors import NodeSelector, PodAffinityTerm, Toleration, TopologySpreadConstraint
from ganglift.plan.requests import requests_of, with_slot

Pairs = tuple[tuple[str, str], ...]


class HostPort(NamedTuple):
    ip: str
    protocol: str
    port: int


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
    ports: tuple[HostPort, ...]
    spread: tuple[TopologySpreadConstraint, ...]
    affinity: tuple[PodAffinityTerm, ...]
    anti_affinity: tuple[PodAffinityTerm, ...]
    claims: tuple[str, ...]
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

    def __reduce__(self) -> tuple[Any, ...]:
        return _intern, (self.demand, self.namespace, self.labels)


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


def shape_of(pod: Pod) -> Shape:
    """Return the pod's shape; raise InvalidQuantity where it asks for something that is no quantity."""
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
        key += (_claims(pod), _inline(pod.spec.volumes))
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
        ports=_ports(pod),
        spread=tuple(c for c in spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"),
        affinity=near.required if near else (),
        anti_affinity=apart.required if apart else (),
        claims=_claims(pod),
        unjudged=_unjudged(pod),
    )


def _ports(pod: Pod) -> tuple[HostPort, ...]:
    """Host ports that are taken while the pod runs: of containers and sidecars, not of other init containers."""
    sidecars = (container for container in pod.spec.init_containers if container.restart_policy == "Always")
    ports = {
        HostPort(port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)
        for container in (*sidecars, *pod.spec.containers)
        for port in container.ports
        if port.host_port > 0
    }
    return tuple(sorted(ports))


def _claims(pod: Pod) -> tuple[str, ...]:
    """Names of the claims whose volumes it mounts; a generic ephemeral volume's claim is named POD-VOLUME."""
    names = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            names.append(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            names.append(f"{pod.name}-{volume.name}")
    return tuple(names)


def _inline(volumes: tuple[Volume, ...]) -> tuple[str, ...]:
    """Sources of volumes written into the pod itself that two pods can't always mount on one node."""
    return tuple(
        volume.model_dump_json(exclude={"name"}, exclude_unset=True)
        for volume in volumes
        if volume.gce_persistent_disk or volume.aws_elastic_block_store or volume.rbd or volume.iscsi
    )


def _unjudged(pod: Pod) -> tuple[str, ...]:
    found = []
    if any(c.when_unsatisfiable == "DoNotSchedule" for c in pod.spec.topology_spread_constraints):
        found.append("topology spread constraints")
    affinity = pod.spec.affinity
    if affinity and affinity.pod_affinity and affinity.pod_affinity.required:
        found.append("required pod affinity")
    if affinity and affinity.pod_anti_affinity and affinity.pod_anti_affinity.required:
        found.append("required pod anti-affinity")
    if claims := _claims(pod):
        found.append(f"volume claims {', '.join(claims)}")
    if _inline(pod.spec.volumes):
        found.append("volumes written into the pod")
    if pod.spec.resource_claims:
        found.append(f"resource claims {', '.join(claim.name for claim in pod.spec.resource_claims)}")
    return tuple(found)
