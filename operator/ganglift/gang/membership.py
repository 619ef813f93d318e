"""Which pods of a group count, and as what.

Namespace and label make a pod a candidate. For a group made for a Job only pods controlled by that Job's child count:
after a delete and a re-create at once, the pods of the old run bear the same label and are still bound. Everyone else
with the label is a stranger and stays gated, unless its own controller shows that it was let in by mistake (a helper
Job that inherited its parent's labels). Deleting pods count as gone, though they hold their node's room until they are
gone from the API, and succeeded ones as done.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cached_property
from types import MappingProxyType

from ganglift.api.job import BatchJob
from ganglift.api.names import (
    BATCH_API,
    COMPLETION_INDEX,
    DEFAULT_SCHEDULER,
    GROUP_LABEL,
    JOB_UID,
    LIFTED_AT,
    TAKEN_BACK,
)
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Uid
from ganglift.gang.reasons import Reason
from ganglift.gang.split import belongs, is_split, split_label, value_of

_EPOCH = datetime.fromtimestamp(0, UTC)


class Standing(Enum):
    """What a member counts as; each member has exactly one."""

    GATED = "gated"
    """Bears our gate and nothing else keeps it: ready to lift."""
    BLOCKED = "blocked"
    """Unbound, and something keeps it that is not ours: a foreign gate, another scheduler, a native group."""
    LIFTED = "lifted"
    BOUND = "bound"
    LEAVING = "leaving"
    """Being deleted, or detached and about to be: gone for the count, its room still taken."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Owner(Enum):
    """What is known of a pod's controller that is not the gang's."""

    LIVE = "live"
    LEAVING = "leaving"
    OURS = "ours"
    """A child of one of our Jobs: an earlier run of this one, or one not yet recorded."""
    UNKNOWN = "unknown"
    """Gone, or not looked up: the pod stays gated."""


Standings = Mapping[Uid, Standing]


@dataclass(frozen=True)
class Stranger:
    """A pod that bears the label and does not count, for a reason that it shares with others.

    `of_all` is said of all that share it, whichever these are, so that it stays the same while they come and go.
    `is_free`: its gate may go, it waits for no gang.
    """

    pod: Pod
    message: str
    of_all: str
    is_free: bool = False


@dataclass(frozen=True)
class Membership:
    """The pods of a group by what they count as, each tuple in order of creation."""

    gated: tuple[Pod, ...] = ()
    blocked: tuple[Pod, ...] = ()
    lifted: tuple[Pod, ...] = ()
    bound: tuple[Pod, ...] = ()
    leaving: tuple[Pod, ...] = ()
    succeeded: tuple[Pod, ...] = ()
    failed: tuple[Pod, ...] = ()
    surplus: tuple[Pod, ...] = ()
    """A second pod for a completion index, or one for an index the Job does not have: never lifted, not counted."""
    strangers: tuple[Stranger, ...] = ()
    values: tuple[str, ...] = ()
    """Of a split group: the label's values that its pods have, each a part."""

    @cached_property
    def live(self) -> tuple[Pod, ...]:
        return tuple(sorted((*self.gated, *self.blocked, *self.lifted, *self.bound), key=creation_order))

    @property
    def live_count(self) -> int:
        return len(self.gated) + len(self.blocked) + len(self.lifted) + len(self.bound)


def members_of(
    group: PodGroup,
    pods: Iterable[Pod],
    child: BatchJob | None = None,
    owners: Mapping[Uid, Owner] = MappingProxyType({}),
) -> Membership:
    """Sort the pods of a namespace by what they are to this group.

    `child` is the batch/v1 Job that stands for the group's Job now, `owners` what was looked up of other controllers,
    by uid. A uid recorded in the group's status wins over `child`: it never changes during the group's life.
    """
    if is_split(group):
        return _split(group, pods)
    candidates = sorted((pod for pod in pods if belongs(pod, group)), key=creation_order)
    standings = {pod.uid: standing_of(pod) for pod in candidates}
    if not is_for_job(group, child):
        return _sorted_by_standing(candidates, standings, (), ())
    uid = child_uid_of(group, child)
    members = [pod for pod in candidates if uid and controller_uid(pod) == uid]
    strangers = tuple(_stranger(group, pod, owners) for pod in candidates if not uid or controller_uid(pod) != uid)
    is_indexed = child is not None and child.uid == uid and child.spec.completion_mode == "Indexed"
    surplus = _surplus(members, standings, child.spec.completions or 0) if child and is_indexed else ()
    over = {pod.uid for pod in surplus}
    return _sorted_by_standing((pod for pod in members if pod.uid not in over), standings, surplus, strangers)


def standing_of(pod: Pod) -> Standing:
    """Return what a member counts as."""
    if pod.is_over:
        return Standing.SUCCEEDED if pod.has_succeeded else Standing.FAILED
    if pod.is_deleting or TAKEN_BACK in pod.metadata.annotations:
        return Standing.LEAVING
    if pod.is_bound:
        return Standing.BOUND
    if blocked_by(pod):
        return Standing.BLOCKED
    return Standing.GATED if pod.has_gate else Standing.LIFTED


def blocked_by(pod: Pod) -> tuple[Reason, str] | None:
    """Return what keeps an unbound pod apart from our own gate, as a reason and words; None if nothing does."""
    if pod.spec.scheduling_group:
        return (
            Reason.NATIVE_SCHEDULING_GROUP,
            f"pod {pod.name} has spec.schedulingGroup: remove it, or our label and gate",
        )
    if pod.spec.scheduler_name != DEFAULT_SCHEDULER:
        return (
            Reason.OTHER_SCHEDULER,
            f"pod {pod.name} has schedulerName {pod.spec.scheduler_name}: remove it from the template",
        )
    if pod.foreign_gates:
        gates = ", ".join(pod.foreign_gates)
        return Reason.FOREIGN_GATE, f"pod {pod.name} has scheduling gate {gates}: its owner must remove it"
    return None


def is_for_job(group: PodGroup, child: BatchJob | None = None) -> bool:
    """Whether the group's members are the pods of one Job."""
    owner = group.controller
    adopted = owner is not None and (owner.api_version, owner.kind) == ("batch/v1", "Job")
    return child is not None or adopted or bool(group.status.child_uid) or JOB_UID in group.metadata.annotations


def child_uid_of(group: PodGroup, child: BatchJob | None = None) -> Uid:
    """Return the uid of the batch/v1 Job whose pods are the members; empty for a plain group or before it is made."""
    if group.status.child_uid:
        return group.status.child_uid
    owner = group.controller
    if owner is not None and (owner.api_version, owner.kind) == ("batch/v1", "Job"):
        return owner.uid
    return child.uid if child is not None else Uid("")


def child_of(group: PodGroup, jobs: Iterable[BatchJob]) -> BatchJob | None:
    """Return the batch/v1 Job of this group among those of the API, or None.

    By the recorded uid if there is one. Else the Job that one of ours controls and whose pods will bear the group's
    label: the very Job the group was made for, where that is noted on the group.
    """
    recorded = child_uid_of(group)
    if recorded:
        return next((job for job in jobs if job.uid == recorded), None)
    noted = group.metadata.annotations.get(JOB_UID)
    return next((job for job in jobs if _is_made_for(group, job, noted)), None)


def group_name_of(job: BatchJob) -> str:
    """Return the PodGroup that the label in a Job's pod template names, or an empty string."""
    labels = (job.spec.template.get("metadata") or {}).get("labels") or {}
    return str(labels.get(GROUP_LABEL, ""))


def job_name_of(group: PodGroup) -> str:
    """Return the name of the Job that a group was made for or that was adopted, empty for a plain group."""
    ref, owner = group.spec.workload_ref, group.controller
    if JOB_UID in group.metadata.annotations and ref is not None:
        return ref.workload_name
    return owner.name if owner is not None and (owner.api_version, owner.kind) == ("batch/v1", "Job") else ""


def controller_uid(pod: Pod) -> Uid:
    """Return the uid of the pod's controller, empty for a bare pod."""
    owner = pod.controller
    return owner.uid if owner is not None else Uid("")


def owners_among(jobs: Iterable[BatchJob]) -> dict[Uid, Owner]:
    """Return what batch/v1 Jobs are as owners of pods that are not their group's: for `members_of`."""
    return {job.uid: _owner(job) for job in jobs}


def completion_index(pod: Pod) -> int | None:
    """Return the completion index of an Indexed Job's pod, or None."""
    text = pod.metadata.annotations.get(COMPLETION_INDEX) or pod.metadata.labels.get(COMPLETION_INDEX)
    return int(text) if text is not None and text.isdecimal() else None


def creation_order(pod: Pod) -> tuple[datetime, int, str, str]:
    """Sort key: by creation, then completion index, name, uid; as kube-scheduler will take equal pods of one owner."""
    index = completion_index(pod)
    return (pod.metadata.creation_timestamp or _EPOCH, -1 if index is None else index, pod.name, pod.uid)


def lifted_at(pod: Pod) -> datetime | None:
    """Return when we lifted the pod's gate, None if that is not noted."""
    text = pod.metadata.annotations.get(LIFTED_AT)
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        return None


def bound_at(pod: Pod) -> datetime | None:
    """Return when the pod was bound, to the second, as its condition says."""
    scheduled = pod.condition("PodScheduled")
    return scheduled.last_transition_time if scheduled is not None and scheduled.is_true else None


def _is_made_for(group: PodGroup, job: BatchJob, noted: str | None) -> bool:
    owner = job.controller
    if owner is None or owner.api_version != BATCH_API or job.metadata.namespace != group.metadata.namespace:
        return False
    return owner.uid == noted if noted else group_name_of(job) == group.name


def _owner(job: BatchJob) -> Owner:
    controller = job.controller
    if controller is not None and controller.api_version == BATCH_API:
        return Owner.OURS
    return Owner.LEAVING if job.is_deleting else Owner.LIVE


def _stranger(group: PodGroup, pod: Pod, owners: Mapping[Uid, Owner]) -> Stranger:
    owner = pod.controller
    if owner is None:
        words = "the group's pods belong to a Job"
        return Stranger(pod, f"pod {pod.name} has no owner, {words}", f"pods with its label have no owner, {words}")
    known = owners.get(owner.uid, Owner.UNKNOWN)
    is_free = bool(group.status.child_uid) and known is Owner.LIVE and not pod.is_deleting
    if (owner.kind, owner.name) == ("Job", job_name_of(group)):
        theirs, other = "an earlier Job of this name", "this one"
    else:
        theirs, other = f"{owner.kind} {owner.name}", "the group's Job"
    message = f"pod {pod.name} belongs to {theirs}, not to {other}"
    return Stranger(pod, message, f"pods with its label belong to {theirs}, not to {other}", is_free)


def _split(group: PodGroup, pods: Iterable[Pod]) -> Membership:
    """Count nobody in a group whose pods belong to its parts, and name those that belong to none."""
    label = split_label(group)
    theirs = sorted((pod for pod in pods if pod.group == group.key), key=creation_order)
    values = sorted({value_of(pod, group) for pod in theirs} - {""})
    words = f"no label {label}, by which the group's pods are split"
    lost = tuple(
        Stranger(pod, f"pod {pod.name} has {words}", f"there are pods with {words}")
        for pod in theirs
        if not value_of(pod, group)
    )
    return Membership(strangers=lost, values=tuple(values))


_PREFERENCE = {Standing.BOUND: 0, Standing.LIFTED: 1, Standing.GATED: 2, Standing.BLOCKED: 3}
"""Which of two live pods with one completion index is kept: the one that is furthest."""


def _surplus(members: list[Pod], standings: Standings, completions: int) -> tuple[Pod, ...]:
    """Return an Indexed Job's live pods beyond one for each index below completions."""
    live = [pod for pod in members if standings[pod.uid] in _PREFERENCE]
    kept: dict[int, Pod] = {}
    for pod in sorted(live, key=lambda pod: (_PREFERENCE[standings[pod.uid]], creation_order(pod))):
        index = completion_index(pod)
        if index is not None and index < completions:
            kept.setdefault(index, pod)
    uids = {pod.uid for pod in kept.values()}
    return tuple(pod for pod in live if pod.uid not in uids)


def _sorted_by_standing(
    members: Iterable[Pod], standings: Standings, surplus: tuple[Pod, ...], strangers: tuple[Stranger, ...]
) -> Membership:
    by_standing: dict[Standing, list[Pod]] = {standing: [] for standing in Standing}
    for pod in members:
        by_standing[standings[pod.uid]].append(pod)
    return Membership(
        gated=tuple(by_standing[Standing.GATED]),
        blocked=tuple(by_standing[Standing.BLOCKED]),
        lifted=tuple(by_standing[Standing.LIFTED]),
        bound=tuple(by_standing[Standing.BOUND]),
        leaving=tuple(by_standing[Standing.LEAVING]),
        succeeded=tuple(by_standing[Standing.SUCCEEDED]),
        failed=tuple(by_standing[Standing.FAILED]),
        surplus=surplus,
        strangers=strangers,
    )
