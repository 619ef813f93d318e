"""The plan of all waiting groups at one moment: in queue order, each on the room that the earlier ones left.

    1. room = everything in the snapshot but what groups of lower priority have reserved for themselves
    2. each gang in order: fits whole and takes its room, or takes nothing
    3. then members beyond need, one by one, in the same order

Pure and deterministic: the same snapshot and groups, in whatever order they are given, make the same plan.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from ganglift.base.ids import Key
from ganglift.plan.fit import usable_nodes
from ganglift.plan.queue import NO_EXCEPTIONS, Exceptions, Line, Policy, in_order
from ganglift.plan.refusals import Refusals
from ganglift.plan.request import GroupRequest
from ganglift.plan.room import Room
from ganglift.plan.snapshot import Snapshot, Standing
from ganglift.plan.topology import pins_of, place_together
from ganglift.plan.verdict import Behind, Fits, Placement, PlanResult, Verdict


def plan(
    snapshot: Snapshot,
    groups: Iterable[GroupRequest],
    policy: Policy = Policy.BACKFILL,
    exceptions: Exceptions = NO_EXCEPTIONS,
) -> PlanResult:
    """Return a verdict for each group, in queue order, and places for members beyond need where there is room."""
    queue = in_order(groups)
    room = Room(snapshot)
    verdicts: dict[Key, Verdict] = {}
    line, refusals = Line(policy, exceptions), Refusals(room)
    for group in _with_reservations_by_priority(room, queue):
        verdicts[group.key] = _next(refusals, group, line)
    extras = {group.key: placed for group in queue if (placed := _extras(room, group, verdicts[group.key]))}
    return PlanResult(verdicts, extras)


def _next(refusals: Refusals, group: GroupRequest, line: Line) -> Verdict:
    blocker = line.blocker(group.key)
    verdict = Behind(blocker) if blocker is not None else refusals.fit(group)
    if not isinstance(verdict, Fits):
        line.failed(group.key)
    return verdict


def _with_reservations_by_priority(room: Room, queue: Sequence[GroupRequest]) -> Iterable[GroupRequest]:
    """Yield the groups in order, each while the room has the reservations of the groups it may not push aside.

    kube-scheduler lets a pod take room that is reserved for lower priority, so a group sees past the reservations of
    all lower groups; among equals, a reservation stands until its own group is planned.
    """
    levels = [list(level) for _, level in groupby(queue, key=lambda group: group.priority)]
    released: dict[Key, list[Standing]] = {}
    for level in levels[1:]:
        for group in level:
            released[group.key] = room.release(group.own)
    for level in levels:
        for group in level:
            room.retake(released.pop(group.key, ()))
        yield from level


def _extras(room: Room, group: GroupRequest, verdict: Verdict) -> tuple[Placement, ...]:
    """Place members beyond need once their gang has its own places: as many as there is room for."""
    if not isinstance(verdict, Fits):
        return ()
    placed = {placement.uid: placement.node for placement in verdict.placements}
    rest = [member for member in (*group.members, *group.extras) if member.uid not in placed]
    if not rest:
        return ()
    countable = not group.topology and all(member.shape.demand.is_alone for member in rest)
    usable = usable_nodes(room, group)
    anchored = replace(group, anchors={**group.anchors, **placed})
    room.group_start = len(room.taken)
    found: list[Placement] = []
    for batch in [rest] if countable else [[member] for member in rest]:
        inside = place_together(room, replace(anchored, need=len(batch)), batch, usable, {})
        names = room.snapshot.names
        found += [Placement(p.member.uid, names[p.node], pins_of(room, group, p.node)) for p in inside.attempt.places]
    return tuple(found)
