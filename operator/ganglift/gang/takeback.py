"""Taking members back, since a gate can't be put back on: their owner makes them anew, gated.

A pod of a built-in Job is detached first (its job-tracking finalizer goes, so that the Job controller never counts it)
and then deleted: no failure is counted and no back-off starts. Pods of other controllers are evicted. A bare pod would
be made by nobody, so it is left and named. Unbound members go first; bound ones only where the gang has not yet been
whole or is to be disrupted as one. Of the latter those that are left when others were lost go too, once: `survivors`.

Between detach and delete a crash would leave a pod whose end is never counted: `leftovers` finds these.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ganglift.api.job import BatchJob
from ganglift.api.model import condition_of
from ganglift.api.names import BUILT_IN_JOB_CONTROLLER, JOB_TRACKING, TAKEN_BACK
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Uid
from ganglift.gang.actions import Action, Delete, Evict, Kind, strategic
from ganglift.gang.membership import Membership, bound_at, controller_uid, lifted_at
from ganglift.gang.reasons import ConditionType, Reason
from ganglift.gang.state import GangState, Life


@dataclass(frozen=True)
class Step:
    """What to do with one pod, in order; pods don't depend on each other."""

    pod: Pod
    actions: tuple[Action, ...]


@dataclass(frozen=True)
class Takeback:
    """`steps` unbound pods first, `left` the bare pods that stay as they are."""

    steps: tuple[Step, ...]
    left: tuple[Pod, ...]


def take_back(membership: Membership, jobs: Mapping[Uid, BatchJob], why: str, *, with_bound: bool) -> Takeback:
    """Return how to take a gang's released members back. `jobs` are the batch/v1 Jobs known, by uid.

    `why` is said on bound pods; `with_bound` is whether these go too.
    """
    released = [pod for pod in membership.lifted if not pod.is_gated]
    going = [*released, *(membership.bound if with_bound else ())]
    steps = [Step(pod, _actions(pod, jobs, why)) for pod in going if pod.controller is not None]
    return Takeback(tuple(steps), tuple(pod for pod in going if pod.controller is None))


def evict(pod: Pod, jobs: Mapping[Uid, BatchJob], why: str) -> tuple[Action, ...]:
    """Return how to evict a bound pod for a gang's sake.

    A gang's member of a built-in Job is not counted as failed and is made anew: it is detached and deleted, once the
    eviction API says that no disruption budget forbids it.
    """
    actions = _actions(pod, jobs, why, Reason.PREEMPTED)
    return actions if isinstance(actions[0], Evict) else (Evict(pod.key, pod.uid, is_trial=True), *actions)


def may_take_bound(group: PodGroup, state: GangState) -> bool:
    """Whether bound members go too: of a gang that was never whole, or that is disrupted as one."""
    return not state.was_scheduled or is_disrupted_as_one(group)


def survivors(group: PodGroup, membership: Membership, state: GangState) -> tuple[Pod, ...]:
    """Return the bound members that go because others were lost, of a gang that is disrupted as one and is degraded.

    Only those started before the loss: the gang is started anew once, however often one looks, and by whatever process.
    """
    degraded = condition_of(group.status.conditions, ConditionType.DEGRADED)
    if not is_disrupted_as_one(group) or state.life is not Life.ACTIVE or state.scheduled >= state.need:
        return ()
    if degraded is None or not degraded.is_true or degraded.last_transition_time is None:
        return ()
    started = ((pod, lifted_at(pod) or bound_at(pod)) for pod in membership.bound)
    return tuple(pod for pod, at in started if at is not None and at < degraded.last_transition_time)


def is_disrupted_as_one(group: PodGroup) -> bool:
    """Whether its disruptionMode is `all`."""
    return group.spec.disruption_mode is not None and group.spec.disruption_mode.is_all


def leftovers(pods: Iterable[Pod]) -> tuple[Step, ...]:
    """Return how to finish with pods that were detached and are still there: whoever bears the mark is deleted."""
    marked = (pod for pod in pods if TAKEN_BACK in pod.metadata.annotations and not pod.is_deleting)
    return tuple(Step(pod, (*_detach(pod), _delete(pod))) for pod in marked)


def _actions(
    pod: Pod, jobs: Mapping[Uid, BatchJob], why: str, reason: Reason = Reason.GANG_TAKEN_BACK
) -> tuple[Action, ...]:
    if not _is_of_built_in_job(pod, jobs):
        return (Evict(pod.key, pod.uid),)
    notice = (_disruption(pod, why, reason),) if pod.is_bound else ()
    return (*notice, *_detach(pod), _delete(pod))


def _is_of_built_in_job(pod: Pod, jobs: Mapping[Uid, BatchJob]) -> bool:
    job = jobs.get(controller_uid(pod))
    return job is not None and job.spec.managed_by in (None, BUILT_IN_JOB_CONTROLLER)


def _disruption(pod: Pod, why: str, reason: Reason) -> Action:
    condition = {
        "type": ConditionType.DISRUPTION_TARGET.value,
        "status": "True",
        "reason": reason.value,
        "message": why,
    }
    return strategic(Kind.POD, pod.key, pod.uid, {"status": {"conditions": [condition]}}, subresource="status")


def _detach(pod: Pod) -> tuple[Action, ...]:
    """Remove the finalizer and set the mark in one patch; nothing where that is done."""
    if JOB_TRACKING not in pod.metadata.finalizers and TAKEN_BACK in pod.metadata.annotations:
        return ()
    metadata = {
        "$deleteFromPrimitiveList/finalizers": [JOB_TRACKING],
        "annotations": {TAKEN_BACK: "true"},
    }
    return (strategic(Kind.POD, pod.key, pod.uid, {"metadata": metadata}),)


def _delete(pod: Pod) -> Action:
    return Delete(Kind.POD, pod.key, pod.uid)
