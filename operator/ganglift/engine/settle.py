"""Settling: what to do about a gang whose gates are lifted while not all of need is bound.

Failure shows in the PodScheduled condition, not in a cleared nomination: with `preemptionPolicy: Never` kube-scheduler
never clears it, and two members can block each other for ever. A member without a place is nominated again only onto
room that fits in the newest snapshot, once for each state of the world, and never onto a node that refused it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar

from ganglift.api.pod import Pod
from ganglift.base.ids import NodeName, Uid
from ganglift.engine.look import Look, member_of
from ganglift.gang.membership import lifted_at
from ganglift.gang.outcome import Settling
from ganglift.plan.check import still_fits, unjudged
from ganglift.plan.plan import plan
from ganglift.plan.queue import Policy
from ganglift.plan.request import GroupRequest
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.verdict import Fits, Verdict
from ganglift.plan.words import unjudged_words, words_of

REPAIR_GRACE_S = 1.0
"""How long no place for a refused member is borne: an end that is under way shows within this time."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do before `until`. `trouble` is what keeps the gang from being whole, empty if nothing is known."""

    until: datetime
    trouble: str = ""
    is_without_place: bool = False
    """A refused member has no other place right now."""

    def wait_s(self, now: datetime) -> float:
        """Return the seconds until it is time to look again."""
        return REPAIR_GRACE_S if self.is_without_place else (self.until - now).total_seconds()


@dataclass(frozen=True, slots=True)
class Repair:
    """Nominate these members onto these nodes. `refused` are the nodes that turned members away."""

    places: Mapping[Uid, NodeName]
    refused: frozenset[NodeName]
    trouble: str
    is_without_place: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Give up: `why` in words for the status."""

    why: str
    is_without_place: ClassVar[bool] = False

    @property
    def trouble(self) -> str:
        return self.why


Step = Wait | Repair | TakeBack


@dataclass(frozen=True, slots=True)
class Situation:
    """What a step is decided from, beside the look at the gang itself."""

    snapshot: Snapshot
    now: datetime
    partial_since: datetime
    """Since when this process has seen the gang partial: for members whose pods don't tell when they were lifted."""
    planned: Mapping[Uid, NodeName]
    """Where we nominated lifted members last; a nomination elsewhere is kube-scheduler preempting for the member."""
    avoid: frozenset[NodeName]
    unrepairable_for_s: float
    """How long there has been no place for a refused member, 0 if there is one."""
    may_repair: bool
    """Whether the world has changed since the last repair."""
    repairs: Mapping[tuple[Uid, NodeName], int] = field(default_factory=dict)
    """How often a member was nominated to a node by a repair."""


def settle(look: Look, situation: Situation) -> Step:
    """Return the next step for a partial gang, `look.is_partial`."""
    deadline = _begun(look, situation) + timedelta(seconds=look.group.spec.timeout_s)
    if situation.now >= deadline:
        words = f"no member was bound for {look.group.spec.timeout_s} s: {_trouble_of(look.membership.lifted)}"
        return TakeBack("; ".join(filter(None, (words, unjudged_words(_unjudged(look, situation))))))
    placeless = [pod for pod in look.membership.lifted if was_refused(pod) and not _has_room(pod, situation)]
    if not placeless:
        return Wait(deadline)
    trouble = _trouble_of(placeless)
    if not situation.may_repair:
        return Wait(deadline, trouble)  # the place found last time stands until the world changes
    refused = frozenset(node for pod in placeless if (node := _refused_by(pod, situation)))
    verdict = _place_again(look, placeless, refused, situation)
    if isinstance(verdict, Fits):
        return Repair({place.uid: place.node for place in verdict.placements}, refused, trouble)
    if situation.unrepairable_for_s >= REPAIR_GRACE_S:
        return TakeBack(f"{trouble}; there is no other place: {words_of(verdict)}")
    return Wait(deadline, trouble, is_without_place=True)


def shown(look: Look, situation: Situation, step: Step) -> Settling:
    """Return what the status says of a gang whose needed members are all lifted."""
    return Settling(look.state.scheduled, look.state.need, step.trouble, _unjudged(look, situation))


def _unjudged(look: Look, situation: Situation) -> tuple[str, ...]:
    """Return what the planner had no rule for in the members that are still to be bound."""
    return unjudged(situation.snapshot, map(member_of, look.membership.lifted))


def _begun(look: Look, situation: Situation) -> datetime:
    """Return when the present attempt last made progress. A gate that someone else removed leaves no note of when."""
    noted = look.progressed_at
    if noted is None or any(lifted_at(pod) is None for pod in look.membership.lifted):
        return max(noted or situation.partial_since, situation.partial_since)
    return noted


def was_refused(pod: Pod) -> bool:
    """Whether kube-scheduler has tried the member since it was lifted and found no place."""
    scheduled = pod.condition("PodScheduled")
    return scheduled is not None and scheduled.reason == "Unschedulable"


def _has_room(pod: Pod, situation: Situation) -> bool:
    """Whether a refused member still has, or is being given, a place: its nomination stands on room that fits it.

    A nomination we did not write means that kube-scheduler evicts others for the member, so the room is not free yet.
    """
    if not pod.nominated:
        return False
    if pod.nominated != situation.planned.get(pod.uid, pod.nominated):
        return True
    return not still_fits(situation.snapshot, [(member_of(pod), NodeName(pod.nominated))])


def _refused_by(pod: Pod, situation: Situation) -> NodeName | None:
    """Return the node that turned the member away, None where that is not known.

    A repair's nomination may be wiped by what kube-scheduler had decided before it saw it (kubernetes#140177): where
    the node still has room, that counts as a refusal from the second time on.
    """
    node = situation.planned.get(pod.uid)
    if node is None or pod.nominated or situation.repairs.get((pod.uid, node), 0) != 1:
        return node
    return node if still_fits(situation.snapshot, [(member_of(pod), node)]) else None


def _place_again(
    look: Look,
    placeless: Iterable[Pod],
    refused: frozenset[NodeName],
    situation: Situation,
) -> Verdict:
    members = tuple(member_of(pod) for pod in placeless)
    request = GroupRequest(
        key=look.group.key,
        uid=look.group.uid,
        need=len(members),
        members=members,
        topology=look.group.spec.topology,
        anchors={uid: node for uid, node in look.anchors().items() if uid not in {m.uid for m in members}},
        avoid=situation.avoid | refused,
        own=frozenset(member.uid for member in members),
    )
    return plan(situation.snapshot, [request], Policy.BACKFILL).verdicts[look.group.key]


def _trouble_of(pods: Iterable[Pod]) -> str:
    refused = [pod for pod in pods if was_refused(pod)]
    if not refused:
        return "kube-scheduler has not bound the released members"
    first = refused[0]
    scheduled = first.condition("PodScheduled")
    words = scheduled.message if scheduled is not None else ""
    more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
    return f"kube-scheduler refused {first.name}{more}: {words}"
