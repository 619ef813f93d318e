"""Which busy nodes to keep for a gang that has waited long: those that are free soonest, all else as it is.

Pods are thought away in the order in which they are expected to end, and no more of them than the gang needs; where it
lands then is what is held.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ganglift.base.ids import Uid
from ganglift.plan.fit import fits_whole
from ganglift.plan.request import GroupRequest
from ganglift.plan.room import Room
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.vacate import leaving_slots, slots_of, without_pods
from ganglift.plan.verdict import Fits


@dataclass(frozen=True, slots=True)
class Hold:
    """Places for the whole gang, the pods on these nodes that are expected to end first, and the last of all those."""

    fits: Fits
    goes: tuple[Uid, ...]
    last: Uid | None


def hold(snapshot: Snapshot, group: GroupRequest, ends: Sequence[Uid], ignoring: Collection[Uid] = ()) -> Hold | None:
    """Return what to hold for the group, None where it would not fit if all of `ends` were gone.

    `ends` are bound pods in the order in which they are expected to end. `ignoring` are reservations that
    kube-scheduler does not defend against the group.
    """
    known = slots_of(snapshot, {*ends, *ignoring})
    leaving = leaving_slots(snapshot)
    aside = [*leaving, *(known[uid] for uid in ignoring if uid in known)]
    order = [uid for uid in ends if uid in known]

    def trial(count: int) -> Fits | None:
        slots = [*aside, *(known[uid] for uid in order[:count])]
        return fits_whole(Room(without_pods(snapshot, slots)), group)

    fits, low, high = trial(len(order)), -1, len(order)
    if fits is None:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if (found := trial(middle)) is not None:
            fits, high = found, middle
        else:
            low = middle
    rows = {snapshot.table.position[place.node] for place in fits.placements}
    nodes, uids = snapshot.occupants.nodes, snapshot.occupants.uids
    going = [uids[slot] for slot in leaving if int(nodes[slot]) in rows]
    going += [uid for uid in order[:high] if int(nodes[known[uid]]) in rows]
    return Hold(fits, tuple(sorted(going)), order[high - 1] if high else None)
