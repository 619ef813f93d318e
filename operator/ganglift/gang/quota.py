"""Gangs that share a ResourceQuota: one gathers at a time, so that two halves don't wait for each other for ever.

Gated pods count in a quota. Where the Job controller can't make all pods of a gang because of it, only the first such
gang of the namespace, in queue order, keeps gathering; our later ones are parked: their child is suspended, with a mark
in the same patch, so that its pods go, and resumed in order. A gang that alone asks for more than the quota allows can
never gather, so it comes after all others. Only children of our own Jobs are parked, and only before
any member of the gang has been released or bound.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ganglift.api.job import BatchJob
from ganglift.api.names import BATCH_API, PARKED, WOKEN
from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Key
from ganglift.base.quantity import InvalidQuantity, format_units, units_of
from ganglift.gang.actions import Kind, Patch, merge
from ganglift.gang.outcome import Waiting
from ganglift.gang.reasons import ConditionType, Reason

_EPOCH = datetime.fromtimestamp(0, UTC)
_EXCEEDED = "exceeded quota"
_QUOTA_WORDS = re.compile(_EXCEEDED + r": (?P<quota>\S+), requested: (?P<requested>\S+), .*limited: (?P<limited>\S+)")
_ERROR_CREATING = re.compile(r'^Error creating: (?:pods? "[^"]*" is \w+: )?', re.IGNORECASE)
_HOLDS_QUOTA_IN_VAIN = (Reason.UNSCHEDULABLE, Reason.BACK_OFF)


@dataclass(frozen=True)
class Applicant:
    """A Job's gang that has not started. `refusal` is why its pods are refused, in the refuser's words, if known."""

    group: PodGroup
    child: BatchJob
    refusal: str = ""

    @property
    def may_be_parked(self) -> bool:
        """Whether it is ours to suspend: `suspend` of an adopted Job is its user's."""
        owner = self.child.controller
        return owner is not None and owner.api_version == BATCH_API

    @property
    def is_parked(self) -> bool:
        return PARKED in self.child.metadata.annotations

    @property
    def lacks_pods(self) -> bool:
        return self.is_parked or self.group.status.members < self.group.status.need

    @property
    def is_held_up(self) -> bool:
        """Whether the quota is what it waits for."""
        return self.is_parked or (self.lacks_pods and self.refusal.startswith(_EXCEEDED))

    @property
    def pods_at_once(self) -> int:
        """How many pods must exist at once for the gang to start; a parked one's need is 0, so not from there."""
        spec = self.child.spec
        return min(self.group.min_count, spec.parallelism, spec.completions or self.group.min_count)

    @property
    def over_limit(self) -> str:
        """Say by how much the whole gang is over the quota's limit; empty where it is not, or where none is known."""
        found = _QUOTA_WORDS.match(self.refusal)
        if found is None:
            return ""
        limits = _amounts(found["limited"])
        for resource, amount in _amounts(found["requested"]).items():
            words = _over_words(resource, amount, limits.get(resource, ""), self.pods_at_once)
            if words:
                return words.format(quota=found["quota"])
        return ""

    @property
    def order(self) -> tuple[bool, int, datetime, str]:
        """Sort key of the queue: those that can gather at all, then priority, age, uid."""
        created = self.group.metadata.creation_timestamp or _EPOCH
        return bool(self.over_limit), -self.group.status.priority, created, self.group.uid


@dataclass(frozen=True)
class Turn:
    """Whose turn it is in a namespace. `gathers` is None where the quota holds nobody up."""

    gathers: Applicant | None = None
    park: tuple[Applicant, ...] = ()
    resume: tuple[Applicant, ...] = ()


def is_applicant(group: PodGroup, child: BatchJob) -> bool:
    """Whether a quota may hold a gang up or make it wait: not started, not ended, not suspended by its user."""
    status = group.status
    is_idle = group.spec.gang is not None and status.scheduled_time is None and not (status.scheduled or status.lifted)
    suspended_by_user = child.spec.suspend and PARKED not in child.metadata.annotations
    return is_idle and not (child.is_ending or child.is_deleting or group.is_deleting or suspended_by_user)


def take_turns(applicants: Iterable[Applicant]) -> Turn:
    """Return whose turn it is to gather, and who is to make room for it.

    Those that lack pods too are parked at once. If there are none, but a later gang has all its pods and no room on the
    nodes, the last such one is parked, one at a time, after the pods of the one before are gone.
    """
    queue = sorted(applicants, key=lambda applicant: applicant.order)
    gathers = next((applicant for applicant in queue if applicant.is_held_up), None)
    if gathers is None:
        return Turn()
    resume = (gathers,) if gathers.is_parked else ()
    after = queue[queue.index(gathers) + 1 :]
    later = [applicant for applicant in after if applicant.may_be_parked and not applicant.is_parked]
    rivals = tuple(applicant for applicant in later if applicant.is_held_up)
    if rivals or resume or any(a.is_parked and a.group.status.members for a in queue):
        return Turn(gathers, rivals, resume)
    in_vain = [applicant for applicant in later if _waits_for_room(applicant)]
    return Turn(gathers, tuple(in_vain[-1:]))


def shortages(applicants: Iterable[Applicant], turn: Turn) -> dict[Key, Waiting]:
    """Return, by group, why pods of it are missing; nothing for those of which that is not known."""
    words = {applicant.group.key: _shortage(applicant, turn) for applicant in applicants if applicant.lacks_pods}
    return {key: waiting for key, waiting in words.items() if waiting is not None}


def _shortage(applicant: Applicant, turn: Turn) -> Waiting | None:
    if applicant.is_parked:
        if turn.gathers is None or turn.gathers == applicant:
            return None
        parked = f"parked while PodGroup {turn.gathers.group.name} gathers under the quota"
        return Waiting(Reason.WAITING_FOR_QUOTA, "; ".join(filter(None, (applicant.over_limit, parked))))
    if applicant.is_held_up:
        return Waiting(Reason.WAITING_FOR_QUOTA, "; ".join(filter(None, (applicant.over_limit, applicant.refusal))))
    if not applicant.refusal:
        return None
    return Waiting(Reason.WAITING_FOR_MEMBERS, f"creating pods is refused: {applicant.refusal}")


def _amounts(text: str) -> dict[str, str]:
    """Read `pods=1,requests.cpu=2` as a quota's message has it."""
    return {resource: amount for resource, _, amount in (part.partition("=") for part in text.split(","))}


def _over_words(resource: str, amount: str, limit: str, pods: int) -> str:
    plain = resource.removeprefix("requests.").removeprefix("limits.")
    try:
        total, allowed = pods * units_of(plain, amount), units_of(plain, limit)
    except InvalidQuantity:
        return ""
    if total <= allowed:
        return ""
    needs = f"the gang needs {format_units(plain, total)} {resource} and quota {{quota}} allows {limit}"
    return f"{needs}: raise the quota, or lower minCount or parallelism"


def refusal_in(events: Iterable[Mapping[str, Any]]) -> str:
    """Return what the newest of a Job's FailedCreate events says, without the pod's name, which differs each time.

    Empty where there is none. Of equally new ones a quota's counts, since others may be its consequence.
    """
    said = [(_time_of(event), _EXCEEDED in words, words) for event in events if (words := event.get("message"))]
    newest = max(said, default=("", False, ""))[2]
    return newest[newest.index(_EXCEEDED) :] if _EXCEEDED in newest else _ERROR_CREATING.sub("", newest)


def _time_of(event: Mapping[str, Any]) -> str:
    return event.get("lastTimestamp") or event.get("eventTime") or ""


def park(applicant: Applicant, behind: Applicant) -> Patch:
    """Return the patch that takes a gang's pods out of the quota; the mark names whose turn it is."""
    metadata = {"annotations": {PARKED: behind.group.name}}
    spec = {"suspend": True, "activeDeadlineSeconds": None}
    child = applicant.child
    return merge(Kind.BATCH_JOB, child.key, child.uid, {"metadata": metadata, "spec": spec})


def resume(applicant: Applicant) -> Patch:
    """Return the patch that lets a parked gang gather again."""
    child = applicant.child
    body = {"metadata": {"annotations": {PARKED: None}}, "spec": {"suspend": False}}
    return merge(Kind.BATCH_JOB, child.key, child.uid, body)


def wake(applicant: Applicant, now: datetime) -> Patch:
    """Return the patch that makes the Job controller try again at once; by itself it waits up to a minute."""
    child = applicant.child
    note = now.replace(microsecond=0).isoformat().replace("+00:00", "Z")
    return merge(Kind.BATCH_JOB, child.key, child.uid, {"metadata": {"annotations": {WOKEN: note}}})


def _waits_for_room(applicant: Applicant) -> bool:
    scheduled = applicant.group.condition(ConditionType.SCHEDULED)
    return scheduled is not None and not scheduled.is_true and scheduled.reason in _HOLDS_QUOTA_IN_VAIN
