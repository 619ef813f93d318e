"""What is said by event beside a gang's transitions: about pods that don't count, and pods that wait for nobody.

All of these are true for as long as nothing changes, so whoever announces them says each once. They name no pods and
count none: a run that is made anew would otherwise have one event for each pod of the old one that goes.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from ganglift.api.job import BatchJob
from ganglift.api.names import GATE, GROUP_LABEL, LIFTED_AT
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Key
from ganglift.gang.actions import Announce, Kind
from ganglift.gang.membership import Membership, child_uid_of, is_for_job
from ganglift.gang.priority import priority_trouble
from ganglift.gang.reasons import Reason

LOST_AFTER_S = 60
"""How long a pod may wait for a group to be created before it is told: pods are often made before their group."""

_SURPLUS = "its Job has made more pods than it has completion indexes: those beyond are not counted and not started"


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
    words = [*_stranger_words(group, membership, child), *([_SURPLUS] if membership.surplus else [])]
    remarks += [_about_group(group, Reason.NOT_A_MEMBER, each) for each in words]
    if group.spec.gang is not None and _has_never_gated(membership):
        message = f"pods of the gang are created without scheduling gate {GATE}, so they start alone"
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
        Announce(Kind.POD, pod.key, pod.uid, Reason.GROUP_MISSING.value, lost_words(pod), True)
        for pod in pods
        if pod.has_gate and not pod.is_deleting and pod.group not in groups and _is_older(pod, long_ago)
    )


def _stranger_words(group: PodGroup, membership: Membership, child: BatchJob | None) -> tuple[str, ...]:
    """Tell each reason why pods with the label that wait are no members, once it is known who is."""
    if is_for_job(group, child) and not child_uid_of(group, child):
        return ()
    waiting = [stranger for stranger in membership.strangers if stranger.pod.has_gate and not stranger.is_free]
    return tuple(f"{words}: they are not counted" for words in dict.fromkeys(each.of_all for each in waiting))


def _has_never_gated(membership: Membership) -> bool:
    """Whether there are members that nobody has lifted and that have no gate: a lift leaves its time on the pod."""
    pods = (*membership.lifted, *membership.bound)
    return any(not pod.has_gate and LIFTED_AT not in pod.metadata.annotations for pod in pods)


def lost_words(pod: Pod) -> str:
    """Return what keeps a pod with our gate that belongs to no group there is."""
    if pod.group is None:
        return f"the pod has scheduling gate {GATE} and no label {GROUP_LABEL}, so it waits for ever: add the label"
    return f"PodGroup {pod.group.name} does not exist in namespace {pod.group.namespace}: create it, or mend the label"


def _too_many_words(min_count: int, parallelism: int) -> str:
    start = "starts alone" if parallelism == 1 else "start together"
    return (
        f"minCount {min_count} is above the Job's parallelism {parallelism}, so {parallelism} {start}: "
        "lower minCount or raise parallelism"
    )


def _is_older(pod: Pod, time: datetime) -> bool:
    created = pod.metadata.creation_timestamp
    return created is not None and created <= time


def _about_group(group: PodGroup, reason: Reason, message: str) -> Announce:
    return Announce(Kind.POD_GROUP, group.key, group.uid, reason.value, message, reason.is_warning)
