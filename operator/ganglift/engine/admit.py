"""Admission of one gang that the planner found room for: reserve, confirm, lift.

Each step looks at the world again and ends the admission where it no longer holds. Nothing is undone here: what is
left reserved is either planned anew or released by the loop, which is also what happens after a crash in the middle.

Invariants kept: I1 (no gate is lifted before need members are reserved and confirmed on room that fits) and I4 (only
our own gate is removed, only from the pod of that uid).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

from ganglift.api.pod import Pod
from ganglift.base.clock import Clock
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.engine.cache import Cache
from ganglift.engine.competitors import adrift_on, rival_of
from ganglift.engine.executor import Executor, NotLeading
from ganglift.engine.fence import Answer, Fence
from ganglift.engine.nominations import Nominations
from ganglift.engine.scheduler import SchedulerLease
from ganglift.engine.settle import was_refused
from ganglift.engine.writes import lift, nominate, rfc3339
from ganglift.gang.outcome import Lifting, Outcome, Reserved
from ganglift.kube.client import PatchType
from ganglift.kube.errors import Conflict, Invalid, KubeError, NotFound, StatusError
from ganglift.kube.resources import PODS, Ref
from ganglift.plan.check import still_fits
from ganglift.plan.shape import shape_of
from ganglift.plan.verdict import Placement
from ganglift.plan.words import cause_words

SEEN_TIMEOUT_S = 15.0
"""How long the watch may take to show our own nominations before the plan is looked at again."""


class End(Enum):
    """How an admission ended."""

    LIFTED = auto()
    """All gates are off."""
    LOST = auto()
    """The room, a member or the wish for the gang went; plan again at once."""
    FORGOTTEN = auto()
    """Another kube-scheduler leads by now: release, and plan again."""
    REFUSED = auto()
    """The API server refuses the lift; nothing was lifted. Back off."""
    NO_FENCE = auto()
    """There is competition and no fence can be had. Back off."""
    NO_ANSWER = auto()
    """There is competition and kube-scheduler did not answer the fence. Back off."""
    FAILED = auto()
    """The API server could not be reached or failed. Back off."""


@dataclass(frozen=True, slots=True)
class Result:
    """How it ended and why; `pod` is the one whose lift was refused."""

    end: End
    message: str = ""
    pod: str = ""


@dataclass(frozen=True)
class Intent:
    """What is to be lifted: placements in the order in which each is legal with only the earlier ones bound."""

    key: Key
    placements: tuple[Placement, ...]
    is_sequential: bool = False
    """Members have spread or affinity rules among themselves, so one is lifted after another."""
    held_back: frozenset[Uid] = frozenset()
    """Members that are nominated only once the earlier ones on their node are bound: see `Fits.held_back`."""
    unjudged: tuple[str, ...] = ()
    """What the planner has no rule for, to be told on the way."""
    patience_s: float = SEEN_TIMEOUT_S
    """How long members that were lifted are waited for where the next ones can't go before they are bound."""

    @property
    def uids(self) -> tuple[Uid, ...]:
        return tuple(placement.uid for placement in self.placements)

    @cached_property
    def of(self) -> Mapping[Uid, Placement]:
        """Each member's place."""
        return {placement.uid: placement for placement in self.placements}


class _Ended(Exception):
    """Carries a Result out of a step."""

    def __init__(self, end: End, message: str, pod: str = "") -> None:
        super().__init__(message)
        self.result = Result(end, message, pod)


@dataclass(frozen=True, slots=True)
class Admission:
    """Takes one intent through the protocol."""

    intent: Intent
    cache: Cache
    nominations: Nominations
    executor: Executor
    fence: Fence
    scheduler: SchedulerLease
    clock: Clock
    still_wanted: Callable[[], str]
    """Says, from the present state of the group, why this intent is no longer right; empty while it is."""
    report: Callable[[Outcome], None]

    async def run(self) -> Result:
        """Reserve, confirm, lift; return how it ended."""
        try:
            holder = await self._holder(self.scheduler.known)
            await self._reserve()
            await self._confirm()
            await self._try_lift()
            await self._still_known(holder)
            await self._lift()
        except _Ended as ended:
            return ended.result
        finally:
            self.cache.forget(self.intent.uids)
        return Result(End.LIFTED)

    async def _reserve(self) -> None:
        """Nominate every member, and wait until the watch shows it."""
        await self._nominate_all((pod, place) for pod, place in self._members() if not self._is_held_back(pod))
        self.report(Reserved(len(self.intent.placements), unjudged=self.intent.unjudged))
        self._check()

    async def _nominate_all(self, members: Iterable[tuple[Pod, Placement]]) -> None:
        todo = {pod.uid: (pod, place.node) for pod, place in members if pod.nominated != place.node}
        seen = self.cache.expect(todo, lambda pod: pod.nominated == todo[pod.uid][1])
        answers = await asyncio.gather(*(self._nominate(*each) for each in todo.values()), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise _judge(answer)
        if not await seen.wait(SEEN_TIMEOUT_S):
            raise _Ended(End.LOST, f"{len(seen.waiting)} nominations did not show within {SEEN_TIMEOUT_S:.0f} s")

    def _is_held_back(self, pod: Pod) -> bool:
        return pod.uid in self.intent.held_back

    async def _nominate(self, pod: Pod, node: NodeName) -> None:
        self.nominations.write(pod.uid, node)
        await self.executor.patch(_ref(pod), nominate(pod, node), PatchType.MERGE, subresource="status")

    async def _confirm(self) -> None:
        """Make sure that kube-scheduler knows of the nominations and that the plan still holds."""
        reserved = (uid for uid in self.intent.uids if uid not in self.intent.held_back)
        since = max(self.cache.nominated_at(uid) for uid in reserved)
        if (rival := rival_of(self.cache, self.intent.placements, since)) is not None:
            self.report(Reserved(len(self.intent.placements), str(rival), self.intent.unjudged))
            passage = await self.fence.passed(str(rival))
            if passage.answer is Answer.UNAVAILABLE:
                raise _Ended(End.NO_FENCE, passage.message)
            if passage.answer is Answer.NO_ANSWER:
                raise _Ended(End.NO_ANSWER, passage.message)
        self._check()

    def _check(self) -> None:
        """End the admission unless the gang is still wanted, all nominations stand and each member still fits."""
        if why := self.still_wanted():
            raise _Ended(End.LOST, why)
        for pod, placement in self._members():
            if pod.nominated != placement.node and not self._is_held_back(pod):
                raise _Ended(End.LOST, f"the nomination of {pod.name} to {placement.node} is gone")
        if (adrift := adrift_on(self.cache, self.intent.placements)) is not None:
            raise _Ended(End.LOST, f"{adrift.key} may be on its way to these nodes: its volumes are being bound")
        assignment = [(self.cache.member(pod), placement.node) for pod, placement in self._members()]
        lowest = min(pod.spec.priority for pod, _ in self._members())
        pins = {place.uid: place.pins for place in self.intent.placements}
        broken = still_fits(self.cache.snapshot(), assignment, self.cache.reserved_below(lowest), pins)
        if broken:
            causes = ", ".join(map(cause_words, broken[0].causes)) or "it is gone"
            raise _Ended(End.LOST, f"the room on {broken[0].node} is gone: {causes}")

    async def _still_known(self, holder: str) -> None:
        """End the admission where another kube-scheduler than the one that saw the nominations leads by now."""
        if await self._holder(self.scheduler.read) != holder:
            raise _Ended(End.FORGOTTEN, "kube-scheduler has changed since and may not know of the reservation")

    async def _holder(self, ask: Callable[[], Awaitable[str]]) -> str:
        try:
            return await ask()
        except KubeError as error:
            raise _Ended(End.FAILED, str(error)) from error

    async def _try_lift(self) -> None:
        """Have the API server judge the lift of one member of each template: a refusal here costs nothing."""
        members = [pod for pod, _ in self._members()]
        for _, error in await self._lift_all(_one_of_each(members), dry_run=True):
            if error is not None:
                raise error

    async def _lift(self) -> None:
        """Remove our gate from all members."""
        members = [pod for pod, _ in self._members()]
        self.report(Lifting(0, len(members), self.intent.unjudged))
        self._check()
        self.cache.lifting(self.intent.uids)
        answers = await self._lift_all(members)
        lifted = [pod.uid for pod, error in answers if error is None]
        await self.cache.expect(lifted, lambda pod: not pod.has_gate).wait(SEEN_TIMEOUT_S)
        for _, error in answers:
            if error is not None:
                raise error  # some gates may be off by now: what is left is for the loop to see

    async def _lift_all(self, pods: Iterable[Pod], *, dry_run: bool = False) -> list[tuple[Pod, BaseException | None]]:
        """Remove the gates, one after another until the first failure where order matters; return what came of each."""
        if not self.intent.is_sequential or dry_run:
            lifts = [(pod, self._lift_one(pod, dry_run=dry_run)) for pod in pods]
            answers = await asyncio.gather(*(lift for _, lift in lifts), return_exceptions=True)
            return [(pod, answer) for (pod, _), answer in zip(lifts, answers, strict=True)]
        done: list[tuple[Pod, BaseException | None]] = []
        for pod in pods:
            try:
                if self._is_held_back(pod):
                    await self._catch_up(pod)
                await self._lift_one(pod)
            except (_Ended, NotLeading) as error:
                return [*done, (pod, error)]
            done.append((pod, None))
            self.report(Lifting(len(done), len(self.intent.placements), self.intent.unjudged))
        return done

    async def _catch_up(self, pod: Pod) -> None:
        """Nominate a member that was held back, once the earlier ones on its node are bound."""
        place = self.intent.of[pod.uid]
        earlier = self.intent.placements[: self.intent.placements.index(place)]
        uids = [p.uid for p in earlier if p.node == place.node]
        decided = self.cache.expect(uids, lambda other: other.is_bound or was_refused(other))
        if not await decided.wait(self.intent.patience_s):
            raise _Ended(End.LOST, f"members before {pod.name} were not bound to {place.node} in time")
        if any(was_refused(other) for uid in uids if (other := self.cache.pods.get(uid)) is not None):
            raise _Ended(End.LOST, f"a member before {pod.name} was refused its place on {place.node}")
        await self._nominate_all([(self.cache.pods.get(pod.uid, pod), place)])

    async def _lift_one(self, pod: Pod, *, dry_run: bool = False) -> None:
        at = rfc3339(self.clock.now())
        try:
            body = lift(pod, at, self.intent.of[pod.uid].pins)
            await self.executor.patch(_ref(pod), body, PatchType.STRATEGIC, dry_run=dry_run)
        except (Conflict, NotFound) as error:
            raise _Ended(End.LOST, str(error)) from error
        except StatusError as error:
            raise _Ended(End.REFUSED, error.message, pod.name) from error
        except KubeError as error:
            raise _Ended(End.FAILED, str(error)) from error

    def _members(self) -> Iterable[tuple[Pod, Placement]]:
        """Each member as the cache shows it now; ends the admission where one has gone."""
        for placement in self.intent.placements:
            pod = self.cache.pods.get(placement.uid)
            if pod is None or pod.is_deleting:
                raise _Ended(End.LOST, f"a member is gone before its gate was lifted: {placement.uid}")
            yield pod, placement


def _judge(error: BaseException) -> BaseException:
    """Turn a failed nomination into how the admission ends; 409, 422 and 404 are answers, not errors."""
    if isinstance(error, Conflict | Invalid | NotFound):
        return _Ended(End.LOST, str(error))
    if isinstance(error, KubeError):
        return _Ended(End.FAILED, str(error))
    return error


def _ref(pod: Pod) -> Ref:
    return Ref(PODS, pod.name, pod.metadata.namespace)


def _one_of_each(pods: Iterable[Pod]) -> Iterable[Pod]:
    """One pod for each template, that is for each owner and demand: these are refused or taken alike."""
    return {(pod.controller.uid if pod.controller else pod.uid, shape_of(pod).demand): pod for pod in pods}.values()
