"""One look at a group: what the cache shows of it now, sorted by `gang`, and what it asks of the planner."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from ganglift.api.job import BatchJob
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import NodeName, Uid
from ganglift.engine.nominations import pinned
from ganglift.gang.membership import (
    Membership,
    bound_at,
    child_of,
    creation_order,
    lifted_at,
    members_of,
    owners_among,
)
from ganglift.gang.need import need_of
from ganglift.gang.outcome import Waiting
from ganglift.gang.state import GangState, Life, gather, leaving_words, observe
from ganglift.plan.request import GroupRequest, Member
from ganglift.plan.shape import shape_of
from ganglift.plan.verdict import Verdict
from ganglift.plan.words import words_of


@dataclass(frozen=True, slots=True)
class Look:
    """A group as it stands: its child Job if it has one, its members by what they count as, and its state.

    `waiting` says what keeps it from being planned, None if enough members are ready.
    """

    group: PodGroup
    child: BatchJob | None
    membership: Membership
    state: GangState
    waiting: Waiting | None
    foreign: frozenset[Uid] = frozenset()
    """Gated members that someone else has nominated: each can go to that node only."""

    @property
    def is_partial(self) -> bool:
        """Whether the gang is in the state that must not last: some members past the gate, fewer than need bound.

        A gang that was whole before and lacks a member is not: what is bound stays and works, only a replacement that
        was lifted must not wait for ever.
        """
        started = len(self.membership.lifted) + (0 if self.state.was_scheduled else self.state.scheduled)
        return self.state.life is Life.ACTIVE and started > 0 and self.state.scheduled < self.state.need

    @property
    def freed(self) -> tuple[Pod, ...]:
        """Gated pods that wait for no gang: of a basic group, or a stranger's that bears the label by mistake.

        Not the members of a Job that is over: the Job controller deletes these, and a released one could still start.
        """
        strangers = tuple(
            stranger.pod for stranger in self.membership.strangers if stranger.is_free and stranger.pod.has_gate
        )
        return (*strangers, *(() if self.state.is_gang else self.membership.gated))

    @property
    def is_ready(self) -> bool:
        """Whether to ask the planner: enough members wait behind the gate, or more than need where it is met.

        While a member that was let loose has no place, no more follow: with it fewer than need would have one (I1).
        """
        if self.waiting is not None or not self.membership.gated or self.state.life is not Life.ACTIVE:
            return False
        if self.state.is_whole:
            return True
        return self.state.to_place > 0 and all(pod.nominated for pod in self.membership.lifted)

    @property
    def priority(self) -> int:
        """What kube-scheduler defends the gang's room at: the lowest priority among the members."""
        return min((pod.spec.priority for pod in self.membership.live), default=self.group.spec.priority or 0)

    @property
    def progressed_at(self) -> datetime | None:
        """When the last member was bound or, if later, lifted: timeouts run from here, also for a new process."""
        times = [lifted_at(pod) for pod in (*self.membership.lifted, *self.membership.bound)]
        times += [bound_at(pod) for pod in self.membership.bound]
        return max((time for time in times if time is not None), default=None)

    def request(self, member_of: Callable[[Pod], Member], avoid: frozenset[NodeName]) -> GroupRequest:
        """Return what the planner is to find room for: need first, members beyond it where there is room."""
        gated = self.membership.gated
        return GroupRequest(
            key=self.group.key,
            uid=self.group.uid,
            need=self.state.to_place,
            members=tuple(member_of(pinned(pod) if pod.uid in self.foreign else pod) for pod in gated),
            priority=self.priority,
            created=_epoch(self.group.metadata.creation_timestamp),
            topology=self.group.spec.topology,
            anchors=self.anchors(),
            avoid=avoid,
            own=frozenset(pod.uid for pod in gated),
        )

    def words_of(self, verdict: Verdict) -> str:
        """Return what a verdict says of this group.

        It is about the members that still want a place, so those that have one are told before it. Members that someone
        else has nominated are named: each can go to one node only, which explains much. So are those that are being
        deleted, since their room is not free before they are gone.
        """
        words = (self._placed_words(), words_of(verdict), self._foreign_words(), *leaving_words(self.membership))
        return "; ".join(filter(None, words))

    def _placed_words(self) -> str:
        placed, more = self.state.need - self.state.to_place, self.state.to_place
        if placed <= 0 or not more:
            return ""
        return f"{placed} of {self.state.need} members have a place, {more} more {'is' if more == 1 else 'are'} needed"

    def _foreign_words(self) -> str:
        pods = [pod for pod in self.membership.gated if pod.uid in self.foreign]
        if not pods:
            return ""
        more = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
        return f"someone else has nominated {pods[0].name} to {pods[0].nominated}{more}, which is left as it is"

    def anchors(self) -> dict[Uid, NodeName]:
        """Nodes of members that hold a place already."""
        bound = {pod.uid: NodeName(pod.spec.node_name) for pod in self.membership.bound}
        return bound | {pod.uid: NodeName(pod.nominated) for pod in self.membership.lifted if pod.nominated}


def look_at(
    group: PodGroup,
    pods: Iterable[Pod],
    jobs: Collection[BatchJob],
    is_foreign: Callable[[Pod], bool],
    obstacle: Waiting | None = None,
) -> Look:
    """Return how a group stands, from the pods that bear its label and the Jobs whose pods do.

    `is_foreign` tells whether a gated pod has been nominated by someone else; `obstacle` is what else keeps the group
    from being planned.
    """
    child = child_of(group, jobs)
    membership = members_of(group, pods, child, owners_among(jobs))
    foreign = frozenset(pod.uid for pod in membership.gated if is_foreign(pod))
    reserved = {pod.uid for pod in membership.gated if pod.nominated} - foreign
    state = observe(group, membership, need_of(group, child, membership), child, reserved, obstacle=obstacle)
    return Look(group, child, membership, state, gather(group, membership, state, obstacle), foreign)


def member_of(pod: Pod) -> Member:
    """Return the pod as the planner is asked about it."""
    return Member(pod.uid, pod.name, shape_of(pod), _epoch(creation_order(pod)[0]))


def _epoch(time: datetime | None) -> int:
    return int(time.timestamp()) if time else 0
