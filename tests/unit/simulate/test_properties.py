"""What holds in every simulation, whatever the load: shown on small clusters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.simulate.scenarios import gang, scenario, scenarios, started

from ganglift.base.ids import Key, NodeName, Uid
from ganglift.plan.fit import fits_whole
from ganglift.plan.room import Room
from ganglift.plan.vacate import slots_of, without_pods
from ganglift.simulate.gangwise import Gangwise
from ganglift.simulate.scenario import GPU, Scenario, scenario_of
from ganglift.simulate.simulation import gangwise, podwise
from ganglift.simulate.world import Scheduler, World

EXAMPLES = settings(max_examples=25, deadline=None)


def no_overcommitment(world: World, scheduler: Scheduler) -> None:
    """Each node's members fit on it, by their own count, and each member has one place."""
    used = Counter[NodeName]()
    for node, placed in world.occupants().items():
        used[node] += sum(life.gang.units for life, _ in placed)
    assert all(count <= world.nodes[node] for node, count in used.items())
    assert {node: count for node, count in world.used.items() if count} == dict(used)


@EXAMPLES
@given(scenarios())
def test_no_node_has_more_than_it_offers_at_any_time(drawn: Scenario) -> None:
    gangwise(drawn, no_overcommitment)
    podwise(drawn, no_overcommitment)


def none_partly_started(world: World, scheduler: Scheduler) -> None:
    """A gang that has never been whole has no member anywhere."""
    assert not [name for name, life in world.lives.items() if life.started is None and life.occupying]


@EXAMPLES
@given(scenarios())
def test_no_gang_is_ever_half_started(drawn: Scenario) -> None:
    gangwise(drawn, none_partly_started)


@EXAMPLES
@given(scenarios())
def test_the_same_scenario_gives_the_same_results(drawn: Scenario) -> None:
    assert gangwise(drawn) == gangwise(drawn)
    assert podwise(drawn) == podwise(drawn)


@dataclass
class Precedence:
    """Finds gangs that got room while one before them in the queue waited that would have fitted in their stead.

    That is the whole of the backfill rule: who is later may go first only where its room is of no use to the earlier.
    Room that is reserved for others of at least the earlier one's priority is not its to take.
    """

    placed: frozenset[Uid] = frozenset()
    found: list[tuple[int, Key, Key]] = field(default_factory=list)

    def __call__(self, world: World, scheduler: Scheduler) -> None:
        assert isinstance(scheduler, Gangwise)
        now = frozenset(uid for places in world.occupants().values() for _, one in places for uid in [one.uid])
        fresh, self.placed = now - self.placed, now
        groups: dict[Key, set[Uid]] = {}
        for uid in fresh:
            groups.setdefault(scheduler.cache.pods[uid].group or Key("", ""), set()).add(uid)
        for later, uids in sorted(groups.items()):
            for earlier in self._before(scheduler, later):
                if self._would_fit(scheduler, earlier, uids):
                    self.found.append((world.now, earlier, later))

    def _before(self, scheduler: Gangwise, key: Key) -> list[Key]:
        order = scheduler.entries[key].queue_order
        return [
            other
            for other, entry in scheduler.entries.items()
            if entry.is_ready and not entry.is_settled and entry.queue_order < order
        ]

    def _would_fit(self, scheduler: Gangwise, key: Key, room_of: set[Uid]) -> bool:
        cache, look = scheduler.cache, scheduler.entries[key].look
        assert look is not None
        request = look.request(cache.member, frozenset())
        gone = {*room_of, *cache.reserved_below(request.priority)}
        snapshot = cache.snapshot()
        return fits_whole(Room(without_pods(snapshot, list(slots_of(snapshot, gone).values()))), request) is not None


@EXAMPLES
@given(scenarios())
def test_nobody_gets_room_in_which_an_earlier_gang_would_fit(drawn: Scenario) -> None:
    precedence = Precedence()
    gangwise(drawn, precedence)
    assert precedence.found == []


@settings(max_examples=8, deadline=None)
@given(
    nodes=st.integers(2, 3),
    gpus=st.integers(2, 3),
    turn=st.integers(10, 20),
    hold_after=st.integers(0, 200),
    big=st.integers(1, 4),
)
def test_a_gang_that_fits_on_the_empty_cluster_starts_within_the_hold_and_the_longest_run(
    nodes: int, gpus: int, turn: int, hold_after: int, big: int
) -> None:
    """Against a stream without end of one-GPU gangs: whenever one ends another has come, so no GPU is ever idle."""
    at = runs = turn * nodes * gpus
    until = at + hold_after + runs + 2
    stream = gang("small", runs=runs, every=turn, count=until // turn)
    whole = gang("big", min(big, nodes), gpus, at=at)
    known = {"holdAfter": hold_after, "holdFor": 1200}
    drawn = scenario(stream, whole, nodes=nodes, gpus=gpus, until=until, settings=known)
    assert "big" in started(gangwise(drawn))


def test_without_a_hold_that_gang_waits_as_long_as_the_stream_lasts() -> None:
    stream = gang("small", runs=100, every=25, count=144)
    drawn = scenario(stream, gang("big", 2, 2, at=300), until=3600, settings={"holdAfter": "10h"})
    assert "big" not in started(gangwise(drawn))


def test_several_big_gangs_of_one_priority_get_in_one_after_the_other() -> None:
    stream = gang("small", runs=100, every=25, count=144)
    big = gang("big", 2, 2, at=300, count=3)
    drawn = scenario(stream, big, until=3600, settings={"holdAfter": 60})
    times = [second for name, second in started(gangwise(drawn)).items() if name.startswith("big")]
    assert len(times) == 3


def made_up(seed: int, policy: str) -> Scenario:
    kinds = [
        {"name": "small", "weight": 6, "members": [1, 2], "asks": {GPU: 1}, "runs": {"median": 300, "spread": 0.8}},
        {"name": "big", "weight": 2, "members": [2, 4], "asks": {GPU: 4}, "runs": {"median": 900, "spread": 0.5}},
    ]
    return scenario_of(
        "made up",
        {
            "nodes": [{"count": 5, "offers": {GPU: 4}}],
            "load": {"lasts": "3h", "offered": 1.2, "kinds": kinds},
            "seed": seed,
            "settings": {"queuePolicy": policy},
        },
    )


def test_backfill_works_more_of_the_time_than_strict_over_many_loads() -> None:
    """Over loads as a whole: of a single one strict may make more, since who passes may be in the way later."""
    runs = {policy: [gangwise(made_up(seed, policy)) for seed in range(6)] for policy in ("backfill", "strict")}
    worked = {policy: sum(run.total.working for run in each) for policy, each in runs.items()}
    assert worked["backfill"] > worked["strict"]


@settings(max_examples=10, deadline=None)
@given(scenarios(holdAfter=30))
def test_asking_only_when_the_answer_may_change_is_as_good_as_asking_each_second(drawn: Scenario) -> None:
    shorter = drawn.model_copy(update={"until": 1200.0})

    def next_second(scheduler: Gangwise) -> int:
        return scheduler._world.now + 1

    with (
        patch.object(Gangwise, "wake_at", next_second),
        patch.object(Gangwise, "_would_stay", lambda *_: False),
    ):
        asked = gangwise(shorter)
    assert gangwise(shorter).starts == asked.starts


@pytest.mark.parametrize("scoring", ["LeastAllocated", "MostAllocated"])
def test_pods_by_themselves_waste_what_gangs_do_not(scoring: str) -> None:
    two = (gang("a", 3), gang("b", 3))
    drawn = scenario(*two, until=3600, podByPod={"givesUpAfter": 0, "scoring": scoring})
    assert gangwise(drawn).total.wasted == 0
    alone = podwise(drawn)
    assert alone.total.wasted == 1 * 60 + 0 * 3600
    assert gangwise(drawn).ended == 2
