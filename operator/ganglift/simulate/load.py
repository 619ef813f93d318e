"""Gangs made up from a seed: the same seed, the same gangs."""

import math
import random
from collections.abc import Iterable, Sequence

from ganglift.base.quantity import units_of
from ganglift.simulate.gangs import Gang, gangs_of
from ganglift.simulate.scenario import MOST_GANGS, MOST_NODES, InvalidScenario, KindOfGang, Load, Scenario

_NO_TIME_S = 60
"""Nothing runs for less: images are pulled, processes started."""


def all_gangs(scenario: Scenario) -> Sequence[Gang]:
    """Return all gangs of a scenario as they come; raise InvalidScenario where there are too many."""
    if sum(pool.count for pool in scenario.nodes) > MOST_NODES:
        raise InvalidScenario(f"nodes: there are more than {MOST_NODES:,}")
    if sum(spec.count for spec in scenario.gangs) > MOST_GANGS:
        raise InvalidScenario(f"gangs: there are more than {MOST_GANGS:,}")
    found = [gang for spec in scenario.gangs for gang in gangs_of(spec, scenario.measured)]
    if scenario.load is not None:
        found += _made_up(scenario.load, scenario, random.Random(scenario.seed))
    twice = len(found) - len({gang.name for gang in found})
    if twice:
        raise InvalidScenario("gangs: a series or the load has a name that another gang has too")
    return sorted(found, key=lambda gang: (gang.arrives, gang.name))


def _made_up(load: Load, scenario: Scenario, rng: random.Random) -> Iterable[Gang]:
    """Yield gangs until they ask for what is offered; they come at times that are independent of each other."""
    wanted = load.offered * _supply(scenario, load.lasts)
    drawn: list[tuple[KindOfGang, int, int]] = []
    asked = 0.0
    kinds, units = _fitting(load, scenario), _units(load, scenario)
    weights = [kind.weight for kind in kinds]
    while asked < wanted:
        (kind,) = rng.choices(kinds, weights)
        members, runs = rng.choice(kind.members), _run_time(kind, rng)
        drawn.append((kind, members, runs))
        asked += members * units[kind.name] * runs
        if len(drawn) > MOST_GANGS:
            raise InvalidScenario(f"load: that is more than {MOST_GANGS:,} gangs; offer less, or let it last shorter")
    times = sorted(rng.randrange(math.ceil(load.lasts)) for _ in drawn)
    width = len(str(len(drawn)))
    for number, (arrives, (kind, members, runs)) in enumerate(zip(times, drawn, strict=True)):
        yield Gang(f"{kind.name}-{number:0{width}}", arrives, members, members, runs, units[kind.name], kind)


def _units(load: Load, scenario: Scenario) -> dict[str, int]:
    return {kind.name: units_of(scenario.measured, kind.asks.get(scenario.measured, 0)) for kind in load.kinds}


def _fitting(load: Load, scenario: Scenario) -> list[KindOfGang]:
    """Return the kinds with those of their sizes that ask for half of all nodes' units at most.

    Sizes that are named in the scenario stand as they are: whoever writes them means them.
    """
    units = _units(load, scenario)
    if not any(units.values()):
        raise InvalidScenario(f"load.kinds: none of them asks for {scenario.measured}, so nothing can be measured")
    if "kinds" in load.model_fields_set:
        return list(load.kinds)
    offers = (
        pool.count * units_of(scenario.measured, pool.offers.get(scenario.measured, 0)) for pool in scenario.nodes
    )
    most = sum(offers) // 2
    kinds = []
    for kind in load.kinds:
        members = tuple(count for count in kind.members if count * units[kind.name] <= most)
        kinds += [kind.model_copy(update={"members": members})] if members else []
    if not kinds:
        raise InvalidScenario("nodes: they are too few for the load that is made up; name kinds of your own")
    return kinds


def _run_time(kind: KindOfGang, rng: random.Random) -> int:
    drawn = kind.runs.median * math.exp(rng.gauss(0.0, kind.runs.spread))
    return round(max(min(drawn, kind.runs.most), min(_NO_TIME_S, kind.runs.median)))


def _supply(scenario: Scenario, lasts: float) -> float:
    """Return what the nodes have of the measured resource while the load lasts, in units times seconds."""
    total = 0.0
    for pool in scenario.nodes:
        there = min(lasts, pool.leaves if pool.leaves is not None else lasts) - min(pool.joins, lasts)
        total += pool.count * units_of(scenario.measured, pool.offers.get(scenario.measured, 0)) * max(there, 0.0)
    if not total:
        raise InvalidScenario(f"nodes: none of them offers {scenario.measured} while the load lasts")
    return total
