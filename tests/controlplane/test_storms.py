"""Gangs and plain pods made at the same instant on too little room: gangs start whole or wait whole, no GPU idles.

Each storm is a few rounds on one control plane, under one operator. A round ends when nothing moves any more: every
gang is whole or has nothing, and no GPU is free that someone who waits could use. What went on meanwhile is judged from
the independent watch.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random

import pytest
from tests.controlplane.cluster import POD_GROUPS, PODS, Cluster, Object, pod, pod_group
from tests.controlplane.conftest import StartOperator
from tests.controlplane.history import History, Life
from tests.controlplane.operator import OperatorProcess
from tests.controlplane.playgrounds import on_both_rates
from tests.support.polling import eventually

ROUNDS, FULL_ROUNDS = 3, 20
PER_S = 200
TIMEOUT_S = 5
BORNE_S = 7.0
"""How long a member may be without a place, or a gang in part: the timeout, and two seconds to act on it."""
_BOUND = "?fieldSelector=spec.nodeName!%3D&gracePeriodSeconds=0"

pytestmark = [pytest.mark.timeout(3600), on_both_rates]


@dataclass(frozen=True)
class Gang:
    name: str
    size: int

    @property
    def members(self) -> list[Object]:
        return [pod(f"{self.name}-{number}", group=self.name) for number in range(self.size)]


@dataclass(frozen=True)
class Picture:
    """The cluster at one moment: bound pods, and pods that wait for kube-scheduler, by group; plain ones under ''."""

    bound: Mapping[str, int]
    pending: Mapping[str, int]

    @classmethod
    def of(cls, lives: Iterable[Life]) -> "Picture":
        there = [life for life in lives if life.is_there]
        pending = Counter(life.group for life in there if life.was_ungated and not life.node)
        return cls(Counter(life.group for life in there if life.node), pending)

    def is_final(self, gpus: int, gangs: Iterable[Gang]) -> bool:
        """Whether each gang is whole or has nothing, and what is free is of no use to anyone who waits."""
        free = gpus - sum(self.bound.values())
        is_whole_or_nothing = all(self._is_whole_or_nothing(gang) for gang in gangs)
        wanted = [1] * self.pending[""] + [gang.size for gang in gangs if not self.bound[gang.name]]
        return is_whole_or_nothing and free < min(wanted, default=gpus + 1)

    def _is_whole_or_nothing(self, gang: Gang) -> bool:
        return self.bound[gang.name] in (0, gang.size) and not self.pending[gang.name]


@dataclass(frozen=True)
class Storms:
    """Runs rounds on a cluster."""

    cluster: Cluster
    operator: OperatorProcess
    is_full: bool

    @property
    def rounds(self) -> range:
        return range(FULL_ROUNDS if self.is_full else ROUNDS)

    @contextmanager
    def round(self, gpus: int, per_node: int, gangs: Sequence[Gang]) -> Iterator[None]:
        """Wipe the cluster, give it so many GPUs and make the groups; then wait for the end, and judge."""
        self.cluster.reset()
        self.cluster.add_gpu_nodes(gpus // per_node, gpus=per_node)
        for gang in gangs:
            self.cluster.create(POD_GROUPS, pod_group(gang.name, gang.size, scheduleTimeoutSeconds=TIMEOUT_S))
        fences = len(self.operator.records("fence raised"))
        with History(self.cluster.playground.client) as history:
            yield
            begun = time.monotonic()
            is_final = partial(Picture.is_final, gpus=gpus, gangs=gangs)
            picture = eventually(lambda: Picture.of(map(Life.of, self.cluster.pods())), is_final, within_s=60)
            took_s = time.monotonic() - begun
            history.catch_up()
        whole = sum(picture.bound[gang.name] > 0 for gang in gangs)
        raised = self.operator.records("fence raised")[fences:]
        print(f"{gpus} GPUs, {whole}/{len(gangs)} gangs whole, final after {took_s:.1f} s, {len(raised)} fences")
        for gang in gangs:
            assert_is_not_left_in_part(gang, history.lives(gang.name))
        assert_each_fence_names_a_competitor(raised, history)


def assert_is_not_left_in_part(gang: Gang, lives: Sequence[Life]) -> None:
    now = time.monotonic()
    assert [trouble for life in lives for trouble in life.troubles if trouble.lasted_s(now) > BORNE_S] == []
    assert max(times_in_part(lives, gang.size), default=0.0) <= BORNE_S, gang


def times_in_part(lives: Sequence[Life], need: int) -> Iterator[float]:
    """Yield, in seconds, how long a gang had some members bound but not all, until it was repaired or one of them went.

    A repair is a new nomination of a member that is let loose; the time begins anew with it.
    """
    events = sorted(((event.at, life.name, event) for life in lives for event in life.events), key=lambda each: each[0])
    bound: set[str] = set()
    nominated: dict[str, str] = {}
    since: float | None = None
    for at, name, event in events:
        if event.is_leaving:
            break
        was_repaired = not (event.is_gated or event.node) and event.nominated not in ("", nominated.get(name, ""))
        nominated[name] = event.nominated
        if event.node:
            bound.add(name)
        if since is not None and (was_repaired or len(bound) >= need):
            yield at - since
            since = None
        if since is None and 0 < len(bound) < need:
            since = at
    if since is not None:
        yield time.monotonic() - since


def assert_each_fence_names_a_competitor(raised: Sequence[Object], history: History) -> None:
    """A competitor is a pod that kube-scheduler was free to place; the operator tells of each fence that it makes."""
    free = {f"default/{life.name}" for life in history.lives() if life.was_ungated}
    assert {life.name for life in history.lives(namespace="ganglift-system")} == {each["fence"] for each in raised}
    assert [each for each in raised if each["competitor"].split()[0] not in free] == []


@pytest.fixture
def storms(cluster: Cluster, start_operator: StartOperator, full: bool) -> Storms:
    return Storms(cluster, start_operator(cluster), full)


def plain_pods(number: int, count: int) -> list[Object]:
    return [pod(f"plain-{number}-{each}") for each in range(count)]


def mixed(storms: Storms, rng: Random, number: int) -> None:
    """Gangs of 8 and plain pods, half as many again as there is room for, in any order."""
    gpus = rng.choice((16, 32, 64) if number else (8,))
    gangs = [Gang(f"mixed-{number}-{each}", 8) for each in range(gpus // 8)]
    with storms.round(gpus, 8, gangs):
        bodies = [*(body for gang in gangs for body in gang.members), *plain_pods(number, gpus // 2)]
        rng.shuffle(bodies)
        storms.cluster.create_all(PODS, bodies, per_s=PER_S)


def burst(storms: Storms, rng: Random, number: int) -> None:
    """One gang, and many plain pods at its heels or among its members, as fast as they can be made."""
    plain, size, gpus = (400, 64, 440) if storms.is_full else (120, 24, 136)
    gang = Gang(f"burst-{number}", size)
    with storms.round(gpus, 8, [gang]):
        bodies = [*gang.members, *plain_pods(number, plain)]
        if number % 2:
            rng.shuffle(bodies)
        storms.cluster.create_all(PODS, bodies)


def freed(storms: Storms, rng: Random, number: int) -> None:
    """Many plain pods have been refused by kube-scheduler, and a gang waits, when all GPUs come free at once."""
    plain, size, gpus = (400, 32, 300) if storms.is_full else (80, 16, 60)
    gang = Gang(f"freed-{number}", size)
    with storms.round(gpus, 10, [gang]):
        storms.cluster.create_all(PODS, [pod(f"first-{number}-{each}") for each in range(gpus)])
        storms.cluster.await_bound(gpus, within_s=60)
        bodies = [*gang.members, *plain_pods(number, plain)]
        rng.shuffle(bodies)
        storms.cluster.create_all(PODS, bodies)
        storms.cluster.await_reason(gang.name, "Unschedulable")
        eventually(partial(_refused, storms.cluster), lambda refused: refused == plain, within_s=60)
        storms.cluster.delete(PODS + _BOUND)


def _refused(cluster: Cluster) -> int:
    return sum(life.events[-1].is_refused for life in map(Life.of, cluster.pods()))


Round = Callable[[Storms, Random, int], None]


@pytest.mark.parametrize("play", [mixed, burst, freed])
def test_gangs_among_plain_pods_start_whole_or_wait_whole(storms: Storms, play: Round) -> None:
    rng = Random(play.__name__)
    for number in storms.rounds:
        play(storms, rng, number)


def test_gangs_alone_use_all_gpus_and_need_no_fence(storms: Storms) -> None:
    rng = Random("alone")
    for number in storms.rounds:
        gpus = rng.choice((8, 16, 32, 64))
        gangs = [Gang(f"alone-{number}-{each}", 8) for each in range(gpus // 8 + 1)]
        with storms.round(gpus, 8, gangs):
            bodies = [body for gang in gangs for body in gang.members]
            rng.shuffle(bodies)
            storms.cluster.create_all(PODS, bodies, per_s=PER_S)
    assert storms.operator.records("fence raised") == []
