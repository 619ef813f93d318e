"""What takes time for one group: admission, repair, taking back, release, freeing. Each runs as the group's one task.

Decisions are made by the pass that starts these; here they are carried out, and what came of them is put down in the
group's entry for the next pass and for its status.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from ganglift.api.pod import Pod
from ganglift.base.clock import Clock
from ganglift.base.ids import NodeName, Uid
from ganglift.engine.admit import Admission, End, Intent, Result
from ganglift.engine.cache import Cache
from ganglift.engine.entry import Entry
from ganglift.engine.executor import Executor, ref_of
from ganglift.engine.fence import Fence
from ganglift.engine.jobs import Jobs
from ganglift.engine.nominations import Nominations
from ganglift.engine.settle import Repair, TakeBack
from ganglift.engine.writes import lift, nominate, release, rfc3339
from ganglift.gang.actions import Kind
from ganglift.gang.outcome import BackOff, FenceUnavailable, LiftRefused, Outcome, Settling, Stuck
from ganglift.gang.takeback import Step, may_take_bound, take_back
from ganglift.kube.client import PatchType
from ganglift.kube.errors import Conflict, Invalid, NotFound
from ganglift.plan.shape import shape_of
from ganglift.plan.verdict import Placement

log = logging.getLogger(__name__)

FREE_LOSSES = 1
"""Admissions in a row that may lose their room and be planned again at once; after that they back off."""


@dataclass(frozen=True, slots=True)
class GroupWork:
    """Carries out steps for single groups. `show` tells the status writer, `look` looks at a group again."""

    cache: Cache
    jobs: Jobs
    nominations: Nominations
    executor: Executor
    fence: Fence
    clock: Clock
    look: Callable[[Entry], None]
    show: Callable[[Entry], None]
    planned: dict[Uid, NodeName] = field(default_factory=dict)
    """Where this process nominated members last."""

    def retain(self, uids: Collection[Uid]) -> None:
        """Forget all pods but these."""
        for uid in self.planned.keys() - uids:
            del self.planned[uid]

    async def admit(self, entry: Entry, placements: Sequence[Placement]) -> None:
        """Take a plan through reserve, confirm and lift; note how it ended."""
        members = [self.cache.pods[place.uid] for place in placements if place.uid in self.cache.pods]
        intent = Intent(entry.key, tuple(placements), is_sequential=_depend_on_each_other(members))

        def report(outcome: Outcome) -> None:
            entry.outcome = outcome
            self.show(entry)

        admission = Admission(
            intent=intent,
            cache=self.cache,
            nominations=self.nominations,
            executor=self.executor,
            fence=self.fence,
            clock=self.clock,
            still_wanted=lambda: self._why_unwanted(entry, intent),
            report=report,
        )
        self.planned.update({place.uid: place.node for place in placements})
        result = await admission.run()
        if result.end is End.LIFTED:
            entry.losses = 0
            entry.refused.clear()
            entry.outcome = Settling(0, len(placements))
            log.info("gang lifted", extra={"gang": str(entry.key), "members": len(placements)})
        else:
            self._note_failure(entry, result)

    def _why_unwanted(self, entry: Entry, intent: Intent) -> str:
        self.look(entry)
        look = entry.look
        if look is None or entry.is_dropped:
            return "the group is gone"
        if look.waiting is not None:
            return look.waiting.message
        gated = {pod.uid for pod in look.membership.gated}
        gone = [uid for uid in intent.uids if uid not in gated]
        if gone:
            return f"{len(gone)} of the planned members are no longer waiting"
        if look.state.to_place > len(intent.placements):
            return f"{look.state.to_place} members are needed by now, {len(intent.placements)} are planned"
        return ""

    def _note_failure(self, entry: Entry, result: Result) -> None:
        log.info("admission ended", extra={"gang": str(entry.key), "end": result.end.name, "why": result.message})
        entry.losses += 1
        if result.end is End.LOST and entry.losses <= FREE_LOSSES:
            return
        until = self.clock.now() + timedelta(seconds=entry.backoff.fail(self.clock.monotonic()))
        match result.end:
            case End.REFUSED:
                entry.outcome = LiftRefused(result.pod, result.message)
            case End.NO_FENCE | End.NO_ANSWER:
                entry.outcome = FenceUnavailable(result.message)
            case _:
                entry.outcome = BackOff(until, result.message)

    async def repair(self, entry: Entry, step: Repair) -> None:
        """Nominate lifted members without a place to other nodes."""
        entry.refused |= step.refused
        for uid, node in step.places.items():
            pod = self.cache.pods.get(uid)
            if pod is None or pod.is_bound or pod.nominated == node:
                continue
            self.nominations.write(uid)
            try:
                await self.executor.patch(
                    ref_of(Kind.POD, pod.key), nominate(pod, node), PatchType.MERGE, subresource="status"
                )
            except (Conflict, Invalid, NotFound):
                continue  # it was bound, changed or deleted meanwhile: the next look tells
            self.planned[uid] = node
        log.info("members placed again", extra={"gang": str(entry.key), "members": len(step.places)})

    async def take_back(self, entry: Entry, step: TakeBack) -> None:
        """Give the gang's places up: its owner makes the pods anew, gated. Then wait, longer each time."""
        assert entry.look is not None
        look = entry.look
        with_bound = may_take_bound(look.group, look.state)
        back = take_back(look.membership, self.jobs.by_uid, step.why, with_bound=with_bound)
        await self.remove(back.steps)
        until = self.clock.now() + timedelta(seconds=entry.backoff.fail(self.clock.monotonic()))
        names = tuple(pod.name for pod in back.left)
        stuck = Stuck(look.state.scheduled, look.state.need, names) if names else None
        entry.outcome = stuck or BackOff(until, step.why)
        log.info("gang taken back", extra={"gang": str(entry.key), "why": step.why})

    async def remove(self, steps: Iterable[Step]) -> None:
        """Take pods away, each by its own steps; one that is gone or changed meanwhile is for the next look.

        Raises the first other error once all pods were tried.
        """
        answers = await asyncio.gather(
            *(self.executor.carry_out(step.actions) for step in steps), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, Conflict | Invalid | NotFound):
                raise answer

    async def release(self, pods: Iterable[Pod]) -> None:
        """Give room back that is kept for gated members that no plan wants there any more."""

        async def release_one(pod: Pod) -> None:
            try:
                await self.executor.patch(
                    ref_of(Kind.POD, pod.key), release(pod), PatchType.MERGE, subresource="status"
                )
            except (Conflict, Invalid, NotFound):
                return  # bound, changed or gone: nothing is kept for it, or the next look tells

        await asyncio.gather(*(release_one(pod) for pod in pods))

    async def free(self, pods: Iterable[Pod]) -> None:
        """Remove our gate from pods that wait for no gang: of a basic group, of one that is over, let in by mistake."""
        at = rfc3339(self.clock.now())
        for pod in pods:
            try:
                await self.executor.patch(ref_of(Kind.POD, pod.key), lift(pod, at), PatchType.STRATEGIC)
            except (Conflict, Invalid, NotFound):
                continue


def _depend_on_each_other(members: Iterable[Pod]) -> bool:
    return any(not shape_of(pod).demand.is_alone for pod in members)
