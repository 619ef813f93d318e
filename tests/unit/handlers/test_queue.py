"""The work queue: each key once at a time, failures after a growing pause."""

from __future__ import annotations

import asyncio
import random

from ganglift.handlers.queue import Queue


def queue(base_s: float = 0.01, longest_s: float = 60.0) -> Queue[str]:
    return Queue(base_s=base_s, longest_s=longest_s, rng=random.Random(0))


async def test_a_key_that_is_added_twice_is_taken_once() -> None:
    keys = queue()
    keys.add("a")
    keys.add("b")
    keys.add("a")
    assert [await keys.take(), await keys.take()] == ["a", "b"]
    assert len(keys) == 0


async def test_a_key_added_while_it_is_worked_on_comes_again_afterwards() -> None:
    keys = queue()
    keys.add("a")
    await keys.take()
    keys.add("a")
    assert len(keys) == 0
    keys.done("a")
    assert len(keys) == 1


async def test_a_key_that_failed_comes_back_by_itself() -> None:
    keys = queue()
    keys.add("a")
    keys.failed(await keys.take())
    assert len(keys) == 0
    async with asyncio.timeout(5):
        assert await keys.take() == "a"


async def test_a_pause_is_kept_whatever_happens_around_the_key() -> None:
    keys = queue(base_s=60)
    keys.add("a")
    await keys.take()
    keys.add("a")
    keys.failed("a")
    keys.add("a")
    assert keys.is_idle
    keys.close()


async def test_something_urgent_ends_a_pause() -> None:
    keys = queue(base_s=60)
    keys.add("a")
    keys.failed(await keys.take())
    keys.add("a", is_urgent=True)
    assert await keys.take() == "a"
    keys.add("a", is_urgent=True)
    keys.failed("a")
    assert await keys.take() == "a"
    keys.close()


async def test_pauses_double_from_failure_to_failure_up_to_the_longest() -> None:
    loop, keys = asyncio.get_running_loop(), queue(base_s=1.0, longest_s=8.0)
    for pause_s in (1, 2, 4, 8, 8, 8):
        keys.add("a")
        keys.failed(await keys.take())
        assert pause_s - 0.5 < keys._timers["a"].when() - loop.time() <= 1.1 * pause_s
        keys.close()


async def test_success_ends_the_growth() -> None:
    loop, keys = asyncio.get_running_loop(), queue(base_s=0.05)
    keys.add("a")
    for outcome in (keys.failed, keys.failed, keys.failed, keys.done):
        outcome(await keys.take())
    keys.add("a")
    keys.failed(await keys.take())
    assert keys._timers["a"].when() - loop.time() <= 0.055
    keys.close()


async def test_of_two_wishes_for_later_the_sooner_counts() -> None:
    keys = queue()
    keys.add_later("a", 60)
    keys.add_later("a", 0.01)
    async with asyncio.timeout(5):
        assert await keys.take() == "a"
    keys.close()


async def test_whoever_waits_is_woken_by_an_addition() -> None:
    keys = queue()
    taking = asyncio.create_task(keys.take())
    await asyncio.sleep(0)
    keys.add("a")
    async with asyncio.timeout(5):
        assert await taking == "a"
