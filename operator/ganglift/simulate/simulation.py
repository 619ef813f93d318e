"""A scenario from its first second to its end: time jumps from one happening to the next, and decisions follow each."""

import asyncio
import random
from collections.abc import Callable, Sequence

from ganglift.simulate.clock import PromptLoop
from ganglift.simulate.gangs import Gang
from ganglift.simulate.gangwise import Gangwise
from ganglift.simulate.load import all_gangs
from ganglift.simulate.podwise import Podwise
from ganglift.simulate.results import Run, waits_of
from ganglift.simulate.scenario import Scenario
from ganglift.simulate.world import Scheduler, World

LULL_S = 3600
"""Where nothing else is left to happen, whoever waits for a time of its own has so long."""

Watch = Callable[[World, Scheduler], None]


def gangwise(scenario: Scenario, watch: Watch | None = None) -> Run:
    """Simulate the scenario with ganglift. `watch` is shown the world each time all decisions are made."""
    gangs = all_gangs(scenario)
    world = World(scenario, gangs)
    scheduler = Gangwise(world, scenario.settings, random.Random(scenario.seed))
    _run(scenario, world, scheduler, watch)
    name = f"ganglift, {scenario.settings.queue_policy}"
    return _result(name, gangs, world, holds=len(scheduler.held_for))


def podwise(scenario: Scenario, watch: Watch | None = None) -> Run:
    """Simulate the scenario with kube-scheduler alone, which takes pods one by one."""
    gangs = all_gangs(scenario)
    world = World(scenario, gangs)
    _run(scenario, world, Podwise(world, scenario.pod_by_pod), watch)
    return _result("pod by pod", gangs, world, holds=0)


def _run(scenario: Scenario, world: World, scheduler: Scheduler, watch: Watch | None) -> None:
    world.scheduler = scheduler
    with asyncio.Runner(loop_factory=PromptLoop) as runner:
        while (second := _next(world, scheduler)) is not None:
            if scenario.end is not None and second >= scenario.end:
                break
            world.pass_time(second)
            for happening in world.agenda.due(second):
                happening()
            runner.run(scheduler.decide())
            world.see()
            if watch is not None:
                watch(world, scheduler)
    if scenario.end is not None:
        world.pass_time(scenario.end)


def _next(world: World, scheduler: Scheduler) -> int | None:
    """Return the second in which to go on, None where nothing is left to happen."""
    happens, wakes = world.agenda.next, scheduler.wake_at()
    if wakes is None:
        return happens
    if happens is None:
        return wakes if wakes - world.moved <= LULL_S else None
    return min(happens, wakes)


def _result(name: str, gangs: Sequence[Gang], world: World, *, holds: int) -> Run:
    lives = world.lives.values()
    starts = sorted((life.started, life.gang.name) for life in lives if life.started is not None)
    return Run(
        name=name,
        seconds=world.now,
        gangs=len(gangs),
        started=len(starts),
        ended=sum(1 for life in lives if life.ended is not None),
        total=world.meter.total,
        lost=world.meter.lost,
        evicted=sum(life.evicted for life in lives),
        disrupted=sum(1 for life in lives if life.evicted),
        holds=holds,
        waits=waits_of(lives, world.now),
        levels=tuple(world.meter.levels),
        starts=tuple((gang, second) for second, gang in starts),
    )
