"""Each group of an inventory: looked at and planned as the operator would do it now.

The same cache, the same look, the same planner: what is told here is what the operator's status would say. Not known
outside of the operator are nodes that it avoids for a while, and quotas.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from ganglift.api.job import BatchJob
from ganglift.api.model import condition_of
from ganglift.api.names import QUEUE_POLICY
from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup, Workload
from ganglift.base.ids import Key, Uid
from ganglift.engine.cache import Cache
from ganglift.engine.jobs import Jobs
from ganglift.engine.look import Look, look_at
from ganglift.gang.outcome import Outcome, Settling, Unschedulable
from ganglift.gang.podgroup import missing_workload
from ganglift.gang.reasons import ConditionType
from ganglift.gang.split import base_of
from ganglift.gang.state import Life
from ganglift.gang.status import status_of
from ganglift.offline.inventory import Inventory
from ganglift.plan.check import unjudged
from ganglift.plan.ledger import LEDGER_KINDS
from ganglift.plan.plan import plan
from ganglift.plan.queue import Policy, policies
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.verdict import Fits, Placement, PlanResult, Verdict

_NOW = datetime.fromtimestamp(0, UTC)
"""Transition times are of no interest here."""


class Result(StrEnum):
    """What came of a group."""

    FITS = "Fits"
    DOES_NOT_FIT = "DoesNotFit"
    WAITS = "Waits"
    """Something else than room is in the way, such as missing members."""
    STARTS = "Starts"
    """Members are on their way to their nodes."""
    RUNS = "Runs"
    OVER = "Over"
    BASIC = "Basic"
    """No gang: its pods are placed one by one."""

    @property
    def is_well(self) -> bool:
        """Whether there is nothing that keeps the group from running."""
        return self not in (Result.DOES_NOT_FIT, Result.WAITS)


@dataclass(frozen=True, slots=True)
class Outlook:
    """How a group stands and what the planner says of it. `reason` and `message` are those of its status."""

    look: Look
    result: Result
    reason: str
    message: str
    verdict: Verdict | None = None
    extras: tuple[Placement, ...] = ()

    @property
    def key(self) -> Key:
        return self.look.group.key

    @property
    def placements(self) -> tuple[Placement, ...]:
        return self.verdict.placements if isinstance(self.verdict, Fits) else ()


class Unheard:
    """Listens to nothing: what an inventory shows does not change."""

    def group_changed(self, key: Key) -> None:
        """Nobody is to be told."""

    def member_ends(self, pod: Pod) -> None:
        """Nobody is to be told."""

    def pod_left(self, pod: Pod) -> None:
        """Nobody is to be told."""

    def pinned_changed(self, node: str) -> None:
        """Nobody is to be told."""

    def capacity_grew(self, by: Key | None = None) -> None:
        """Nobody is to be told."""

    def room_returned(self) -> None:
        """Nobody is to be told."""

    def volumes_changed(self, key: Key) -> None:
        """Nobody is to be told."""


class Survey:
    """All groups of an inventory, planned on `snapshot`.

    `exceptions` are the policies of namespaces that have their own, `wrong_policies` what others ask for in vain.
    """

    def __init__(self, inventory: Inventory, policy: Policy = Policy.BACKFILL) -> None:
        self._inventory = inventory
        self._cache = _filled(inventory)
        self._jobs = Jobs()
        for job in inventory.all(BatchJob):
            self._jobs.put(job)
        self.snapshot: Snapshot = self._cache.snapshot()
        looks = {group.key: self._look(group) for group in inventory.all(PodGroup)}
        requests = [look.request(self._cache.member, frozenset()) for look in looks.values() if look.is_ready]
        known, self.wrong_policies = policies(self._cache.books.ledger.asked_of_namespaces(QUEUE_POLICY))
        self.policy, self.exceptions = policy, known
        self.planned: PlanResult = plan(self.snapshot, requests, policy, known)
        order = dict.fromkeys((*self.planned.verdicts, *sorted(looks)))
        self.outlooks: Mapping[Key, Outlook] = {key: self._outlook(looks[key]) for key in order}

    def of(self, keys: Collection[Key]) -> tuple[Outlook, ...]:
        """Return the outlooks of these groups, in the order of the queue."""
        return tuple(self.outlooks[key] for key in self.outlooks if key in keys)

    def waiting(self) -> tuple[Outlook, ...]:
        """Return the outlooks of all gangs that have not started, in the order of the queue."""
        done = (Result.RUNS, Result.OVER, Result.BASIC)
        return tuple(outlook for outlook in self.outlooks.values() if outlook.result not in done)

    def pod(self, uid: Uid) -> Pod | None:
        """Return the pod of that uid."""
        return self._cache.pods.get(uid)

    def _look(self, group: PodGroup) -> Look:
        ref = group.spec.workload_ref
        workload = None
        if ref is not None:
            workload = self._inventory.get(Workload, Key(group.metadata.namespace, ref.workload_name))
        return look_at(
            group,
            self._cache.pods_of(base_of(group)),
            self._jobs.of_group(group.key),
            lambda pod: pod.uid in self._inventory.nominators,
            missing_workload(group, workload),
        )

    def _outlook(self, look: Look) -> Outlook:
        verdict = self.planned.verdicts.get(look.group.key)
        result = _result(look, verdict)
        outcome: Outcome | None = look.waiting
        if verdict is not None and not isinstance(verdict, Fits):
            outcome = Unschedulable(look.words_of(verdict))
        elif look.is_partial and outcome is None:
            left_open = unjudged(self.snapshot, map(self._cache.member, look.membership.lifted))
            outcome = Settling(look.state.scheduled, look.state.need, unjudged=left_open)
        status = status_of(look.group, look.state, outcome, _NOW, priority=look.priority)
        condition = condition_of(status.conditions, ConditionType.SCHEDULED)
        assert condition is not None, "every status has this condition"
        extras = self.planned.extras.get(look.group.key, ())
        if result is Result.FITS and isinstance(verdict, Fits):
            return Outlook(look, result, result.value, look.words_of(verdict), verdict, extras)
        return Outlook(look, result, condition.reason, condition.message, verdict, extras)


def _result(look: Look, verdict: Verdict | None) -> Result:
    if look.state.life is not Life.ACTIVE:
        return Result.WAITS if look.state.life in (Life.SUSPENDED, Life.PARKED) else Result.OVER
    if not look.state.is_gang and look.waiting is None:
        return Result.BASIC
    if look.state.is_whole:
        return Result.RUNS
    if verdict is not None:
        return Result.FITS if isinstance(verdict, Fits) else Result.DOES_NOT_FIT
    return Result.STARTS if look.waiting is None else Result.WAITS


def _filled(inventory: Inventory) -> Cache:
    cache = Cache(Unheard())
    ledger = cache.books.ledger
    for kind in LEDGER_KINDS:
        for one in inventory.all(kind):
            ledger.put(one)
        if kind in inventory.listed:
            ledger.listed(kind)
    cache.replace_nodes(inventory.all(Node))
    cache.replace_pods(inventory.all(Pod))
    return cache
