"""What arrives when. Times are whole seconds from the beginning, sizes whole GPUs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from ganglift.base.errors import GangliftError
from ganglift.base.settings import Seconds

DAY_S = 86_400
_MEMBERS = (1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32, 64)
_GPUS = (1, 1, 1, 2, 4, 8)
_SHORTEST_S, _LONGEST_S = 600, 12 * 3600


class InvalidScenario(GangliftError):
    """A scenario that can't be read or does not hold; the message names the field."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Nodes(_Part):
    """The cluster: so many nodes of so many GPUs each."""

    count: int = Field(500, ge=1, le=20_000)
    gpus: int = Field(8, ge=1, le=64)


class Job(_Part):
    """A gang of `members` pods of so many GPUs each that arrives `at` and runs for so long once all have a place."""

    name: str
    at: Seconds = 0.0
    members: int = Field(1, ge=1, le=100_000)
    gpus: int = Field(1, ge=1, le=64)
    runs: Seconds = Field(3600.0, ge=1)
    priority: int = 0


class Generated(_Part):
    """A load made up from a seed: jobs of all sizes that ask for `load` of the cluster, on average, over `days`."""

    seed: int = 1
    days: float = Field(1.0, gt=0, le=365, allow_inf_nan=False)
    load: float = Field(0.9, gt=0, le=10, allow_inf_nan=False)
    urgent: float = Field(0.05, ge=0, le=1)
    """The share of jobs of priority 100; the others have 0."""


class Scenario(_Part):
    """Nodes, and either a list of jobs or how to make some up."""

    nodes: Nodes = Nodes()
    jobs: tuple[Job, ...] = ()
    generate: Generated | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """A scenario with its jobs, in the order of their arrival; `until` is when it is over."""

    nodes: Nodes
    jobs: tuple[Job, ...]
    until: int


def load_of(data: Any) -> Load:
    """Return the load that a scenario describes; raise InvalidScenario, naming the fields that are wrong."""
    if not isinstance(data, Mapping):
        raise InvalidScenario("a scenario is a mapping with nodes and jobs, or with nodes and generate")
    try:
        scenario = Scenario.model_validate(data)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise InvalidScenario("; ".join(problems)) from error
    if bool(scenario.jobs) == (scenario.generate is not None):
        raise InvalidScenario("give either jobs or generate")
    jobs = scenario.jobs if scenario.generate is None else _made_up(scenario.nodes, scenario.generate)
    _check_names(jobs)
    ordered = tuple(sorted(jobs, key=lambda job: (int(job.at), job.name)))
    if scenario.generate is not None:
        return Load(scenario.nodes, ordered, int(scenario.generate.days * DAY_S))
    return Load(scenario.nodes, ordered, int(max(job.at for job in jobs)) + 30 * DAY_S)


def _check_names(jobs: Iterable[Job]) -> None:
    seen: set[str] = set()
    for job in jobs:
        if job.name in seen:
            raise InvalidScenario(f"jobs: two are named {job.name}")
        seen.add(job.name)


def _made_up(nodes: Nodes, wish: Generated) -> list[Job]:
    rng, until = Random(wish.seed), wish.days * DAY_S
    wanted, asked = wish.load * nodes.count * nodes.gpus * until, 0.0
    jobs: list[Job] = []
    while asked < wanted:
        gpus = min(rng.choice(_GPUS), nodes.gpus)
        members = min(rng.choice(_MEMBERS), nodes.count * (nodes.gpus // gpus))
        runs = int(_SHORTEST_S * (_LONGEST_S / _SHORTEST_S) ** rng.random())
        priority = 100 if rng.random() < wish.urgent else 0
        at = float(int(rng.random() * until))
        jobs.append(
            Job(name=f"job-{len(jobs)}", at=at, members=members, gpus=gpus, runs=float(runs), priority=priority)
        )
        asked += members * gpus * runs
    return jobs
