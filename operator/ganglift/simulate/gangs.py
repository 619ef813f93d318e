"""A gang of a simulation, and the API objects that it is for the operator's code."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ganglift.api.model import Condition, ObjectMeta
from ganglift.api.names import GATE, GROUP_LABEL
from ganglift.api.node import Node, NodeStatus
from ganglift.api.pod import Container, Named, Pod, PodSpec, PodStatus, Resources
from ganglift.api.scheduling import DisruptionMode, PodGroup, PodGroupSpec, Policy
from ganglift.api.scheduling import Gang as GangPolicy
from ganglift.base.ids import Key, Uid
from ganglift.base.quantity import PODS, units_of
from ganglift.simulate.clock import at
from ganglift.simulate.scenario import GangSpec, Pool, Work

NAMESPACE = "simulated"
Amount = str | int | float
"""A quantity as one may write it."""
_SLOTS = 110
"""Pods that a node takes where a scenario doesn't say: the kubelet's own default."""


@dataclass(frozen=True, slots=True)
class Gang:
    """`arrives` and `runs` are in seconds, `units` is what one member has of the resource that is measured."""

    name: str
    arrives: int
    members: int
    need: int
    runs: int
    units: int
    work: Work

    @property
    def key(self) -> Key:
        return Key(NAMESPACE, self.name)

    @property
    def size(self) -> int:
        """Return what all members together have of the resource that is measured."""
        return self.members * self.units


def gangs_of(spec: GangSpec, measured: str) -> Iterator[Gang]:
    """Yield the gangs of a series."""
    units = units_of(measured, spec.asks.get(measured, 0))
    for number in range(spec.count):
        name = spec.name if spec.count == 1 else f"{spec.name}-{number:0{len(str(spec.count - 1))}}"
        arrives = round(spec.at + number * spec.every)
        yield Gang(name, arrives, spec.members, spec.min_count or spec.members, max(round(spec.runs), 1), units, spec)


# API objects


def node_of(pool: Pool, name: str) -> Node:
    """Return a node of the pool."""
    offers = {PODS: _SLOTS, **pool.offers}
    return Node(
        metadata=ObjectMeta(name=name, uid=Uid(name), labels=pool.labels), status=NodeStatus(allocatable=offers)
    )


def group_of(gang: Gang) -> PodGroup:
    """Return the gang's PodGroup."""
    work = gang.work
    whole = DisruptionMode(all={}) if work.disruption_mode == "all" else None
    spec = PodGroupSpec(
        scheduling_policy=Policy(gang=GangPolicy(min_count=gang.need)),
        disruption_mode=whole,
        priority=work.priority,
        preemption_policy=work.preemption_policy,
    )
    metadata = ObjectMeta(name=gang.name, namespace=NAMESPACE, uid=Uid(gang.name), creation_timestamp=at(gang.arrives))
    return PodGroup(metadata=metadata, spec=spec)


def once_scheduled(group: PodGroup, second: int) -> PodGroup:
    """Return the group with the record that it has been whole."""
    return group.model_copy(update={"status": group.status.model_copy(update={"scheduled_time": at(second)})})


def member_of(gang: Gang, uid: Uid, made: int) -> Pod:
    """Return a member as its owner makes it: gated."""
    metadata = ObjectMeta(
        name=uid, namespace=NAMESPACE, uid=uid, creation_timestamp=at(made), labels={GROUP_LABEL: gang.name}
    )
    asks, selector = tuple(gang.work.asks.items()), tuple(gang.work.node_selector.items())
    return Pod(metadata=metadata, spec=_spec(asks, selector, gang.work.priority), status=_PENDING)


def nominated(pod: Pod, node: str) -> Pod:
    """Return a gated member with room reserved on the node, or nowhere."""
    return pod.model_copy(update={"status": PodStatus(nominated_node_name=node)})


def bound(pod: Pod, node: str, second: int) -> Pod:
    """Return a member that was lifted and bound."""
    return pod.model_copy(
        update={
            "spec": pod.spec.model_copy(update={"scheduling_gates": (), "node_name": node}),
            "status": _running(second),
        }
    )


def leaving(pod: Pod, second: int) -> Pod:
    """Return a pod that is being deleted."""
    return pod.model_copy(update={"metadata": pod.metadata.model_copy(update={"deletion_timestamp": at(second)})})


_PENDING = PodStatus()


@lru_cache(maxsize=4)
def _running(second: int) -> PodStatus:
    scheduled = Condition(type="PodScheduled", status="True", last_transition_time=at(second))
    return PodStatus(phase="Running", start_time=at(second), conditions=(scheduled,))


@lru_cache(maxsize=256)
def _spec(asks: tuple[tuple[str, Amount], ...], selector: tuple[tuple[str, str], ...], priority: int) -> PodSpec:
    return PodSpec(
        priority=priority,
        scheduling_gates=(Named(name=GATE),),
        node_selector=dict(selector),
        containers=(Container(name="main", resources=Resources(requests=dict(asks))),),
    )
