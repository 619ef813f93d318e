"""One run: arrivals and ends in order of time, and after each the planner's word on all that waits.

GANGS        whole gangs, by the planner, with its queue policy, holds and preemption
POD_BY_POD   each pod by itself as soon as one has room, as without gang scheduling: a job runs once all are placed,
             and what is placed before holds its GPUs
"""

import heapq
from dataclasses import dataclass, field
from enum import StrEnum

from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.plan.books import Books, Kind
from ganglift.plan.hold import hold
from ganglift.plan.plan import plan
from ganglift.plan.preempt import preempt
from ganglift.plan.queue import Policy
from ganglift.plan.request import GroupRequest, Member
from ganglift.plan.shape import Shape, shape_of
from ganglift.plan.verdict import Placement
from ganglift.plan.victims import Evictable
from ganglift.simulation.load import Job, Load

GPU = "nvidia.com/gpu"


class Manner(StrEnum):
    """How pods are placed."""

    GANGS = "gangs"
    POD_BY_POD = "pod-by-pod"


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator's settings say; `hold_after` None is no holds at all."""

    manner: Manner = Manner.GANGS
    policy: Policy = Policy.BACKFILL
    hold_after: int | None = 300
    hold_for: int = 1800
    may_preempt: bool = True


@dataclass(slots=True)
class Life:
    """What became of a job. `began` is when it ran for good, None while it waits."""

    job: Job
    members: tuple[Member, ...]
    placed: dict[Uid, NodeName] = field(default_factory=dict)
    placed_at: int = 0
    """Since when the first of its pods has had a place."""
    first: int | None = None
    """When it ran for the first time: what waits for that is its wait."""
    began: int | None = None
    ended: int | None = None
    evictions: int = 0
    wasted: int = 0
    """GPU-seconds held before all pods had a place, or lost by an eviction."""
    round: int = 0

    @property
    def key(self) -> Key:
        return Key("default", self.job.name)

    @property
    def gpus(self) -> int:
        return self.job.members * self.job.gpus


@dataclass(slots=True)
class Run:
    """The result: lives by name in order of arrival, and how many GPUs did work and were held from each time on."""

    load: Load
    rules: Rules
    lives: dict[str, Life]
    steps: list[tuple[int, int, int]] = field(default_factory=list)
    """Time, GPUs of jobs that run, GPUs of pods that have a place."""


def simulate(load: Load, rules: Rules = Rules()) -> Run:
    """Return what becomes of the load under the rules."""
    world = _World(load, rules)
    while world.events and world.events[0][0] <= load.until:
        world.step()
    world.close()
    return world.run


class _World:
    """The cluster, who waits, and what happens next."""

    def __init__(self, load: Load, rules: Rules) -> None:
        shapes = {gpus: _shape(gpus) for gpus in sorted({job.gpus for job in load.jobs})}
        lives = {job.name: Life(job, _members(job, shapes[job.gpus])) for job in load.jobs}
        self.run = Run(load, rules, lives)
        self.events: list[tuple[int, str, int]] = [(int(job.at), job.name, 0) for job in load.jobs]
        heapq.heapify(self.events)
        self._rules = rules
        self._books = Books()
        for number in range(load.nodes.count):
            self._books.set_node(_node(number, load.nodes.gpus))
        self._waiting: dict[str, Life] = {}
        self._running: dict[str, Life] = {}
        self._held: dict[str, int] = {}
        """Until when room is held, by job."""
        self._now = 0

    def step(self) -> None:
        """Take all that happens at the next time, and plan."""
        self._now = self.events[0][0]
        while self.events and self.events[0][0] == self._now:
            self._happen(*heapq.heappop(self.events)[1:])
        for name in [name for name, until in self._held.items() if until <= self._now]:
            self._let_go(self.run.lives[name])
        if self._rules.manner is Manner.POD_BY_POD:
            self._place_pods()
        else:
            self._place_gangs()
        work = sum(life.gpus for life in self._running.values())
        part = sum(len(life.placed) * life.job.gpus for life in self._waiting.values())
        self.run.steps.append((self._now, work, work + part))

    def close(self) -> None:
        """Count what is held by jobs that never ran."""
        for life in self._waiting.values():
            if life.placed:
                life.wasted += len(life.placed) * life.job.gpus * (self.run.load.until - life.placed_at)

    def _happen(self, name: str, round_: int) -> None:
        life = self.run.lives[name]
        if name in self._running and round_ == life.round:
            del self._running[name]
            life.ended = self._now
            self._remove(life)
        elif life.began is None and life.ended is None and name not in self._waiting and round_ == 0:
            self._wait(life)

    def _wait(self, life: Life) -> None:
        self._waiting[life.job.name] = life
        if self._rules.hold_after is not None:
            heapq.heappush(self.events, (self._now + self._rules.hold_after, life.job.name, -1))

    # Whole gangs

    def _place_gangs(self) -> None:
        while self._waiting:
            requests = [self._request(life) for life in self._waiting.values()]
            verdicts = plan(self._books.snapshot(), requests, self._rules.policy).verdicts
            for key, verdict in verdicts.items():
                if placements := getattr(verdict, "placements", ()):
                    self._start(self.run.lives[key.name], placements)
            unfit = [self.run.lives[key.name] for key in verdicts if key.name in self._waiting]
            if not self._evict_for_one_of(unfit):
                self._hold_for_one_of(unfit)
                return

    def _request(self, life: Life) -> GroupRequest:
        job = life.job
        own = frozenset(member.uid for member in life.members) if job.name in self._held else frozenset[Uid]()
        return GroupRequest(
            life.key, Uid(job.name), job.members, life.members, priority=job.priority, created=int(job.at), own=own
        )

    def _start(self, life: Life, placements: tuple[Placement, ...]) -> None:
        self._let_go(life)
        shapes = {member.uid: member.shape for member in life.members}
        for place in placements:
            self._books.place_shape(place.uid, shapes[place.uid], place.node, Kind.BOUND)
            life.placed[place.uid] = place.node
        self._begin(life)

    def _begin(self, life: Life) -> None:
        del self._waiting[life.job.name]
        self._running[life.job.name] = life
        life.began = self._now
        life.first = life.first if life.first is not None else self._now
        life.round += 1
        heapq.heappush(self.events, (self._now + int(life.job.runs), life.job.name, life.round))

    def _evict_for_one_of(self, unfit: list[Life]) -> bool:
        """Evict for the first that this helps; return whether there was one."""
        lowest = min((life.job.priority for life in self._running.values()), default=None)
        if not self._rules.may_preempt or lowest is None:
            return False
        for life in unfit[:1]:
            if life.job.priority <= lowest:
                continue
            evictable = [
                Evictable(uid, other.job.priority, other.job.name, other.began or 0)
                for other in self._running.values()
                for uid in other.placed
            ]
            lower = [m.uid for name in self._held for m in self.run.lives[name].members if name != life.job.name]
            request = self._request(life)
            found = preempt(self._books.snapshot(), request, life.job.priority, evictable, ignoring=lower)
            if found is not None:
                for name in sorted({uid.rpartition("/")[0] for uid in found.victims}):
                    self._evict(self.run.lives[name])
                return True
        return False

    def _evict(self, life: Life) -> None:
        """Send a job back to the queue; what it has done is lost."""
        life.evictions += 1
        life.wasted += life.gpus * (self._now - (life.began or 0))
        life.began = None
        del self._running[life.job.name]
        self._remove(life)
        self._wait(life)

    def _hold_for_one_of(self, unfit: list[Life]) -> None:
        levels = {self.run.lives[name].job.priority for name in self._held}
        after = self._rules.hold_after
        for life in unfit:
            if after is None or life.job.priority in levels or self._now < int(life.job.at) + after:
                continue
            levels.add(life.job.priority)
            ends = sorted(self._running.values(), key=lambda one: ((one.began or 0) + int(one.job.runs), one.job.name))
            order = [uid for one in ends if one.job.priority >= life.job.priority for uid in one.placed]
            found = hold(self._books.snapshot(), self._request(life), order)
            if found is not None:
                shapes = {member.uid: member.shape for member in life.members}
                for place in found.fits.placements:
                    self._books.place_shape(place.uid, shapes[place.uid], place.node, Kind.RESERVED)
                self._held[life.job.name] = self._now + self._rules.hold_for
                heapq.heappush(self.events, (self._now + self._rules.hold_for, life.job.name, -1))

    def _let_go(self, life: Life) -> None:
        if self._held.pop(life.job.name, None) is not None:
            for member in life.members:
                self._books.remove(member.uid)

    def _remove(self, life: Life) -> None:
        for uid in life.placed:
            self._books.remove(uid)
        life.placed = {}

    # Pod by pod

    def _place_pods(self) -> None:
        requests = []
        for life in self._waiting.values():
            rest = tuple(member for member in life.members if member.uid not in life.placed)
            job = life.job
            requests.append(GroupRequest(life.key, Uid(job.name), 0, rest, priority=job.priority, created=int(job.at)))
        for key, placements in plan(self._books.snapshot(), requests).extras.items():
            life = self.run.lives[key.name]
            shapes = {member.uid: member.shape for member in life.members}
            life.placed_at = life.placed_at if life.placed else self._now
            for place in placements:
                self._books.place_shape(place.uid, shapes[place.uid], place.node, Kind.BOUND)
                self._count_waste(life)
                life.placed[place.uid] = place.node
            if len(life.placed) == life.job.members:
                self._begin(life)

    def _count_waste(self, life: Life) -> None:
        """Charge what was placed so far for the time since; called before one more is placed."""
        life.wasted += len(life.placed) * life.job.gpus * (self._now - life.placed_at)
        life.placed_at = self._now


def _shape(gpus: int) -> Shape:
    container = {"name": "main", "resources": {"requests": {GPU: str(gpus)}}}
    metadata = {"name": "pod", "namespace": "default", "uid": "pod"}
    return shape_of(Pod.model_validate({"metadata": metadata, "spec": {"containers": [container]}}))


def _members(job: Job, shape: Shape) -> tuple[Member, ...]:
    return tuple(Member(Uid(f"{job.name}/{n}"), f"{job.name}-{n}", shape, n) for n in range(job.members))


def _node(number: int, gpus: int) -> Node:
    status = {
        "allocatable": {"pods": "110", GPU: str(gpus)},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return Node.model_validate({"metadata": {"name": f"node-{number:05}", "uid": f"node-{number}"}, "status": status})
