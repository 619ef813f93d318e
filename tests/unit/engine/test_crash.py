"""Killed right before and right after any of its writes, and started anew: the story ends the same (I5).

The auditor of the cluster holds every step of every telling against the rules. At full size each write is tried; else
a share of them, spread over the story.
"""

from __future__ import annotations

from random import Random
from typing import Literal

import pytest
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import Fate
from tests.unit.engine.story import Story, Summary

PARTS = 8
SHARE = 5

_undisturbed: list[tuple[Summary, int]] = []


async def undisturbed() -> tuple[Summary, int]:
    """How the story ends with nobody killed, and the number of writes that it takes."""
    if not _undisturbed:
        async with FakeCluster() as cluster:
            story = Story(cluster)
            summary = await story.tell()
        _undisturbed.append((summary, story.fates[0].writes))
    return _undisturbed[0]


async def test_the_story_ends_as_it_should() -> None:
    summary, writes = await undisturbed()
    assert [pod[:2] for pod in summary["pods"]] == [
        ("first", "Failed"),
        *[("first", "Running")] * 3,
        *[("late-workers", "Running")] * 2,
    ]
    assert summary["children"]["late"].get("failed", 0) == 0
    assert summary["groups"].keys() == {"first", "late-workers"}
    assert summary["fences"] == 0
    assert writes > 100


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_process_killed_at_a_write_is_followed_by_one_that_goes_on(
    when: Literal["before", "after"], part: int, full: bool
) -> None:
    expected, writes = await undisturbed()
    numbers = range(1 + part, writes + 1, PARTS)
    for number in numbers if full else numbers[part % SHARE :: SHARE]:
        # Others are quick or slow to act before the next process is there.
        for restart_s in (0.05, 4.0) if full else (0.05, 4.0)[number // SHARE % 2 :][:1]:
            async with FakeCluster() as cluster:
                summary = await Story(cluster, Fate(at=number, when=when), restart_s=restart_s).tell()
            assert summary == expected, f"after the death {when} write {number}, {restart_s} s before the next process"


@pytest.mark.parametrize("seed", range(4))
async def test_processes_may_die_one_after_another(seed: int, full: bool) -> None:
    expected, writes = await undisturbed()
    for telling in range(20 if full else 1):
        rng = Random(f"{seed} {telling}")
        deaths = [rng.randint(1, max(2, writes // 3)) for _ in range(5)]
        async with FakeCluster() as cluster:
            fates = [Fate(at=number, when=rng.choice(("before", "after"))) for number in deaths]
            summary = await Story(cluster, *fates, restart_s=rng.choice((0.0, 0.05, 1.0, 4.0))).tell()
        assert summary == expected, f"after deaths at writes {deaths}"
