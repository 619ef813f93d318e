"""What a PodGroup's status says: counts, conditions in metav1 form, one word for the column; and events of a change.

`status_of` is a function of the present state and of the status as it stands: a transition time moves only when its
condition's status does, `PodGroupInitiallyScheduled` never goes back, and the same world gives an equal status, so that
nothing is written when nothing changed. Times have whole seconds, as metav1.Time.
"""

from datetime import datetime, timedelta

from ganglift.api.model import Condition, condition_of
from ganglift.api.scheduling import PodGroup, PodGroupStatus
from ganglift.base.ids import Uid
from ganglift.base.wording import clause
from ganglift.gang.actions import Announce, Kind, Patch, merge_status
from ganglift.gang.outcome import Outcome, Waiting
from ganglift.gang.reasons import ConditionType, Reason
from ganglift.gang.state import GangState, Life, life_reason

DEGRADED_AFTER_S = 5
"""How long need must have been unmet before a gang that was whole counts as degraded."""

_MESSAGE_LIMIT = 4096
_NO_ROOM = (Reason.UNSCHEDULABLE, Reason.BACK_OFF, Reason.HELD, Reason.PREEMPTING, Reason.STUCK)
_REFUSED = (Reason.LIFT_REFUSED, Reason.FENCE_UNAVAILABLE, Reason.OTHER_SCHEDULER, Reason.NATIVE_SCHEDULING_GROUP)
_SILENT = (Reason.QUEUED, Reason.BASIC)


def status_of(
    group: PodGroup,
    state: GangState,
    outcome: Outcome | None,
    now: datetime,
    *,
    child_uid: Uid | None = None,
    priority: int = 0,
    priority_trouble: Waiting | None = None,
) -> PodGroupStatus:
    """Return the whole status of a group. `outcome` is what the last look came to: what `gather` says, else the engine.

    `child_uid` is recorded once and stays; `priority` is the value the group is queued with, and
    `priority_trouble` what is wrong with the priorities of the gang.
    """
    now = now.replace(microsecond=0)
    previous = group.status
    scheduled = _moved(previous, _scheduled(group, state, outcome), now)
    degraded = _degraded(group, state, scheduled, now)
    conditions = (
        _initially_scheduled(group, state, scheduled, now),
        scheduled,
        degraded,
        _priority_mismatch(group, priority_trouble, now),
        condition_of(previous.conditions, ConditionType.DISRUPTION_TARGET),
    )
    whole_since = now if state.is_whole else None
    return PodGroupStatus(
        policy=group.spec.scheduling_policy.word,
        phase=_phase(state, scheduled, degraded),
        conditions=tuple(condition for condition in conditions if condition is not None),
        need=state.need,
        priority=priority,
        child_uid=previous.child_uid or child_uid or Uid(""),
        scheduled_time=previous.scheduled_time or whole_since,
        observed_generation=group.metadata.generation,
        members=state.members,
        gated=state.gated,
        reserved=state.reserved,
        lifted=state.lifted,
        scheduled=state.scheduled,
        running=state.running,
        succeeded=state.succeeded,
        failed=state.failed,
    )


def status_patch(group: PodGroup, status: PodGroupStatus) -> Patch | None:
    """Return the write that brings the API to this status; None if it says so already.

    Bound to the resourceVersion that `status` was computed from: a stale look must not undo a newer one.
    """
    if status == group.status:
        return None
    wire = status.wire()
    wire["childUID"] = wire["childUID"] or None
    patch = merge_status(Kind.POD_GROUP, group.key, group.uid, wire)
    metadata = {"uid": group.uid, "resourceVersion": group.metadata.resource_version}
    return Patch(patch.kind, patch.key, patch.uid, {**patch.body, "metadata": metadata}, patch.type, patch.subresource)


def transitions(group: PodGroup, status: PodGroupStatus) -> tuple[Announce, ...]:
    """Return the events that the step from the group's status to this one is worth: one for each transition.

    While members are missing, each new count is one: "3 of 4 pods exist" is what the user looks for.
    """
    events = []
    old, new = (condition_of(s.conditions, ConditionType.SCHEDULED) for s in (group.status, status))
    if new is not None and _is_news(old, new):
        events.append(_event(group, new))
    old, new = (condition_of(s.conditions, ConditionType.DEGRADED) for s in (group.status, status))
    if new is not None and new.is_true and not (old and old.is_true):
        events.append(_event(group, new))
    return tuple(events)


def recheck_at(status: PodGroupStatus) -> datetime | None:
    """Return when the status must be looked at again although nothing happens; None if it stands by itself."""
    scheduled = condition_of(status.conditions, ConditionType.SCHEDULED)
    degraded = condition_of(status.conditions, ConditionType.DEGRADED)
    if scheduled is None or scheduled.is_true or degraded is None or degraded.is_true:
        return None
    return _degrades_at(scheduled) if degraded.reason == Reason.SCHEDULED else None


def set_condition(conditions: tuple[Condition, ...], new: Condition, now: datetime) -> tuple[Condition, ...]:
    """Return the conditions with this one in its place; its transition time moves only when its status changes."""
    old = condition_of(conditions, new.type)
    is_same = old is not None and old.status == new.status and old.last_transition_time is not None
    since = old.last_transition_time if is_same and old is not None else now.replace(microsecond=0)
    dated = new.model_copy(update={"last_transition_time": since})
    if old is None:
        return (*conditions, dated)
    return tuple(dated if condition.type == new.type else condition for condition in conditions)


def _scheduled(group: PodGroup, state: GangState, outcome: Outcome | None) -> Condition:
    if state.life is not Life.ACTIVE:
        over = life_reason(state.life, group)
        told = outcome is not None and state.life is Life.PARKED and outcome.reason is over.reason
        words = outcome.message if outcome and told else over.message
        return _condition(group, ConditionType.SCHEDULED, False, over.reason, words)
    if state.is_whole:
        return _condition(group, ConditionType.SCHEDULED, True, Reason.SCHEDULED, _bound_words(state))
    if outcome is not None:
        return _condition(group, ConditionType.SCHEDULED, False, outcome.reason, outcome.message)
    if not state.is_gang:
        return _condition(group, ConditionType.SCHEDULED, False, Reason.BASIC, _bound_words(state))
    words = f"{clause(state.members, 'member', 'waits', 'wait')} for the next look at the cluster"
    return _condition(group, ConditionType.SCHEDULED, False, Reason.QUEUED, words)


def _initially_scheduled(group: PodGroup, state: GangState, scheduled: Condition, now: datetime) -> Condition | None:
    kind = ConditionType.INITIALLY_SCHEDULED
    old = condition_of(group.status.conditions, kind)
    if old is not None and old.is_true:
        return old
    if state.is_whole or state.was_scheduled:
        new = _condition(group, kind, True, Reason.SCHEDULED, "all members that must start together have been bound")
    elif scheduled.reason in _NO_ROOM:
        new = _condition(group, kind, False, Reason.UNSCHEDULABLE, scheduled.message)
    elif scheduled.reason in _REFUSED:
        new = _condition(group, kind, False, Reason.SCHEDULER_ERROR, scheduled.message)
    else:
        return old
    return _moved(group.status, new, now)


def _degraded(group: PodGroup, state: GangState, scheduled: Condition, now: datetime) -> Condition | None:
    """Whole arms it; suspension, the end and an edit that raises need disarm it; so only a loss of members sets it."""
    kind = ConditionType.DEGRADED
    old = condition_of(group.status.conditions, kind)
    if state.is_gang and state.is_whole:
        new = _condition(group, kind, False, Reason.SCHEDULED, "the gang is whole")
    elif old is None:
        return None
    elif state.life is not Life.ACTIVE:
        over = life_reason(state.life, group)
        new = _condition(group, kind, False, over.reason, over.message)
    elif not old.is_true and old.reason == Reason.SCHEDULED and state.need > group.status.need:
        new = _condition(group, kind, False, Reason.NEED_RAISED, "more members are needed than when it was whole")
    elif old.is_true or (old.reason == Reason.SCHEDULED and now >= _degrades_at(scheduled)):
        new = _condition(group, kind, True, Reason.MEMBERS_LOST, f"{_bound_words(state)}: {scheduled.message}")
    else:
        return old
    return _moved(group.status, new, now)


def _priority_mismatch(group: PodGroup, trouble: Waiting | None, now: datetime) -> Condition | None:
    if trouble is None:
        return None
    new = _condition(group, ConditionType.PRIORITY_MISMATCH, True, trouble.reason, trouble.message)
    return _moved(group.status, new, now)


def _degrades_at(scheduled: Condition) -> datetime:
    # One second more than the rule, since transition times are cut to whole seconds.
    since = scheduled.last_transition_time
    assert since is not None, "conditions of ours have a transition time"
    return since + timedelta(seconds=DEGRADED_AFTER_S + 1)


def _phase(state: GangState, scheduled: Condition, degraded: Condition | None) -> str:
    """Return one word for the column: the cause where there is one, as `kubectl get pods` does."""
    if state.life is Life.CHILD_DELETED:
        return Reason.FAILED
    if degraded is not None and degraded.is_true:
        return ConditionType.DEGRADED
    if scheduled.is_true:
        return "Running" if state.running >= max(1, state.need) else Reason.SCHEDULED
    return scheduled.reason


def _bound_words(state: GangState) -> str:
    of = max(state.need, state.scheduled) if state.is_gang else state.members
    words = f"{state.scheduled} of {clause(of, 'member', 'is', 'are')} bound"
    if not (state.is_gang and state.is_whole and state.ready):
        return words
    return f"{words}; {state.ready} more {'starts' if state.ready == 1 else 'start'} one by one as there is room"


def _condition(group: PodGroup, kind: ConditionType, is_true: bool, reason: Reason, message: str) -> Condition:
    return Condition(
        type=kind.value,
        status="True" if is_true else "False",
        reason=reason.value,
        message=message if len(message) <= _MESSAGE_LIMIT else message[: _MESSAGE_LIMIT - 3] + "...",
        observed_generation=group.metadata.generation,
    )


def _moved(previous: PodGroupStatus, new: Condition, now: datetime) -> Condition:
    moved = condition_of(set_condition(previous.conditions, new, now), new.type)
    assert moved is not None, "the condition was just set"
    return moved


def _is_news(old: Condition | None, new: Condition) -> bool:
    if new.reason in _SILENT:
        return False
    if old is None or (old.status, old.reason) != (new.status, new.reason):
        return True
    return new.reason == Reason.WAITING_FOR_MEMBERS and old.message != new.message


def _event(group: PodGroup, condition: Condition) -> Announce:
    reason = Reason(condition.reason)
    return Announce(Kind.POD_GROUP, group.key, group.uid, reason.value, condition.message, reason.is_warning)
