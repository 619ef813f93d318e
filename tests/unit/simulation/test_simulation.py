"""Simulated queues: what becomes of a few jobs, and what holds for any load."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ganglift.plan.queue import Policy
from ganglift.simulation.drawing import draw
from ganglift.simulation.figures import figures_of
from ganglift.simulation.load import InvalidScenario, load_of
from ganglift.simulation.run import Life, Manner, Rules, Run, simulate

HOUR = 3600


def run(*jobs: dict[str, Any], nodes: int = 2, gpus: int = 2, **rules: Any) -> Run:
    return simulate(load_of({"nodes": {"count": nodes, "gpus": gpus}, "jobs": list(jobs)}), Rules(**rules))


def job(name: str, members: int, *, at: int = 0, runs: int = HOUR, **more: Any) -> dict[str, Any]:
    return {"name": name, "members": members, "at": at, "runs": runs, **more}


def times(of: Run) -> dict[str, tuple[int | None, int | None]]:
    return {name: (life.began, life.ended) for name, life in of.lives.items()}


def test_a_job_runs_as_soon_as_all_its_members_fit() -> None:
    assert times(run(job("a", 3), job("b", 2, at=60))) == {"a": (0, HOUR), "b": (HOUR, 2 * HOUR)}


def test_a_smaller_one_passes_and_under_strict_it_does_not() -> None:
    jobs = [job("a", 3), job("b", 2, at=60), job("c", 1, at=120)]
    assert run(*jobs).lives["c"].began == 120
    assert run(*jobs, policy=Policy.STRICT).lives["c"].began == HOUR


def stream(count: int, runs: int) -> list[dict[str, Any]]:
    """One-GPU jobs, one after another, each running so long: the cluster of four never has two free."""
    return [job(f"s{n:03}", 1, at=n * runs // 4, runs=runs) for n in range(count)]


def test_a_big_one_gets_in_against_a_stream_where_room_is_held_and_else_only_after_it() -> None:
    jobs = [*stream(200, 400), job("big", 4, at=1000)]
    held, free = run(*jobs), run(*jobs, hold_after=None)
    assert (held.lives["big"].began or 0) <= 1000 + 300 + 400
    assert (free.lives["big"].began or 0) >= 199 * 100


def test_a_hold_ends_after_its_time() -> None:
    jobs = [job("long", 2, runs=10 * HOUR), job("big", 4, at=10), job("small", 1, at=20 + HOUR)]
    assert run(*jobs, hold_for=600).lives["small"].began is not None


def test_an_important_one_evicts_a_whole_lower_one_which_runs_again_later() -> None:
    found = run(job("low", 4), job("high", 1, at=600, priority=9))
    low = found.lives["low"]
    assert found.lives["high"].began == 600
    assert (low.evictions, low.began, low.wasted) == (1, 600 + HOUR, 4 * 600)
    assert run(job("low", 4), job("high", 1, at=600, priority=9), may_preempt=False).lives["high"].began == HOUR


def test_pod_by_pod_halves_of_jobs_hold_gpus_that_whole_gangs_do_not() -> None:
    jobs = [job("first", 1), job("a", 3, at=10), job("b", 3, at=20), job("c", 2, at=5)]
    pods, gangs = run(*jobs, manner=Manner.POD_BY_POD), run(*jobs)
    assert all(life.ended is not None for life in gangs.lives.values())
    assert sum(life.wasted for life in gangs.lives.values()) == 0
    assert sum(life.wasted for life in pods.lives.values()) > 0


def test_the_same_load_gives_the_same_figures() -> None:
    load = load_of({"nodes": {"count": 5}, "generate": {"days": 0.5, "seed": 3}})
    assert figures_of(simulate(load, Rules())) == figures_of(simulate(load, Rules()))


def test_a_drawing_names_each_run_with_its_figures() -> None:
    load = load_of({"nodes": {"count": 5}, "generate": {"days": 0.2, "seed": 3}})
    picture = draw([simulate(load, Rules()), simulate(load, Rules(manner=Manner.POD_BY_POD))])
    assert picture.count("<path") == 4
    assert "pod-by-pod: " in picture


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ([], "a scenario is a mapping"),
        ({}, "give either jobs or generate"),
        ({"jobs": [{"name": "a"}], "generate": {}}, "give either jobs or generate"),
        ({"jobs": [{"name": "a", "members": 0}]}, "jobs.0.members: "),
        ({"jobs": [{"name": "a", "runs": "-5m"}]}, "jobs.0.runs: Value error, '-5m' is not a duration"),
        ({"jobs": [{"name": "a"}, {"name": "a"}]}, "two are named a"),
        ({"nodes": {"count": 1, "cpus": 2}, "jobs": [{"name": "a"}]}, "nodes.cpus: "),
        ({"generate": {"days": -1}}, "generate.days: "),
    ],
)
def test_what_is_wrong_with_a_scenario_is_said_with_the_field(scenario: Any, words: str) -> None:
    with pytest.raises(InvalidScenario) as refusal:
        load_of(scenario)
    assert words in str(refusal.value)


# Any load


JOBS = st.lists(
    st.tuples(st.integers(1, 8), st.integers(1, 2), st.integers(0, 4000), st.integers(60, 4000), st.integers(0, 2)),
    min_size=1,
    max_size=14,
)


def any_run(asked: list[tuple[int, int, int, int, int]], **rules: Any) -> Run:
    jobs = [
        job(f"j{n}", members, gpus=gpus, at=at, runs=runs, priority=priority)
        for n, (members, gpus, at, runs, priority) in enumerate(asked)
    ]
    return run(*jobs, nodes=3, gpus=2, **rules)


def is_possible(life: Life) -> bool:
    return life.job.members <= 3 * (2 // life.job.gpus)


@settings(max_examples=40)
@given(JOBS)
def test_every_gang_that_fits_on_the_empty_cluster_runs_to_its_end_and_no_other_starts(
    asked: list[tuple[int, int, int, int, int]],
) -> None:
    found = any_run(asked)
    assert all((life.ended is not None) == is_possible(life) for life in found.lives.values())


@settings(max_examples=40)
@given(JOBS)
def test_at_no_time_more_gpus_are_taken_than_there_are(asked: list[tuple[int, int, int, int, int]]) -> None:
    for manner in Manner:
        assert all(work <= held <= 6 for _, work, held in any_run(asked, manner=manner).steps)


@settings(max_examples=40)
@given(JOBS)
def test_the_most_important_are_never_evicted(asked: list[tuple[int, int, int, int, int]]) -> None:
    lives = any_run(asked).lives.values()
    highest = max(life.job.priority for life in lives)
    assert all(not life.evictions for life in lives if life.job.priority == highest)


@pytest.mark.parametrize("seed", range(3))
def test_backfill_uses_no_less_of_the_cluster_than_strict(seed: int) -> None:
    load = load_of({"nodes": {"count": 10}, "generate": {"days": 1, "seed": seed, "urgent": 0}})
    used = {policy: figures_of(simulate(load, Rules(policy=policy))).utilization for policy in Policy}
    assert used[Policy.BACKFILL] >= used[Policy.STRICT]
