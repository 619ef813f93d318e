"""Watches over gangs that a ResourceQuota holds up: whose turn it is to gather is decided in `gang.quota`.

Only events say why pods are missing, a quota or another refusal, and they are many, so they are read on demand: for a
Job whose gang has lacked pods for a while. Everything else is what the watches show. A look every two seconds is soon
enough, since the Job controller itself tries again far less often.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta

from pydantic_core import from_json

from ganglift.api.job import BatchJob
from ganglift.api.scheduling import PodGroup
from ganglift.base.clock import Clock
from ganglift.base.ids import Key, Uid
from ganglift.engine.executor import NotLeading
from ganglift.gang.membership import group_name_of
from ganglift.gang.quota import Applicant, Turn, is_applicant, park, refusal_in, resume, shortages, take_turns, wake
from ganglift.gang.reasons import ConditionType, Reason
from ganglift.handlers.store import workload_of
from ganglift.handlers.world import Refused, Stale, World
from ganglift.kube.client import Client, Selector
from ganglift.kube.errors import KubeError
from ganglift.kube.resources import CORE_EVENTS

log = logging.getLogger(__name__)

LOOK_EVERY_S = 2.0
PATIENCE_S = 2.0
"""How long pods may be missing before the quota is asked about: most gangs have theirs by then."""
READ_EVENTS_EVERY_S = 5.0
WAKE_FIRST_S, WAKE_LONGEST_S = 2.0, 30.0


@dataclass
class _Pace:
    """When to do something again: after pauses that double."""

    at: float = 0.0
    pause_s: float = WAKE_FIRST_S

    def is_due(self, now: float) -> bool:
        if now < self.at:
            return False
        self.at, self.pause_s = now + self.pause_s, min(WAKE_LONGEST_S, 2 * self.pause_s)
        return True


class QuotaKeeper:
    """Lets one gang of a namespace gather at a time where a quota is short; `changed` has a group looked at again."""

    def __init__(self, world: World, client: Client, clock: Clock, changed: Callable[[Key], None]) -> None:
        self._world = world
        self._client = client
        self._clock = clock
        self._changed = changed
        self._refusals: dict[Uid, str] = {}
        """Why the API server refuses the pods of a Job, by its uid."""
        self._read_at: dict[Uid, float] = {}
        self._wakes: defaultdict[Uid, _Pace] = defaultdict(_Pace)
        self._active: dict[str, dict[Uid, int]] = {}

    async def run(self) -> None:
        """Look every two seconds until cancelled."""
        while True:
            for namespace in sorted(self._namespaces()):
                try:
                    await self.look(namespace)
                except (KubeError, Stale, Refused, NotLeading) as error:
                    log.info("quota not settled yet", extra={"namespace": namespace, "error": str(error)})
            await self._clock.sleep(LOOK_EVERY_S)

    async def look(self, namespace: str) -> None:
        """Bring one namespace on by a step."""
        applicants = [await self._applicant(group, child) for group, child in self._idle_gangs(namespace)]
        self._forget_others(namespace, {applicant.child.uid for applicant in applicants})
        turn = take_turns(applicants)
        self._explain(namespace, applicants, turn)
        if turn.gathers is not None:
            await self._make_room(namespace, turn, turn.gathers)

    async def _make_room(self, namespace: str, turn: Turn, gathers: Applicant) -> None:
        for applicant in turn.park:
            log.info("gang parked", extra={"gang": str(applicant.group.key), "behind": str(gathers.group.key)})
            await self._world.carry_out([park(applicant, gathers)])
        for applicant in turn.resume:
            log.info("gang resumed", extra={"gang": str(applicant.group.key)})
            self._refusals.pop(applicant.child.uid, None)
            await self._world.carry_out([resume(applicant)])
        if self._pods_ended(namespace):
            self._wakes.pop(gathers.child.uid, None)
        if not gathers.is_parked and self._wakes[gathers.child.uid].is_due(self._clock.monotonic()):
            await self._world.carry_out([wake(gathers, self._clock.now())])

    def _explain(self, namespace: str, applicants: Collection[Applicant], turn: Turn) -> None:
        """Tell gangs why they lack pods, and nobody else any more."""
        told = {key: waiting for key, waiting in self._world.shortages.items() if key.namespace == namespace}
        now = shortages(applicants, turn)
        for key in told.keys() | now.keys():
            if told.get(key) != now.get(key):
                self._world.shortages.pop(key, None)
                self._world.shortages.update({key: now[key]} if key in now else {})
                self._changed(key)

    def _namespaces(self) -> set[str]:
        """Namespaces in which a gang has lacked pods for a while, or was told why."""
        long_ago = self._clock.now() - timedelta(seconds=PATIENCE_S)
        found = {key.namespace for key in self._world.shortages}
        for group in self._world.groups:
            scheduled = group.condition(ConditionType.SCHEDULED)
            if scheduled is not None and scheduled.reason in (Reason.WAITING_FOR_MEMBERS, Reason.WAITING_FOR_QUOTA):
                since = scheduled.last_transition_time
                found |= {group.metadata.namespace} if since is not None and since <= long_ago else set()
        return found

    def _idle_gangs(self, namespace: str) -> Iterator[tuple[PodGroup, BatchJob]]:
        """Yield the gangs of Jobs in a namespace that have not started, with their batch/v1 Jobs."""
        for group in self._world.groups:
            if group.metadata.namespace != namespace:
                continue
            child = self._world.children.get(_job_key(group))
            if child is not None and group_name_of(child) == group.name and is_applicant(group, child):
                yield group, child

    async def _applicant(self, group: PodGroup, child: BatchJob) -> Applicant:
        applicant = Applicant(group, child)
        if not applicant.lacks_pods:
            self._refusals.pop(child.uid, None)
        elif not applicant.is_parked:
            await self._read_events(child)
        return Applicant(group, child, self._refusals.get(child.uid, ""))

    async def _read_events(self, child: BatchJob) -> None:
        """Find out from a Job's events why its pods are refused, in the words of what refuses them."""
        now = self._clock.monotonic()
        if now < self._read_at.get(child.uid, 0.0):
            return
        self._read_at[child.uid] = now + READ_EVENTS_EVERY_S
        selector = Selector(fields=f"involvedObject.uid={child.uid},reason=FailedCreate")
        page = from_json(
            await self._client.list_page(CORE_EVENTS, namespace=child.metadata.namespace, selector=selector)
        )
        if refusal := refusal_in(page.get("items") or ()):
            self._refusals[child.uid] = refusal

    def _pods_ended(self, namespace: str) -> bool:
        """Whether a Job of the namespace has fewer active pods than at the last look: then quota has come free."""
        now = {child.uid: child.status.active for child in self._world.children if child.key.namespace == namespace}
        before = self._active.get(namespace, {})
        self._active[namespace] = now
        return any(now.get(uid, 0) < active for uid, active in before.items())

    def _forget_others(self, namespace: str, uids: set[Uid]) -> None:
        """Forget what was found out about Jobs that wait no longer."""
        there = {child.uid for child in self._world.children if child.key.namespace != namespace} | uids
        for memory in (self._refusals, self._read_at, self._wakes):
            for uid in [uid for uid in memory if uid not in there]:
                del memory[uid]


def _job_key(group: PodGroup) -> Key:
    """Return where the batch/v1 Job of a group is, if it has one: under the Workload's name, or the adopted owner."""
    owner = group.controller
    return workload_of(group) or Key(group.metadata.namespace, owner.name if owner is not None else "")
