"""What is said by event beside a gang's transitions: about pods that don't count, and pods that wait for nobody.

All of these are true for as long as nothing changes, so whoever announces them says each once.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from ganglift.api.job import BatchJob
from ganglift.api.names import GATE, GROUP_LABEL, LIFTED_AT
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Key
from ganglift.gang.actions import Announce, Kind
from ganglift.gang.membership import Membership
from ganglift.gang.outcome import listed
from ganglift.gang.priority import priority_trouble
from ganglift.gang.reasons import Reason

LOST_AFTER_S = 60
"""How long a pod may wait for a group to be created before it is told: pods are often made before their group."""


def remarks_of(
    group: PodGroup, membership: Membership, classes: Mapping[str, int], child: BatchJob | None = None
) -> tuple[Announce, ...]:
    """Return what there is to say about a group's pods.

    `classes` are values of PriorityClasses by name, `child` the batch/v1 Job that makes the pods, if one does.
    """
    trouble = priority_trouble(group, membership, classes)
    remarks = [_about_group(group, trouble.reason, trouble.message)] if trouble is not None else []
    if child is not None and group.spec.gang is not None and group.min_count > child.spec.parallelism:
        remarks.append(_about_group(group, Reason.INVALID, _too_many_words(group.min_count, child.spec.parallelism)))
    waiting = [stranger for stranger in membership.strangers if stranger.pod.has_gate and not stranger.is_free]
    if waiting:
        more = f", and {len(waiting) - 1} more like it" if len(waiting) > 1 else ""
        remarks.append(_about_group(group, Reason.NOT_A_MEMBER, f"{waiting[0].message}{more}: it is not counted"))
    if membership.surplus:
        names = listed(tuple(pod.name for pod in membership.surplus))
        message = f"more pods than completion indexes, not counted and not started: {names}"
        remarks.append(_about_group(group, Reason.NOT_A_MEMBER, message))
    if group.spec.gang is not None and (ungated := _never_gated(membership)):
        message = f"created without scheduling gate {GATE}, so they start alone: {listed(ungated)}"
        remarks.append(_about_group(group, Reason.NOT_GATED, message))
    return tuple(remarks)


def replaced_members(group: PodGroup, times: int) -> Announce:
    """Return what to say of a gang whose gated members were all deleted and made anew so many times."""
    message = f"x{times}: the gated members were deleted and made anew; the gang keeps its place in the queue"
    return _about_group(group, Reason.MEMBERS_REPLACED, message)


def lost_pods(pods: Iterable[Pod], groups: Collection[Key], now: datetime) -> tuple[Announce, ...]:
    """Return what to tell pods that bear our gate and whose group does not exist after a minute, or that name none."""
    long_ago = now - timedelta(seconds=LOST_AFTER_S)
    return tuple(
        Announce(Kind.POD, pod.key, pod.uid, Reason.GROUP_MISSING.value, _lost_words(pod), True)
        for pod in pods
        if pod.has_gate and not pod.is_deleting and pod.group not in groups and _is_older(pod, long_ago)
    )


def _never_gated(membership: Membership) -> tuple[str, ...]:
    """Name members that nobody has lifted and that have no gate: a lift leaves its time on the pod."""
    pods = (*membership.lifted, *membership.bound)
    return tuple(pod.name for pod in pods if not pod.has_gate and LIFTED_AT not in pod.metadata.annotations)


def _lost_words(pod: Pod) -> str:
    if pod.group is None:
        return f"the pod has scheduling gate {GATE} and no label {GROUP_LABEL}, so it waits for ever: add the label"
    return f"PodGroup {pod.group.name} does not exist in namespace {pod.group.namespace}: create it, or mend the label"


def _too_many_words(min_count: int, parallelism: int) -> str:
    return (
        f"minCount {min_count} is above the Job's parallelism {parallelism}, so {parallelism} start together: "
        "lower minCount or raise parallelism"
    )


def _is_older(pod: Pod, time: datetime) -> bool:
    created = pod.metadata.creation_timestamp
    return created is not None and created <= time


def _about_group(group: PodGroup, reason: Reason, message: str) -> Announce:
    return Announce(Kind.POD_GROUP, group.key, group.uid, reason.value, message, reason.is_warning)
