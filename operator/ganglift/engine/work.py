"""What takes time for one group: admission, repair, taking back, release, freeing. Each runs as the group's one task.

Decisions are made by the pass that starts these; here they are carried out, and what came of them is put down in the
group's entry for the next pass and for its status.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

from ganglift.api.pod import Pod
from ganglift.base.clock import Clock
from ganglift.base.wording import counted
from ganglift.engine.admit import SEEN_TIMEOUT_S, Admission, End, Intent, Result
from ganglift.engine.cache import Cache
from ganglift.engine.entry import Entry
from ganglift.engine.executor import Executor, ref_of
from ganglift.engine.fence import Fence
from ganglift.engine.jobs import Jobs
from ganglift.engine.look import Look
from ganglift.engine.nominations import Nominations
from ganglift.engine.scheduler import SchedulerLease
from ganglift.engine.settle import Repair
from ganglift.engine.tally import Tally
from ganglift.engine.writes import lift, nominate, release, rfc3339
from ganglift.gang.actions import Kind
from ganglift.gang.outcome import BackOff, FenceUnavailable, LiftRefused, Outcome, Settling
from ganglift.gang.takeback import Step, Takeback, may_take_bound, survivors, take_back
from ganglift.kube.client import Body, PatchType
from ganglift.kube.errors import Conflict, NotFound
from ganglift.plan.verdict import Fits

log = logging.getLogger(__name__)

RESTARTED = "members were lost, and with disruptionMode all the gang starts anew as one"
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
    scheduler: SchedulerLease
    clock: Clock
    look: Callable[[Entry], None]
    show: Callable[[Entry], None]
    tally: Tally

    async def admit(self, entry: Entry, fits: Fits) -> None:
        """Take a plan through reserve, confirm and lift; note how it ended."""
        patience_s = min(SEEN_TIMEOUT_S, float(entry.group.spec.timeout_s))
        intent = Intent(entry.key, fits.placements, fits.in_sequence, fits.held_back, fits.unjudged, patience_s)

        def report(outcome: Outcome) -> None:
            entry.outcome = outcome
            self.show(entry)

        admission = Admission(
            intent=intent,
            cache=self.cache,
            nominations=self.nominations,
            executor=self.executor,
            fence=self.fence,
            scheduler=self.scheduler,
            clock=self.clock,
            still_wanted=lambda: self._why_unwanted(entry, intent),
            report=report,
        )
        result = await admission.run()
        self.tally.admissions[result.end] += 1
        if result.end is End.LIFTED:
            entry.losses = 0
            entry.refused.clear()
            entry.repairs.clear()
            entry.outcome = Settling(0, len(fits.placements), unjudged=fits.unjudged)
            log.info("gang lifted", extra={"gang": str(entry.key), "members": len(fits.placements)})
            return
        if result.end is End.FORGOTTEN:
            await self.release(pod for uid in intent.uids if (pod := self.cache.pods.get(uid)) is not None)
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
            return f"{len(gone)} of the planned members {'is' if len(gone) == 1 else 'are'} no longer waiting"
        if look.state.to_place > len(intent.placements):
            planned = len(intent.placements)
            return f"{counted(look.state.to_place, 'more member')} must have a place by now, not {planned} as planned"
        return ""

    def _note_failure(self, entry: Entry, result: Result) -> None:
        log.info("admission ended", extra={"gang": str(entry.key), "end": result.end.name, "why": result.message})
        entry.losses += 1
        if result.end in (End.LOST, End.FORGOTTEN) and entry.losses <= FREE_LOSSES:
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
        entry.repairs.update(step.places.items())

        async def nominate_one(pod: Pod) -> None:
            node = step.places[pod.uid]
            await self._patch_status(pod, nominate(pod, node))
            self.nominations.write(pod.uid, node)

        pods = [pod for uid in step.places if (pod := self.cache.pods.get(uid)) is not None and not pod.is_bound]
        self.tally.repairs += 1
        await _for_each(pods, nominate_one)
        log.info("members placed again", extra={"gang": str(entry.key), "members": len(step.places)})

    def way_back(self, look: Look, why: str) -> Takeback:
        """Return how to take a gang back as it stands now."""
        with_bound = may_take_bound(look.group, look.state)
        return take_back(look.membership, self.jobs.by_uid, why, with_bound=with_bound)

    def restart(self, look: Look) -> Takeback:
        """Return how to take back what is left of a gang that lost members and is disrupted as one."""
        left = replace(look.membership, lifted=(), bound=survivors(look.group, look.membership, look.state))
        return take_back(left, self.jobs.by_uid, RESTARTED, with_bound=True)

    async def take_back(self, entry: Entry, back: Takeback, why: str) -> None:
        """Give the gang's places up: its owner makes the pods anew, gated. Then wait, longer each time."""
        log.info("gang taken back", extra={"gang": str(entry.key), "why": why, "members": len(back.steps)})
        self.tally.take_backs += 1
        await self.remove(back.steps)
        until = self.clock.now() + timedelta(seconds=entry.backoff.fail(self.clock.monotonic()))
        entry.outcome = BackOff(until, why)

    async def remove(self, steps: Iterable[Step]) -> None:
        """Take pods away, each by its own steps."""
        await _for_each(steps, lambda step: self.executor.carry_out(step.actions))

    async def release(self, pods: Iterable[Pod]) -> None:
        """Give room back that is kept for gated members that no plan wants there any more.

        Ends when the watch has shown it, so that no plan made later takes what was given back for still reserved.
        """
        released = tuple(pods)
        await _for_each(released, lambda pod: self._patch_status(pod, release(pod)))
        await self.cache.expect((pod.uid for pod in released), lambda pod: not pod.nominated).wait(SEEN_TIMEOUT_S)

    async def free(self, pods: Iterable[Pod]) -> None:
        """Remove our gate from pods that wait for no gang: of a basic group, of one that is over, let in by mistake."""
        at = rfc3339(self.clock.now())
        await _for_each(
            pods, lambda pod: self.executor.patch(ref_of(Kind.POD, pod.key), lift(pod, at), PatchType.STRATEGIC)
        )

    async def _patch_status(self, pod: Pod, body: Body) -> None:
        await self.executor.patch(ref_of(Kind.POD, pod.key), body, PatchType.MERGE, subresource="status")


T = TypeVar("T")


async def _for_each(things: Iterable[T], act: Callable[[T], Coroutine[Any, Any, Any]]) -> None:
    """Do this for all of them, whatever comes of one; raise the first error once all were tried.

    A pod that is gone or has changed meanwhile is no error: the next look tells.
    """
    answers = await asyncio.gather(*(act(thing) for thing in things), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException) and not isinstance(answer, Conflict | NotFound):
            raise answer
