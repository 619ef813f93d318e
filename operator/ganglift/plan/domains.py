"""Which domains of a node label have enough room, told by sums before anything is packed."""

from collections.abc import Mapping

import numpy as np

from ganglift.plan.nodes import Codes, Mask
from ganglift.plan.room import Room
from ganglift.plan.shape import Demand
from ganglift.plan.snapshot import Counts


def roomy(room: Room, wanted: Mapping[Demand, int], need: int, usable: Mask, codes: Codes) -> list[int]:
    """Return the domains that may hold `need` of what is wanted, the tightest first.

    A domain is dropped where it plainly can't: too few places for the demands, or, where all is needed, too little of a
    resource for all of them together. `codes` are domains by node, -1 for none.
    """
    size = int(codes.max(initial=-1)) + 1
    places = {demand: places_in(room, demand, usable, codes, size) for demand in wanted}
    held = np.zeros(size, np.int64)
    total = np.zeros(size, np.int64)
    for demand, count in wanted.items():
        held += np.minimum(places[demand], count)
        total += places[demand]
    fits = held >= need
    if len(wanted) > 1 and need >= sum(wanted.values()):
        fits &= _enough_together(room, wanted, usable, codes, size)
    found = np.flatnonzero(fits)
    order: list[int] = found[np.lexsort((found, total[found]))].tolist()
    return order


def places_in(room: Room, demand: Demand, usable: Mask, codes: Codes, size: int) -> Counts:
    """Return how many pods of the demand each domain takes, were they alone."""
    inside = usable & (codes >= 0)
    weights = np.minimum(room.capacity(demand)[inside], _MOST)
    return np.bincount(codes[inside], weights=weights, minlength=size).astype(np.int64)


_MOST = 2**31
"""Caps a node's capacity so that the sums above, which numpy makes in floats, are exact."""


def _enough_together(room: Room, wanted: Mapping[Demand, int], usable: Mask, codes: Codes, size: int) -> Mask:
    asked: dict[int, int] = {}
    for demand, count in wanted.items():
        for name, units in demand.requests:
            column = room.snapshot.columns.get(name)
            if column is not None and not room.is_delegated(name):
                asked[column] = asked.get(column, 0) + units * count
    admitted = np.zeros(len(usable), np.bool_)
    for demand in wanted:
        admitted |= room.admits(demand)
    inside = usable & admitted & (codes >= 0)
    free = room.free()[inside]
    enough = np.ones(size, np.bool_)
    for column, units in asked.items():
        have = np.zeros(size, np.int64)
        np.add.at(have, codes[inside], free[:, column])
        enough &= have >= units
    return enough
