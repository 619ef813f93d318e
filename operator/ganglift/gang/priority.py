"""The numbers that stand for a gang where it competes.

kube-scheduler defends a reservation by the pod's own priority, so a gang whose pods differ is only as safe as its
lowest pod: that one counts for room, the lower of group and lowest pod as preemptor, the higher of group and highest
pod as victim (a group with a priority of its own must not be thrown out by its pods' lower numbers).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ganglift.api.scheduling import PodGroup
from ganglift.gang.actions import Announce, Kind
from ganglift.gang.membership import Membership
from ganglift.gang.reasons import Reason


@dataclass(frozen=True)
class Priorities:
    """`queue` orders the gang among those that wait; the other three are for competition about room."""

    queue: int
    room: int
    preemptor: int
    victim: int


def priorities_of(group: PodGroup, membership: Membership, classes: Mapping[str, int]) -> Priorities:
    """Return the priorities of a gang. `classes` are the values of the cluster's PriorityClasses by name.

    The group's own is its `priority`, else its class, else what its pods have, else what was last recorded.
    """
    pods = [pod.spec.priority for pod in membership.live]
    own = group.spec.priority
    if own is None and group.spec.priority_class_name:
        own = classes.get(group.spec.priority_class_name)
    if own is None:
        own = min(pods, default=group.status.priority)
    lowest, highest = min(pods, default=own), max(pods, default=own)
    return Priorities(own, lowest, min(own, lowest), max(own, highest))


def mismatch(group: PodGroup, membership: Membership, priorities: Priorities) -> Announce | None:
    """Return the warning for members whose priorities differ from each other or from their group's, or None."""
    pods = sorted({pod.spec.priority for pod in membership.live})
    if not pods or pods == [priorities.queue]:
        return None
    message = (
        f"the group has priority {priorities.queue} and its pods have {', '.join(map(str, pods))}: "
        f"room is defended at {priorities.room}; give them all the same PriorityClass"
    )
    return Announce(Kind.POD_GROUP, group.key, group.uid, Reason.PRIORITY_MISMATCH.value, message, True)
