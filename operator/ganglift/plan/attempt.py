"""What comes of trying to place members, whichever way it is tried."""

from dataclasses import dataclass, field

from ganglift.base.ids import Uid
from ganglift.plan.relations import Relations
from ganglift.plan.request import Member


@dataclass(frozen=True, slots=True)
class Place:
    """A member on a row of the node table."""

    member: Member
    node: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """Members that found a place, in an order that is legal step by step; their room is taken.

    Where that is fewer than asked, `proven` says whether no way of placing them exists. `relations` are the rules
    between pods, with the placed members counted in. `in_sequence` says that the order matters, `held_back` which
    members must not be nominated before earlier ones are bound.
    """

    places: tuple[Place, ...]
    relations: Relations
    proven: bool = True
    in_sequence: bool = False
    held_back: frozenset[Uid] = field(default_factory=frozenset)
