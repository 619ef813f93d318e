"""One group against the room that is left: a place for every needed member, or the reasons why not."""

import numpy as np

from ganglift.plan.explain import explain, unjudged_of
from ganglift.plan.nodes import Mask
from ganglift.plan.request import GroupRequest
from ganglift.plan.room import Room
from ganglift.plan.topology import Inside, pins_of, place_together
from ganglift.plan.verdict import DoesNotFit, Fits, Placement


def fit(room: Room, group: GroupRequest) -> Fits | DoesNotFit:
    """Place the group's needed members in the room, all or none.

    Room that the group's own reservations hold is given up first, and they are preferred again where they still are of
    use, so that a plan that holds is not changed. Where the group does not fit, the room is left as it was.
    """
    released = room.release(group.own)
    before = len(room.taken)
    usable = usable_nodes(room, group)
    inside = _place(room, group, usable)
    if len(inside.attempt.places) >= group.need:
        return _fits(room, group, inside)
    verdict = explain(room, group, inside, usable)
    room.give_back(len(room.taken) - before)
    room.retake(released)
    return verdict


def fits_whole(room: Room, group: GroupRequest) -> Fits | None:
    """Place the group as `fit` does; None, and a room of no further use, where it does not fit."""
    room.release(group.own)
    inside = _place(room, group, usable_nodes(room, group))
    return _fits(room, group, inside) if len(inside.attempt.places) >= group.need else None


def _place(room: Room, group: GroupRequest, usable: Mask) -> Inside:
    standing = room.snapshot.standing
    former = {uid: standing[uid].node for uid in group.own if uid in standing}
    room.group_start = before = len(room.taken)
    inside = place_together(room, group, group.members, usable, former)
    if former and len(inside.attempt.places) < group.need:
        room.give_back(len(room.taken) - before)
        inside = place_together(room, group, group.members, usable, {})
    return inside


def usable_nodes(room: Room, group: GroupRequest) -> Mask:
    """Return the nodes that the group as a whole may use."""
    usable = np.ones(len(room.snapshot.table), np.bool_)
    for name in group.avoid:
        if (at := room.snapshot.table.position.get(name)) is not None:
            usable[at] = False
    return usable


def _fits(room: Room, group: GroupRequest, inside: Inside) -> Fits:
    attempt, names = inside.attempt, room.snapshot.names
    return Fits(
        placements=tuple(Placement(p.member.uid, names[p.node], pins_of(room, group, p.node)) for p in attempt.places),
        unjudged=unjudged_of(room, (p.member for p in attempt.places)),
        in_sequence=attempt.in_sequence,
        held_back=attempt.held_back,
    )
