"""Why groups do not fit, remembered for others that ask for the same: of thousands that wait most are alike.

A verdict holds for as long as the room is the same. It is not kept where the place of a member depends on more than
what it asks for: on rules between pods, on ports, claims or topology, or on room that the group has reserved itself.
"""

from collections import Counter

from ganglift.plan.fit import fit
from ganglift.plan.request import GroupRequest
from ganglift.plan.room import Room
from ganglift.plan.shape import Demand
from ganglift.plan.verdict import DoesNotFit, Fits

_Likeness = tuple[int, frozenset[object], frozenset[tuple[Demand, int]]]


class Refusals:
    """Answers for one planning pass on one room."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._known: dict[_Likeness, DoesNotFit] = {}
        self._standing: frozenset[int] = frozenset()
        self._repels = bool(room.snapshot.occupants.repelling)

    def fit(self, group: GroupRequest) -> Fits | DoesNotFit:
        """Place the group in the room as `fit` does, or return why it does not fit."""
        given_up = frozenset(self._room.released_slots)
        if given_up != self._standing:
            self._standing = given_up
            self._known.clear()
        likeness = self._likeness(group)
        if likeness is not None and likeness in self._known:
            return self._known[likeness]
        verdict = fit(self._room, group)
        if isinstance(verdict, Fits):
            self._known.clear()
            self._repels |= any(member.shape.demand.anti_affinity for member in group.members)
        elif likeness is not None:
            self._known[likeness] = verdict
        return verdict

    def _likeness(self, group: GroupRequest) -> _Likeness | None:
        snapshot = self._room.snapshot
        if group.topology or group.anchors or self._repels:
            return None
        if not snapshot.standing.keys().isdisjoint(group.own):
            return None
        demands = Counter(member.shape.demand for member in group.members)
        if any(not demand.is_alone or demand.exclusives or demand.claims for demand in demands):
            return None
        return group.need, frozenset(group.avoid), frozenset(demands.items())
