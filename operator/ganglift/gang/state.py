"""How a gang stands, computed from what the API shows now and from nothing else.

`observe` counts, `gather` says what keeps the gang from being planned. Neither remembers anything: a new process that
looks at the same objects sees the same state.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from ganglift.api.job import BatchJob
from ganglift.api.names import JOB_UID, PARKED
from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Uid
from ganglift.base.wording import clause, counted
from ganglift.gang.membership import Membership, blocked_by, child_uid_of, is_for_job, job_name_of
from ganglift.gang.outcome import Waiting, listed
from ganglift.gang.patterns import pattern_of
from ganglift.gang.reasons import ConditionType, Reason
from ganglift.gang.split import is_split, split_label


class Life(Enum):
    """Where a gang is in its life."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    PARKED = "parked"
    """Suspended by us, so that an earlier gang gathers its pods under the namespace's quota."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CHILD_DELETED = "child deleted"
    DELETING = "deleting"


_LIFE_REASONS = {
    Life.SUSPENDED: (Reason.SUSPENDED, "{job} has spec.suspend: true"),
    Life.PARKED: (Reason.WAITING_FOR_QUOTA, "the Job is parked while an earlier gang gathers under the quota"),
    Life.SUCCEEDED: (Reason.SUCCEEDED, "the gang has done its work"),
    Life.FAILED: (Reason.FAILED, "the Job has failed"),
    Life.CHILD_DELETED: (Reason.CHILD_DELETED, "the batch/v1 Job was deleted before its end was seen"),
    Life.DELETING: (Reason.DELETING, "the Job or the group is being deleted"),
}
_LASTING = (Life.CHILD_DELETED, Life.SUCCEEDED, Life.FAILED)
"""What is still so when the batch/v1 Job is gone."""
_WHY_MISSING = (Reason.WAITING_FOR_QUOTA, Reason.WAITING_FOR_MEMBERS)
_WAITING_LIVES = (Life.SUSPENDED, Life.PARKED, Life.CHILD_DELETED)


@dataclass(frozen=True)
class GangState:
    """Counts are of members. `ready` ones bear our gate and nothing else; `gated` counts blocked ones too."""

    life: Life
    is_gang: bool
    min_count: int
    need: int
    members: int
    ready: int
    gated: int
    reserved: int
    lifted: int
    scheduled: int
    running: int
    succeeded: int
    failed: int
    leaving: int
    was_scheduled: bool
    stray: int = 0
    """Those of the lifted ones that something keeps which is not ours, so that they never get a place from us."""
    awaits_child: bool = False
    """The group is made for a Job whose batch/v1 Job does not exist yet."""

    @property
    def is_whole(self) -> bool:
        """Whether all members that must run together are bound (of a basic group: every one that exists)."""
        if self.life is not Life.ACTIVE:
            return False
        if not self.is_gang:
            return self.scheduled == self.members > 0
        return self.scheduled >= self.need and (self.need > 0 or self.was_scheduled)

    @property
    def to_place(self) -> int:
        """How many gated members must still be given a place and lifted for the gang to become whole."""
        return max(0, self.need - self.scheduled - (self.lifted - self.stray))

    @property
    def missing(self) -> int:
        """How many ready members there are too few for that."""
        return max(0, self.to_place - self.ready)


def life_reason(life: Life, group: PodGroup) -> Waiting:
    """Return what there is to say of a gang that is not active."""
    reason, words = _LIFE_REASONS[life]
    return Waiting(reason, words.format(job=_job_words(group)))


def observe(
    group: PodGroup,
    membership: Membership,
    need: int,
    child: BatchJob | None = None,
    reserved: Collection[Uid] | None = None,
    *,
    obstacle: Waiting | None = None,
) -> GangState:
    """Count a group's members.

    `child` is its Job's batch/v1 Job, `reserved` the uids whose nomination is known to be ours and to stand; without it
    every gated member with a nomination counts as reserved. `obstacle` is as for `gather`.
    """
    gated = [pod for pod in (*membership.gated, *membership.blocked) if pod.has_gate]
    held = [pod for pod in gated if (pod.nominated if reserved is None else pod.uid in reserved)]
    stray = sum(1 for pod in membership.blocked if not pod.is_gated)
    return GangState(
        life=life_of(group, membership, child, obstacle),
        is_gang=group.spec.gang is not None,
        min_count=group.min_count,
        need=need,
        members=membership.live_count,
        ready=len(membership.gated),
        gated=len(gated),
        reserved=len(held),
        lifted=len(membership.lifted) + stray,
        scheduled=len(membership.bound),
        running=sum(1 for pod in membership.bound if pod.status.phase == "Running"),
        succeeded=len(membership.succeeded),
        failed=len(membership.failed),
        leaving=len(membership.leaving),
        was_scheduled=was_scheduled(group, membership, child),
        stray=stray,
        awaits_child=child is None and is_for_job(group) and not child_uid_of(group),
    )


def life_of(group: PodGroup, membership: Membership, child: BatchJob | None, obstacle: Waiting | None = None) -> Life:
    """Return where the gang is in its life.

    A Job's gang follows its Job. A plain group is over when no live member is left and minCount of them succeeded, and
    stays so after the pods have been cleaned up, until new ones come.
    """
    if group.is_deleting:
        return Life.DELETING
    if child is None:
        return _life_without(group, obstacle) if child_uid_of(group) else _life_of_plain(group, membership)
    lives = (
        (child.is_in("Complete") or child.is_in("SuccessCriteriaMet"), Life.SUCCEEDED),
        (child.is_ending, Life.FAILED),
        (child.is_deleting, Life.DELETING),
        (child.spec.suspend and PARKED in child.metadata.annotations, Life.PARKED),
        (child.spec.suspend, Life.SUSPENDED),
    )
    return next((life for is_so, life in lives if is_so), Life.ACTIVE)


def was_scheduled(group: PodGroup, membership: Membership, child: BatchJob | None) -> bool:
    """Whether the gang has been whole at some time: recorded, or shown by what can't have come about otherwise.

    The record goes with a PodGroup that a user deletes under a running Job; the Job's successes tell then, and ready
    pods where the group is younger than the Job's start. Elsewhere a ready pod tells nothing: members of a gang that is
    not whole yet may be ready before they are taken back.
    """
    if group.status.scheduled_time is not None:
        return True
    if child is None:
        return False
    if child.status.succeeded or membership.succeeded:
        return True
    return _is_made_again(group, child) and any(
        (ready := pod.condition("Ready")) and ready.is_true for pod in membership.bound
    )


def _is_made_again(group: PodGroup, child: BatchJob) -> bool:
    made, started = group.metadata.creation_timestamp, child.status.start_time
    return made is not None and started is not None and made > started


def gather(
    group: PodGroup, membership: Membership, state: GangState, obstacle: Waiting | None = None
) -> Waiting | None:
    """Return what keeps the gang from being planned, or None if enough members are ready (or none are needed).

    `obstacle` is what is known from elsewhere: why members are missing, else it stands by itself.
    """
    waiting = _gather(group, membership, state)
    if obstacle is None:
        return waiting
    if obstacle.reason not in _WHY_MISSING:
        return obstacle
    if waiting is not None and state.life is Life.PARKED and obstacle.reason is Reason.WAITING_FOR_QUOTA:
        return obstacle
    if waiting is None or waiting.reason is not Reason.WAITING_FOR_MEMBERS:
        return waiting
    return Waiting(obstacle.reason, f"{waiting.message}: {obstacle.message}")


def _gather(group: PodGroup, membership: Membership, state: GangState) -> Waiting | None:
    if is_split(group):
        return Waiting(Reason.SPLIT, _split_words(group, membership))
    if state.life in _WAITING_LIVES:
        return life_reason(state.life, group)
    if state.life is not Life.ACTIVE or not state.is_gang:
        return None
    if state.need == 0 and not state.was_scheduled:
        return Waiting(Reason.WAITING_FOR_MEMBERS, "no pods are asked for")
    if state.missing == 0:
        return None
    return _waiting_for_blocked(membership, state) or Waiting(
        Reason.WAITING_FOR_MEMBERS, _missing_words(group, membership, state)
    )


def _split_words(group: PodGroup, membership: Membership) -> str:
    parts = counted(len(membership.values), "group")
    words = f"its pods are split by label {split_label(group)} into {parts}"
    return "; ".join([words, *(stranger.of_all for stranger in membership.strangers[:1])])


def _life_without(group: PodGroup, obstacle: Waiting | None) -> Life:
    """A group whose batch/v1 Job is gone goes with the owner of both, and if the end was seen that is how it ended.

    Unless our Job is still there and lost its child, which is what `obstacle` says, and our own status from then on.
    """
    said = group.condition(ConditionType.SCHEDULED)
    reasons = (obstacle.reason if obstacle is not None else None, said.reason if said is not None else None)
    return next((life for life in _LASTING if _LIFE_REASONS[life][0] in reasons), Life.DELETING)


def _job_words(group: PodGroup) -> str:
    """Name the Job that the user made: ours, or the batch/v1 Job that was adopted."""
    name, is_ours = job_name_of(group), JOB_UID in group.metadata.annotations
    return f"{'gjob' if is_ours else 'job'}/{name}" if name else "its batch/v1 Job"


def _life_of_plain(group: PodGroup, membership: Membership) -> Life:
    if membership.live_count or group.spec.gang is None:
        return Life.ACTIVE
    is_done = len(membership.succeeded) >= group.min_count or group.status.phase == Reason.SUCCEEDED
    return Life.SUCCEEDED if is_done else Life.ACTIVE


def _waiting_for_blocked(membership: Membership, state: GangState) -> Waiting | None:
    """Where enough members exist and some are kept by something that is not ours: that is the reason."""
    if state.members < state.need:
        return None
    kept = [(pod, found) for pod in membership.blocked if (found := blocked_by(pod)) is not None]
    if not kept:
        return None
    _, (reason, words) = kept[0]
    more = f", {len(kept) - 1} more like it" if len(kept) > 1 else ""
    ready = f"{state.members - len(kept)} of {clause(state.need, 'member', 'is', 'are')}"
    return Waiting(reason, f"{ready} ready: {words}{more}")


def _missing_words(group: PodGroup, membership: Membership, state: GangState) -> str:
    words = f"{state.members} of {clause(state.need, 'pod', 'exists', 'exist')}"
    if state.succeeded:
        words += f", {state.succeeded} more {'has' if state.succeeded == 1 else 'have'} succeeded"
    notes = [
        *(_child_words(group) if state.awaits_child else ()),
        *(leaving_words(membership)),
        *(stranger.of_all for stranger in membership.strangers[:1]),
        *filter(None, [pattern_of(membership.live, state.need)]),
    ]
    return "; ".join([words, *notes])


def _child_words(group: PodGroup) -> tuple[str, ...]:
    """Point to who knows why there is no batch/v1 Job: the Job, of which the Workload bears the name."""
    workload = group.spec.workload_ref
    name = f"Job {workload.workload_name}" if workload is not None else "its Job"
    return (f"its batch/v1 Job is not there: see the conditions of {name}",)


def leaving_words(membership: Membership) -> tuple[str, ...]:
    """Name deleting pods that hold their place: with podReplacementPolicy Failed no other comes before they go.

    On a node that is away that never happens by itself: someone has to delete such a pod with force.
    """
    leaving = [f"{pod.name} on {pod.spec.node_name}" for pod in membership.leaving if pod.is_bound]
    return (f"being deleted: {listed(tuple(leaving))}",) if leaving else ()
