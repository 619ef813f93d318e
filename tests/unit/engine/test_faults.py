"""Everything that can go wrong between operator and API server, at random: the story ends the same, and by the rules.

Requests are refused, conflict, hang or are cut off before or after the deed; watches end, break inside a line,
fall silent, come late, twice or in swapped pairs, or answer 410; a first read may be stale. All of it stops after a
while, as it does in life; then all must stand as in a telling without faults.
"""

from __future__ import annotations

from random import Random

import pytest
from tests.fakes.apiserver import Cut, Delay, Distort, Drop, Hang, Refuse, Seen
from tests.fakes.apiserver.faults import Effect
from tests.fakes.apiserver.refusals import Problems, Refusal, conflict, expired, internal_error, too_many_requests
from tests.support.fakecluster import FakeCluster
from tests.unit.engine.story import Story, Summary

from ganglift.kube.resources import PODS

TROUBLED_S = 40.0
"""How long the story is disturbed; it takes about twenty seconds by itself."""

_undisturbed: list[Summary] = []


async def undisturbed() -> Summary:
    if not _undisturbed:
        async with FakeCluster() as cluster:
            _undisturbed.append(await Story(cluster).tell())
    return _undisturbed[0]


def invalid() -> Refusal:
    problems = Problems()
    problems.invalid("metadata.uid", "x", "field is immutable")
    try:
        problems.raise_for(PODS, "some")
    except Refusal as refusal:
        return refusal
    raise AssertionError("there was a problem")


REQUESTS: dict[str, list[Effect]] = {
    "conflicts": [Refuse(conflict(PODS, "some", "the object has been modified"))],
    "invalid": [Refuse(invalid())],
    "too many requests": [
        Refuse(too_many_requests("busy", retry_after_s=1)),
        Refuse(too_many_requests("busy", retry_after_s=60)),
    ],
    "server errors": [Refuse(internal_error("etcd is away"))],
    "silence": [Hang(), Hang(performed=True)],
    "cut off": [Drop(), Drop(performed=True), Cut()],
    "late": [Delay(0.5), Delay(0.5, performed=True), Delay(5, performed=True)],
}
WATCHES: dict[str, list[Effect]] = {
    "ended": [Distort(after=2), Distort(after=7)],
    "broken": [Distort(after=1, then="cut"), Distort(after=9, then="cut")],
    "silent": [Distort(after=5, then="silence")],
    "gone": [Distort(after=3, then="error", error=expired("too old")), Refuse(expired("too old"))],
    "failing": [Refuse(internal_error("x")), Distort(after=2, then="error", error=internal_error("x"))],
    "late": [Distort(late_s=0.2), Distort(late_s=2.0)],
    "twice": [Distort(twice=True)],
    "swapped": [Distort(swapped=True)],
}


class Trouble:
    """Strikes a share of the requests that `may_strike`, until it is over."""

    def __init__(self, cluster: FakeCluster, effects: list[Effect], share: float, rng: Random, *, of_watches: bool):
        self._clock = cluster.core.clock
        self._until = self._clock.monotonic() + TROUBLED_S
        self._rng = rng
        self._share = share
        self._of_watches = of_watches
        for effect in effects:
            cluster.core.faults.add(self.strikes, effect, times=None)

    def strikes(self, seen: Seen) -> bool:
        if self._clock.monotonic() > self._until or (seen.verb == "watch") is not self._of_watches:
            return False
        return self._rng.random() < self._share


async def told_with(effects: list[Effect], share: float, seed: str, *, of_watches: bool) -> Summary:
    async with FakeCluster() as cluster:
        cluster.auditor.in_flight_s = 35.0  # a request may be answered that late
        cluster.auditor.slack_s = 70.0  # and one that was refused is tried again after such a pause
        cluster.deadline_s = 600.0  # a gang that failed again and again waits up to five minutes
        Trouble(cluster, effects, share, Random(seed), of_watches=of_watches)
        return await Story(cluster).tell()


@pytest.mark.parametrize("kind", REQUESTS)
@pytest.mark.parametrize("share", [0.03, 0.3])
async def test_requests_that_go_wrong_change_nothing_in_the_end(kind: str, share: float, full: bool) -> None:
    expected = await undisturbed()
    for seed in range(12 if full else 1):
        summary = await told_with(REQUESTS[kind], share, f"{kind} {seed}", of_watches=False)
        assert summary == expected, f"{kind} {seed}"


@pytest.mark.parametrize("kind", WATCHES)
async def test_watches_that_go_wrong_change_nothing_in_the_end(kind: str, full: bool) -> None:
    expected = await undisturbed()
    for seed in range(12 if full else 1):
        summary = await told_with(WATCHES[kind], 0.5, f"{kind} {seed}", of_watches=True)
        assert summary == expected, f"{kind} {seed}"


@pytest.mark.parametrize("seed", range(3))
async def test_everything_may_go_wrong_at_once(seed: int, full: bool) -> None:
    expected = await undisturbed()
    for telling in range(12 if full else 1):
        rng = Random(f"{seed} {telling}")
        async with FakeCluster() as cluster:
            cluster.auditor.in_flight_s, cluster.auditor.slack_s, cluster.deadline_s = 35.0, 70.0, 600.0
            for effects, of_watches in ((REQUESTS, False), (WATCHES, True)):
                every = [effect for kind in effects.values() for effect in kind]
                for effect in rng.sample(every, 6):
                    Trouble(cluster, [effect], 0.03, rng, of_watches=of_watches)
            summary = await Story(cluster).tell()
        assert summary == expected, f"{seed} {telling}"
