"""What may be evicted for a gang: pods, and what of them goes together."""

from collections.abc import Iterable
from dataclasses import dataclass

from ganglift.base.ids import Uid
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.vacate import slots_of


@dataclass(frozen=True, slots=True)
class Evictable:
    """A bound pod that may have to go.

    `priority` is what counts when it is a victim, `unit` names what it goes together with (its own uid where it goes
    alone), `started` is when it was started in any one unit of time, `budgets` are the disruption budgets that mean it.
    """

    uid: Uid
    priority: int
    unit: str
    started: int = 0
    budgets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unit:
    """What is evicted together. `rank` orders priorities, `age` is how much older it is than the youngest."""

    pods: tuple[Evictable, ...]
    slots: tuple[int, ...]
    rank: int
    age: int

    @property
    def size(self) -> int:
        return len(self.pods)

    @property
    def order(self) -> tuple[int, int, str]:
        """Sorts the units that are given up first to the front."""
        return self.rank, self.age, self.pods[0].unit


def units_of(snapshot: Snapshot, evictable: Iterable[Evictable], priority: int) -> tuple[Unit, ...]:
    """Return what may be evicted, first what is given up first."""
    together: dict[str, list[Evictable]] = {}
    for pod in evictable:
        together.setdefault(pod.unit, []).append(pod)
    lower = [pods for pods in together.values() if max(pod.priority for pod in pods) < priority]
    slots = slots_of(snapshot, {pod.uid for pods in lower for pod in pods})
    there = [[pod for pod in pods if pod.uid in slots] for pods in lower]
    there = [sorted(pods, key=lambda pod: pod.uid) for pods in there if pods]
    values = [max(pod.priority for pod in pods) for pods in there]
    rank = {value: i for i, value in enumerate(sorted(set(values)))}
    newest = max((pod.started for pods in there for pod in pods), default=0)
    units = (
        Unit(tuple(pods), tuple(slots[pod.uid] for pod in pods), rank[value], newest - max(pod.started for pod in pods))
        for pods, value in zip(there, values, strict=True)
    )
    return tuple(sorted(units, key=lambda unit: unit.order))
