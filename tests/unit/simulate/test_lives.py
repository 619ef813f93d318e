"""What becomes of gangs in a simulation: single cases, to the second."""

from __future__ import annotations

from tests.unit.simulate.scenarios import gang, scenario, started

from ganglift.simulate.scenario import GPU, scenario_of
from ganglift.simulate.simulation import gangwise, podwise


def test_a_gang_that_fits_starts_when_it_comes_and_the_next_when_it_has_ended() -> None:
    run = gangwise(scenario(gang("a", 4, at=10), gang("b", 4, at=20)))
    assert started(run) == {"a": 10, "b": 70}
    assert (run.seconds, run.total.working) == (130, 2 * 4 * 60)


def test_a_smaller_gang_passes_one_that_does_not_fit_unless_the_policy_is_strict() -> None:
    gangs = gang("a", 3), gang("b", 2, at=5), gang("c", 1, at=6)
    assert started(gangwise(scenario(*gangs))) == {"a": 0, "b": 60, "c": 6}
    assert started(gangwise(scenario(*gangs, settings={"queuePolicy": "strict"}))) == {"a": 0, "b": 60, "c": 60}


def test_members_beyond_need_join_when_there_is_room_and_hold_nobody_up() -> None:
    run = gangwise(scenario(gang("a", 1), gang("b", 4, minCount=2, at=1)))
    assert started(run)["b"] == 1
    assert max(level.working for _, level in run.levels) == 4


def test_a_gang_that_goes_as_one_starts_anew_after_an_eviction_and_its_work_is_lost() -> None:
    low = gang("low", 4, runs=600, disruptionMode="all")
    run = gangwise(scenario(low, gang("high", 2, priority=10, at=100)))
    assert started(run) == {"low": 0, "high": 130}
    assert (run.evicted, run.disrupted, run.lost) == (4, 1, 4 * 100)
    assert run.seconds == 130 + 60 + 600
    assert run.total.wasted == 4 * 30


def test_a_gang_that_loses_single_members_stands_still_and_goes_on_later() -> None:
    low = gang("low", 4, runs=600)
    run = gangwise(scenario(low, gang("high", 2, priority=10, at=100)))
    assert started(run)["high"] == 130
    assert (run.evicted, run.lost) == (2, 0)
    assert run.seconds == 130 + 60 + 500


def test_nobody_is_evicted_for_a_gang_that_never_preempts() -> None:
    high = gang("high", 2, priority=10, at=100, preemptionPolicy="Never")
    run = gangwise(scenario(gang("low", 4, runs=600), high, settings={"holdAfter": "10h"}))
    assert (started(run)["high"], run.evicted) == (600, 0)


def test_members_on_a_node_that_leaves_are_made_anew_and_wait_for_one_that_joins() -> None:
    pools = [
        {"name": "old", "count": 1, "offers": {GPU: 2}, "leaves": 20},
        {"name": "new", "count": 1, "offers": {GPU: 2}, "joins": 50},
    ]
    run = gangwise(scenario_of("test", {"nodes": pools, "gangs": [gang("a", 2)]}))
    assert (run.started, run.ended, run.seconds) == (1, 1, 50 + 40)


def test_pods_by_themselves_block_each_other_for_ever_unless_they_give_up() -> None:
    pools = [{"name": "a", "count": 1, "offers": {GPU: 2}}, {"name": "b", "count": 1, "offers": {GPU: 2}, "joins": 10}]
    two = [gang("x", 2, 2, runs=20), gang("y", 2, 2, at=1, priority=1, runs=20)]
    stuck = {"nodes": pools, "gangs": two, "until": 3600}
    run = podwise(scenario_of("test", stuck | {"podByPod": {"givesUpAfter": 0}}))
    assert (run.started, run.total.wasted) == (0, 2 * 10 + 4 * 3590)
    assert podwise(scenario_of("test", stuck)).started == 2
    assert gangwise(scenario_of("test", stuck)).started == 2


def test_one_by_one_the_higher_priority_goes_first_and_nobody_is_evicted() -> None:
    run = podwise(scenario(gang("low", 4), gang("next", 4, at=1), gang("high", 4, at=2, priority=10)))
    assert started(run) == {"low": 0, "high": 60, "next": 120}
    assert run.evicted == 0
