"""The numbers that stand for a gang where it competes.

kube-scheduler defends a reservation by the pod's own priority, so a gang whose pods differ is only as safe as its
lowest pod: that one counts for room, the lower of group and lowest pod as preemptor, the higher of group and highest
pod as victim (a group with a priority of its own must not be thrown out by its pods' lower numbers).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ganglift.api.scheduling import PodGroup
from ganglift.gang.membership import Membership
from ganglift.gang.outcome import Waiting
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


def priority_trouble(group: PodGroup, membership: Membership, classes: Mapping[str, int]) -> Waiting | None:
    """Return what is wrong with a gang's priorities, None if nothing is; it is planned all the same.

    A class that does not exist, or members whose priorities differ from each other or from their group's.
    """
    named = group.spec.priority_class_name
    if group.spec.priority is None and named and named not in classes:
        words = f"PriorityClass {named} does not exist: create it, or the group anew with one that does"
        return Waiting(Reason.INVALID, f"{words}; until then the priority of its pods counts")
    priorities = priorities_of(group, membership, classes)
    pods = sorted({pod.spec.priority for pod in membership.live})
    if not pods or pods == [priorities.queue]:
        return None
    theirs = ", ".join(map(str, pods))
    names_one = group.spec.priority is not None or bool(named)
    own = f"has priority {priorities.queue}" if names_one else "names no priority"
    remedy = f"room is defended at {priorities.room}; give them all the same PriorityClass"
    return Waiting(Reason.PRIORITY_MISMATCH, f"the group {own} and its pods have {theirs}: {remedy}")
