"""Whom to evict so that a whole gang fits: nobody at all unless all of need then has a place.

Of all sets of victims the one that breaks the fewest disruption budgets is wanted, of these the smallest, of these the
one of lowest priority, of these the youngest. What goes together (a gang whose disruptionMode is `all`) is a *unit*.

few units                                   every set, the cheapest first: exact
like members, units on one node each        knapsack over the nodes: exact but for ages
like members, units on several nodes        node after node, then back what is not needed
anything else                               the same, asking the planner each time

Pods that are being deleted anyway are counted as gone, so asking again while victims leave names no further ones.
Pure and deterministic.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from types import MappingProxyType

from ganglift.base.ids import Uid
from ganglift.plan.fit import fits_whole
from ganglift.plan.loosen import loosen
from ganglift.plan.request import GroupRequest
from ganglift.plan.room import Room
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.vacate import leaving_slots, slots_of, without_pods
from ganglift.plan.verdict import Fits
from ganglift.plan.victims import Evictable, Unit, units_of

EXACT_UNITS = 8
"""Up to so many units every set is tried."""
TRIALS = 64
"""How often the planner is asked at most to find out which victims are not needed."""
_NO_BUDGETS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Preemption:
    """Places for the whole gang, the pods to evict for them, and the ones on these nodes that leave anyway."""

    fits: Fits
    victims: tuple[Uid, ...]
    leaving: tuple[Uid, ...] = ()


def preempt(
    snapshot: Snapshot,
    group: GroupRequest,
    priority: int,
    evictable: Iterable[Evictable],
    budgets: Mapping[str, int] = _NO_BUDGETS,
    *,
    ignoring: Collection[Uid] = (),
) -> Preemption | None:
    """Return whom to evict for the group, None where that would not make it fit.

    Only units whose pods all have less than `priority` are considered. `budgets` are how many pods each disruption
    budget lets go now. `ignoring` are reservations that kube-scheduler does not defend against the group.
    """
    leaving = leaving_slots(snapshot)
    base = without_pods(snapshot, [*leaving, *slots_of(snapshot, ignoring).values()])
    case = Case(base, group, budgets)
    chosen = case.choose(units_of(base, evictable, priority))
    if chosen is None:
        return None
    fits = case.trial(chosen)
    if fits is None:
        return None
    rows = {base.table.position[place.node] for place in fits.placements}
    going = [slot for slot in leaving if int(snapshot.occupants.nodes[slot]) in rows]
    victims = sorted(pod.uid for unit in chosen for pod in unit.pods)
    return Preemption(fits, tuple(victims), tuple(sorted(snapshot.occupants.uids[slot] for slot in going)))


@dataclass(frozen=True)
class Case:
    """One question: `snapshot` is without what leaves anyway."""

    snapshot: Snapshot
    group: GroupRequest
    budgets: Mapping[str, int]

    def trial(self, units: Iterable[Unit]) -> Fits | None:
        """Return places for the gang with these units gone."""
        slots = [slot for unit in units for slot in unit.slots]
        return fits_whole(Room(without_pods(self.snapshot, slots)), self.group)

    def cost(self, units: Collection[Unit]) -> tuple[int, int, int, int]:
        """Return what a set of victims costs; the lower one is preferred."""
        broken = Counter(budget for unit in units for pod in unit.pods for budget in pod.budgets)
        return (
            sum(max(count - self.budgets.get(budget, 0), 0) for budget, count in broken.items()),
            sum(unit.size for unit in units),
            sum(unit.rank * unit.size for unit in units),
            sum(unit.age for unit in units),
        )

    def choose(self, units: Sequence[Unit]) -> Sequence[Unit] | None:
        """Return the victims, None where nothing helps."""
        if len(units) <= EXACT_UNITS:
            return self._cheapest_of_all(units)
        loose = loosen(self.snapshot, self.group, units, self._guarded(units))
        if loose is not None:
            return loose.choose()
        return self._node_by_node(units)

    def _cheapest_of_all(self, units: Sequence[Unit]) -> Sequence[Unit] | None:
        sets = chain.from_iterable(combinations(units, count) for count in range(len(units) + 1))
        return next((chosen for chosen in sorted(sets, key=self.cost) if self.trial(chosen) is not None), None)

    def _guarded(self, units: Iterable[Unit]) -> dict[str, int]:
        """Return by unit how many budgets it breaks where those before it in order have used up what they allow."""
        left = dict(self.budgets)
        guarded: dict[str, int] = {}
        for unit in units:
            for budget in (budget for pod in unit.pods for budget in pod.budgets):
                left[budget] = left.get(budget, 0) - 1
                guarded[unit.pods[0].unit] = guarded.get(unit.pods[0].unit, 0) + (left[budget] < 0)
        return guarded

    # Where places depend on each other

    def _node_by_node(self, units: Sequence[Unit]) -> Sequence[Unit] | None:
        """Clear nodes, the cheapest first, until the gang fits; then take back what was not needed."""
        if self.trial(units) is None:
            return None
        ordered = self._in_clearing_order(units)
        low, high = -1, len(ordered)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.trial(ordered[:middle]) is not None else (middle, high)
        chosen = ordered[:high]
        fits = self.trial(chosen)
        rows = {self.snapshot.table.position[place.node] for place in fits.placements} if fits else set()
        nodes = self.snapshot.occupants.nodes
        near = [unit for unit in chosen if any(int(nodes[slot]) in rows for slot in unit.slots)]
        return _pruned(near if self.trial(near) is not None else chosen, lambda kept: self.trial(kept) is not None)

    def _in_clearing_order(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units of the cheapest node first, then of the next; a unit on several nodes with its first."""
        by_node: dict[int, list[Unit]] = {}
        for unit in units:
            for node in {int(self.snapshot.occupants.nodes[slot]) for slot in unit.slots}:
                by_node.setdefault(node, []).append(unit)
        nodes = sorted(by_node, key=lambda node: (*self.cost(by_node[node]), node))
        return list({unit.pods[0].unit: unit for node in nodes for unit in by_node[node]}.values())


def _pruned(chosen: Sequence[Unit], is_enough: Callable[[Sequence[Unit]], bool]) -> Sequence[Unit]:
    """Spare what is not needed, the most valuable first: many at a time, then fewer, while there are trials left."""
    kept = sorted(chosen, key=lambda unit: (-unit.rank, -unit.size, -unit.age, unit.pods[0].unit))
    trials, size = TRIALS, max(len(kept) // 2, 1)
    while kept and trials > 0:
        at = 0
        while at < len(kept) and trials > 0:
            rest = kept[:at] + kept[at + size :]
            trials -= 1
            if is_enough(rest):
                kept = rest
            else:
                at += size
        if size == 1:
            break
        size //= 2
    return kept
