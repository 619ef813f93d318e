"""What is simulated: nodes that come and go, gangs one by one or as a load, settings. Read from YAML.

Durations are written like `90s`, `5m`, `1h30m`, and are seconds here; times count from the start of the simulation.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from ganglift.base.errors import GangliftError
from ganglift.base.quantity import InvalidQuantity, units_of
from ganglift.base.settings import Seconds, Settings

GPU = "nvidia.com/gpu"
MOST_NODES, MOST_GANGS, MOST_MEMBERS = 20_000, 200_000, 20_000


class InvalidScenario(GangliftError):
    """A scenario that can't be read or doesn't hold; the message names file and field."""


def _checked(quantities: Mapping[str, str | int | float]) -> Mapping[str, str | int | float]:
    for resource, text in quantities.items():
        try:
            units = units_of(resource, text)
        except InvalidQuantity as error:
            raise ValueError(f"{resource}: {error}") from error
        if units < 0:
            raise ValueError(f"{resource}: {text} is less than nothing")
    return quantities


Quantities = Annotated[dict[str, str | int | float], AfterValidator(_checked)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=200)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Pool(_Part):
    """Like nodes, which are there from `joins` until `leaves`."""

    name: Name = "node"
    count: int = Field(ge=1, le=MOST_NODES)
    offers: Quantities
    labels: dict[str, str] = Field(default_factory=dict)
    joins: Seconds = 0.0
    leaves: Seconds | None = None


class Work(_Part):
    """What a gang's members are: `asks` is what each requests."""

    asks: Quantities
    node_selector: dict[str, str] = Field(default_factory=dict)
    priority: int = Field(0, ge=-(2**31), le=1_000_000_000)
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
    disruption_mode: Literal["single", "all"] = "single"


class GangSpec(Work):
    """One gang or, with `count`, a series of them, `every` so often. `runs` is for how long, once it is whole."""

    name: Name
    at: Seconds = 0.0
    members: int = Field(ge=1, le=MOST_MEMBERS)
    min_count: int | None = Field(None, ge=1)
    runs: Annotated[Seconds, Field(gt=0)]
    count: int = Field(1, ge=1, le=MOST_GANGS)
    every: Seconds = 0.0

    @model_validator(mode="after")
    def _need_exists(self) -> Self:
        if (self.min_count or 0) > self.members:
            raise ValueError(f"minCount {self.min_count} is more than the {self.members} members there are")
        return self


class RunTime(_Part):
    """Log-normal: half run for less than `median`; `spread` is sigma of the logarithm; none more than `most`."""

    median: Annotated[Seconds, Field(gt=0)]
    spread: float = Field(0.0, ge=0, le=3, allow_inf_nan=False)
    most: Annotated[Seconds, Field(gt=0)] = 86_400.0


class KindOfGang(Work):
    """A part of a load: `weight` of all gangs, each with one of `members` as its size."""

    name: Name
    weight: int = Field(1, ge=1)
    members: tuple[Annotated[int, Field(ge=1, le=MOST_MEMBERS)], ...] = Field(min_length=1)
    runs: RunTime


def _gpus(count: int) -> dict[str, str | int | float]:
    return {GPU: count, "cpu": 12 * count, "memory": f"{120 * count}Gi"}


KINDS = (
    KindOfGang(name="debug", weight=40, members=(1,), asks=_gpus(1), runs=RunTime(median=1800, spread=1, most=28_800)),
    KindOfGang(name="tune", weight=30, members=(2, 4, 8), asks=_gpus(1), runs=RunTime(median=7200, spread=0.8)),
    KindOfGang(
        name="train", weight=24, members=(2, 4, 8, 16), asks=_gpus(8), runs=RunTime(median=14_400, spread=0.8),
        disruption_mode="all",
    ),
    KindOfGang(
        name="large", weight=4, members=(32, 64), asks=_gpus(8), runs=RunTime(median=21_600, spread=0.5),
        disruption_mode="all",
    ),
    KindOfGang(
        name="urgent", weight=2, members=(4, 8), asks=_gpus(8), runs=RunTime(median=3600, spread=0.5, most=28_800),
        disruption_mode="all", priority=100,
    ),
)  # fmt: skip
"""A load as GPU clusters have it: most gangs are small and short, most of the GPU time goes to the few big ones."""


class Load(_Part):
    """Gangs that come at random times for as long as it `lasts`.

    All of them together ask for the part `offered` of what the cluster has in that time.
    """

    lasts: Annotated[Seconds, Field(gt=0)]
    offered: float = Field(0.9, gt=0, le=10, allow_inf_nan=False)
    kinds: tuple[KindOfGang, ...] = Field(KINDS, min_length=1)


class PodByPod(_Part):
    """How pods without gangs behave, for comparison.

    Members that have started and wait for the others give up after `gives_up_after` (as a rendezvous does), and are
    made anew; with 0s they wait for ever. `scoring` is that of kube-scheduler's NodeResourcesFit.
    """

    gives_up_after: Seconds = 600.0
    scoring: Literal["LeastAllocated", "MostAllocated"] = "LeastAllocated"


class Scenario(_Part):
    """A whole scenario. It ends at `until`, else with its load, else when nothing is left to happen."""

    nodes: tuple[Pool, ...] = Field(min_length=1)
    gangs: tuple[GangSpec, ...] = ()
    load: Load | None = None
    seed: int = 1
    until: Annotated[Seconds, Field(gt=0)] | None = None
    measured: str = GPU
    eviction_grace: Seconds = 30.0
    settings: Settings = Settings()
    pod_by_pod: PodByPod = PodByPod()

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        for what, names in (("nodes", [p.name for p in self.nodes]), ("gangs", [g.name for g in self.gangs])):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{what}: there are two of the name {twice[0]}")
        if not self.gangs and self.load is None:
            raise ValueError("there is nothing to run: give gangs, or a load")
        return self

    @property
    def end(self) -> int | None:
        """Return when the simulation is over, None where it ends by itself."""
        last = self.until if self.until is not None else self.load.lasts if self.load is not None else None
        return round(last) if last is not None else None


def content_of(name: str, text: str | bytes) -> dict[Any, Any]:
    """Return what a file says; raise InvalidScenario where it can't be read."""
    try:
        content = yaml.safe_load(text)
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidScenario(f"{name} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise InvalidScenario(f"{name}: expected a mapping with nodes, and gangs or a load")
    return content


def scenario_of(name: str, content: Mapping[Any, Any]) -> Scenario:
    """Return the scenario that this says; raise InvalidScenario, with the name of the file, where it doesn't hold."""
    try:
        return Scenario.model_validate(content)
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, detail['loc'])) or 'scenario'}: {detail['msg'].removeprefix('Value error, ')}"
            for detail in error.errors()
        )
        raise InvalidScenario(f"{name}: {'; '.join(problems)}") from error
