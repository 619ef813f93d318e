"""A claim: room that is reserved for a gang before it is free, with what has to go first."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ganglift.base.ids import NodeName, Uid
from ganglift.plan.verdict import Fits


@dataclass(frozen=True, slots=True)
class Claim:
    """`goes` are the pods whose room it is; `victims` those of them that we evict.

    A hold has no victims: it waits for pods to end by themselves. `made` is a time of the monotonic clock.
    """

    fits: Fits
    goes: frozenset[Uid]
    victims: frozenset[Uid]
    until: datetime
    is_hold: bool
    made: float

    @property
    def places(self) -> Mapping[Uid, NodeName]:
        """Where room is reserved, by member; a member that is held back gets its nomination when it is lifted."""
        return {place.uid: place.node for place in self.fits.placements if place.uid not in self.fits.held_back}

    @property
    def nodes(self) -> tuple[NodeName, ...]:
        return tuple(sorted({place.node for place in self.fits.placements}))
