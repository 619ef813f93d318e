"""What /metrics tells, made of plain counts when it is asked: nothing is paid for a metric in between.

`FAMILIES` is the one table of them, and docs/reference.md is made of it. No label has a group, a pod or a node as its
value, so the number of series does not grow with the cluster, and none outlives what it was about.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from ganglift import __version__
from ganglift.engine.admit import End
from ganglift.engine.engine import Engine
from ganglift.engine.executor import Leadership
from ganglift.engine.queue import waiting_for_room
from ganglift.engine.tally import Durations
from ganglift.gang.reasons import ConditionType
from ganglift.kube.events import Recorder
from ganglift.kube.http import HttpClient
from ganglift.kube.informer import Informer


@dataclass(frozen=True, slots=True)
class Source:
    """Where the figures are. `client` is the one that writes for gangs."""

    engine: Engine
    client: HttpClient
    leadership: Leadership
    recorder: Recorder
    watches: tuple[Informer[Any], ...]


Samples = Iterable[tuple[tuple[str, ...], float]]
"""Values of the labels, and the figure."""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its name as Prometheus shows it, and where its figures come from."""

    name: str
    type: Literal["gauge", "counter", "histogram"]
    meaning: str
    read: Callable[[Source], Samples | Durations]
    labels: tuple[str, ...] = ()
    is_leaders: bool = False
    """Only the leader has it: a replica that stands by does not know, and sums over replicas must not count twice."""

    def metric(self, source: Source) -> Metric:
        """Return it with its figures as they are now."""
        found = self.read(source)
        if isinstance(found, Durations):
            histogram = HistogramMetricFamily(self.name, self.meaning)
            histogram.add_metric([], _buckets(found), found.total_s)
            return histogram
        kind = GaugeMetricFamily if self.type == "gauge" else CounterMetricFamily
        family = kind(self.name, self.meaning, labels=self.labels)
        for values, figure in found:
            family.add_metric(values, figure)
        return family


class Metrics(Collector):
    """Reads all families when Prometheus asks."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def describe(self) -> Iterable[Metric]:
        """Tell the registry of nothing beforehand: what there is depends on who leads."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield each family that this replica has."""
        is_leading = self._source.leadership.is_leading
        for family in FAMILIES:
            if is_leading or not family.is_leaders:
                yield family.metric(self._source)


def registry_of(source: Source) -> CollectorRegistry:
    """Return what /metrics serves: our own families, and `process_*` as every client of Prometheus has them."""
    registry = CollectorRegistry()
    registry.register(Metrics(source))
    ProcessCollector(registry=registry)
    return registry


def _groups(source: Source) -> Samples:
    reasons: Counter[tuple[str, ...]] = Counter()
    for entry in source.engine.entries.values():
        if (condition := entry.group.condition(ConditionType.SCHEDULED)) is not None:
            reasons["gang" if entry.group.spec.gang else "basic", condition.reason] += 1
    return sorted(reasons.items())


def _members(source: Source) -> Samples:
    states = [entry.look.state for entry in source.engine.entries.values() if entry.look is not None]
    return [((name,), sum(getattr(state, name) for state in states)) for name in MEMBER_STATES]


MEMBER_STATES = ("gated", "reserved", "lifted", "scheduled", "running")


def _claims(source: Source, *, is_hold: bool) -> Samples:
    claims = (entry.claim for entry in source.engine.entries.values())
    return _one(sum(1 for claim in claims if claim is not None and claim.is_hold == is_hold))


def _one(figure: float) -> Samples:
    return [((), figure)]


def _buckets(durations: Durations) -> list[tuple[str, float]]:
    numbers = accumulate(durations.counts[index] for index in range(len(durations.bounds_s) + 1))
    return list(zip([*map(str, map(float, durations.bounds_s)), "+Inf"], map(float, numbers), strict=True))


FAMILIES: tuple[Family, ...] = (
    Family("ganglift_info", "gauge", "1, with the version.", lambda _: [((__version__,), 1)], ("version",)),
    Family(
        "ganglift_leader",
        "gauge",
        "1 on the replica that leads, 0 on those that stand by.",
        lambda source: _one(source.leadership.is_leading),
    ),
    Family(
        "ganglift_pod_groups",
        "gauge",
        "PodGroups by policy (`gang` or `basic`) and by the reason of their condition `Scheduled`.",
        _groups,
        ("policy", "reason"),
        is_leaders=True,
    ),
    Family(
        "ganglift_members",
        "gauge",
        "Members of all groups by state: `gated`, of these `reserved`; `lifted` and not bound yet; `scheduled`, of "
        "these `running`.",
        _members,
        ("state",),
        is_leaders=True,
    ),
    Family(
        "ganglift_queue_length",
        "gauge",
        "Gangs that have enough members and no room.",
        lambda source: _one(len(waiting_for_room(source.engine.entries.values()))),
        is_leaders=True,
    ),
    Family(
        "ganglift_holds",
        "gauge",
        "Gangs for which room is held on nodes that are still busy.",
        lambda source: _claims(source, is_hold=True),
        is_leaders=True,
    ),
    Family(
        "ganglift_preemptions",
        "gauge",
        "Gangs for which lower work is being evicted.",
        lambda source: _claims(source, is_hold=False),
        is_leaders=True,
    ),
    Family(
        "ganglift_admissions_total",
        "counter",
        "Plans that were carried out, by how that ended: `lifted`; `lost`, since the room or a member went meanwhile; "
        "`forgotten` by a new kube-scheduler; `refused` by the API server; `no_fence` or `no_answer` where a "
        "competitor was on its way; `failed`, since the API server could not be reached.",
        lambda source: [((end.name.lower(),), source.engine.tally.admissions[end]) for end in End],
        ("outcome",),
    ),
    Family(
        "ganglift_gathered_to_scheduled_seconds",
        "histogram",
        "From the moment that a gang had enough members, as this process saw it, until they were bound for the first "
        "time.",
        lambda source: source.engine.tally.starts,
    ),
    Family(
        "ganglift_plan_duration_seconds",
        "histogram",
        "How long planning took, of all groups that were due together.",
        lambda source: source.engine.tally.plans,
    ),
    Family(
        "ganglift_fences_raised_total",
        "counter",
        "Fence pods made because a competitor was on its way.",
        lambda source: _one(source.engine.fence.raised),
    ),
    Family(
        "ganglift_repairs_total",
        "counter",
        "Times that members of a gang lost their place after the lift and were given others.",
        lambda source: _one(source.engine.tally.repairs),
    ),
    Family(
        "ganglift_take_backs_total",
        "counter",
        "Times that a gang was taken back.",
        lambda source: _one(source.engine.tally.take_backs),
    ),
    Family(
        "ganglift_evictions_total",
        "counter",
        "Pods that were evicted, or taken back from their Job, for a gang of higher priority.",
        lambda source: _one(source.engine.tally.evictions),
    ),
    Family(
        "ganglift_writes_total",
        "counter",
        "Writes to the API server, dry runs, events and the Lease among them: `result` is `OK` or the error, such as "
        "`Conflict`, `Forbidden` or `TimedOut`.",
        lambda source: sorted(source.client.results.items()),
        ("verb", "resource", "result"),
    ),
    Family(
        "ganglift_rate_limit_waits_total",
        "counter",
        "Writes for gangs that had to wait for the rate `qps`.",
        lambda source: _one(source.client.waits),
    ),
    Family(
        "ganglift_rate_limit_wait_seconds_total",
        "counter",
        "How long they waited, all together.",
        lambda source: _one(source.client.waited_s),
    ),
    Family(
        "ganglift_watch_restarts_total",
        "counter",
        "Watches that were opened anew, by why the last one stopped: it `ended`, as it should every few minutes; its "
        "place `expired`; it was `silent`; it `failed`.",
        lambda source: [
            ((watch.resource.qualified, why), number)
            for watch in source.watches
            for why, number in sorted(watch.restarts.items())
        ],
        ("resource", "why"),
    ),
    Family(
        "ganglift_watch_behind",
        "gauge",
        "1 while what is known of a resource may be out of date, since it can't be watched.",
        lambda source: [((watch.resource.qualified,), watch.problem is not None) for watch in source.watches],
        ("resource",),
    ),
    Family(
        "ganglift_unreadable_objects_total",
        "counter",
        "Objects that were left out, since they could not be read.",
        lambda source: [((watch.resource.qualified,), watch.unreadable) for watch in source.watches],
        ("resource",),
    ),
    Family(
        "ganglift_events_dropped_total",
        "counter",
        "Events about groups that could not be written.",
        lambda source: _one(source.recorder.dropped),
    ),
)
