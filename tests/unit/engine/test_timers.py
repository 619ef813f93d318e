"""Alarms, one for each key."""

import asyncio

from ganglift.engine.timers import Timers


async def test_of_several_wishes_the_soonest_counts() -> None:
    rung: list[tuple[str, float]] = []
    loop = asyncio.get_running_loop()
    timers: Timers[str] = Timers(lambda key: rung.append((key, loop.time())))
    for delay in (5.0, 2.0, 9.0):
        timers.set("a", delay)
    await asyncio.sleep(20)
    assert rung == [("a", 2.0)]


async def test_a_thousand_wishes_make_one_alarm() -> None:
    timers: Timers[str] = Timers(lambda _: None)
    for number in range(1000):
        timers.set("a", 60.0 - number / 1000)
    assert len(timers) == 1
    timers.close()


async def test_whoever_is_woken_may_set_the_next_alarm() -> None:
    rung: list[float] = []
    loop = asyncio.get_running_loop()

    def ring(key: str) -> None:
        rung.append(loop.time())
        if len(rung) < 3:
            timers.set(key, 1.0)

    timers = Timers(ring)
    timers.set("a", 1.0)
    await asyncio.sleep(10)
    assert rung == [1.0, 2.0, 3.0]


async def test_nothing_rings_after_the_end() -> None:
    rung: list[str] = []
    timers: Timers[str] = Timers(rung.append)
    timers.set("a", 1.0)
    timers.set("b", 1.0)
    timers.drop("a")
    timers.close()
    await asyncio.sleep(2)
    assert (rung, len(timers)) == ([], 0)
