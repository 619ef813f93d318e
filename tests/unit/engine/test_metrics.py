"""What /metrics shows of an engine at work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.docs.markdown import DOCS
from tests.fakes.apiserver import Refuse, on
from tests.fakes.apiserver.refusals import internal_error
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import NAMESPACE, Operator
from tests.support.manifests import pod, podgroup, pods

from ganglift.app.metrics import FAMILIES, Source, registry_of
from ganglift.kube.client import Limits
from ganglift.kube.events import Recorder
from ganglift.kube.informer import Informer
from ganglift.kube.resources import POD_GROUPS, PODS


class Scraped:
    """The figures of one operator, as Prometheus reads them."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        watches: tuple[Informer[Any], ...] = (
            operator.pods,
            operator.nodes,
            *(informer for informer, _ in operator.others),
        )
        self.recorder = Recorder(operator.client, instance="replica-1")
        source = Source(operator.engine, operator.client, operator.leadership, self.recorder, watches)
        self.registry = registry_of(source)

    def families(self) -> Iterator[Metric]:
        for metric in text_string_to_metric_families(generate_latest(self.registry).decode()):
            if metric.name.startswith("ganglift_"):
                yield metric

    def names(self) -> set[str]:
        return {f"{metric.name}_total" if metric.type == "counter" else metric.name for metric in self.families()}

    def __call__(self, name: str, **labels: str) -> float | None:
        """Return the figure of the series with exactly these labels; None if there is none."""
        samples = [sample for metric in self.families() for sample in metric.samples if sample.name == name]
        return next((sample.value for sample in samples if sample.labels == labels), None)


@pytest.fixture
async def scraped(cluster: FakeCluster) -> Scraped:
    operator = cluster.operator()
    await operator.synced()
    return Scraped(operator)


def test_names_are_ganglifts_and_end_in_their_unit() -> None:
    for family in FAMILIES:
        assert re.fullmatch(r"ganglift_[a-z_]+", family.name)
        assert family.name.endswith("_total") == (family.type == "counter")
        assert family.type != "histogram" or family.name.endswith("_seconds")


async def test_every_family_of_the_reference_is_exposed_and_no_other(cluster: FakeCluster, scraped: Scraped) -> None:
    cluster.nodes(2)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "Scheduled")
    told = set(re.findall(r"^\| `(ganglift_\w+)` \|", (DOCS / "reference.md").read_text(), re.MULTILINE))
    assert scraped.names() == told == {family.name for family in FAMILIES}


async def test_series_have_the_labels_of_their_family(cluster: FakeCluster, scraped: Scraped) -> None:
    cluster.nodes(1)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    labels = {family.name: set(family.labels) for family in FAMILIES if family.type != "histogram"}
    for metric in scraped.families():
        for sample in metric.samples:
            if sample.name in labels:
                assert set(sample.labels) == labels[sample.name], sample.name


async def test_a_gang_that_waits_is_counted_by_its_reason(cluster: FakeCluster, scraped: Scraped) -> None:
    cluster.nodes(3)
    cluster.add(podgroup("g", 4), *pods("g", 4))
    await cluster.until(lambda: scraped("ganglift_pod_groups", policy="gang", reason="Unschedulable") == 1)
    assert scraped("ganglift_queue_length") == 1
    assert scraped("ganglift_members", state="gated") == 4
    assert scraped("ganglift_members", state="scheduled") == 0


async def test_a_gang_that_starts_moves_the_figures(cluster: FakeCluster, scraped: Scraped) -> None:
    cluster.nodes(3)
    cluster.add(podgroup("g", 4), *pods("g", 4))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    await cluster.stays(lambda: True, for_s=40)
    cluster.nodes(1, first=4)
    await cluster.until(lambda: scraped("ganglift_pod_groups", policy="gang", reason="Scheduled") == 1)
    assert scraped("ganglift_pod_groups", policy="gang", reason="Unschedulable") is None
    assert scraped("ganglift_queue_length") == 0
    assert scraped("ganglift_members", state="scheduled") == 4
    assert scraped("ganglift_admissions_total", outcome="lifted") == 1
    assert scraped("ganglift_gathered_to_scheduled_seconds_count") == 1
    assert scraped("ganglift_gathered_to_scheduled_seconds_bucket", le="30.0") == 0
    assert scraped("ganglift_gathered_to_scheduled_seconds_bucket", le="60.0") == 1
    assert 40 <= (scraped("ganglift_gathered_to_scheduled_seconds_sum") or 0) < 60
    assert (scraped("ganglift_plan_duration_seconds_count") or 0) >= 2


async def test_a_gang_is_timed_once(cluster: FakeCluster, scraped: Scraped) -> None:
    """A replacement that comes later is no start."""
    cluster.nodes(2)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "Scheduled")
    cluster.delete(PODS, "g-0")
    cluster.add(pod("g-2", group="g"))
    await cluster.until(lambda: cluster.bound("g") == 2)
    await cluster.quiet()
    assert scraped("ganglift_gathered_to_scheduled_seconds_count") == 1


async def test_nothing_is_left_of_groups_that_are_gone(cluster: FakeCluster, scraped: Scraped) -> None:
    before = {(sample.name, *sample.labels.values()) for metric in scraped.families() for sample in metric.samples}
    cluster.nodes(1)
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    for name in ("g-0", "g-1"):
        cluster.delete(PODS, name)
    cluster.delete(POD_GROUPS, "g")
    await cluster.until(lambda: not scraped.operator.engine.entries)
    gauges = {family.name for family in FAMILIES if family.type == "gauge"}
    after = {(sample.name, *sample.labels.values()) for metric in scraped.families() for sample in metric.samples}
    assert {series for series in after if series[0] in gauges} == {series for series in before if series[0] in gauges}


async def test_a_replica_that_stands_by_has_no_figures_of_gangs(cluster: FakeCluster, scraped: Scraped) -> None:
    assert scraped("ganglift_leader") == 1
    scraped.operator.leadership.is_leading = False
    assert scraped("ganglift_leader") == 0
    assert not scraped.names() & {family.name for family in FAMILIES if family.is_leaders}
    assert {family.name for family in FAMILIES if not family.is_leaders} <= scraped.names()


async def test_writes_are_counted_by_verb_resource_and_result(cluster: FakeCluster, scraped: Scraped) -> None:
    await scraped.operator.engine.fence.provide()
    cluster.core.faults.add(on("create", PODS, namespace=NAMESPACE), Refuse(internal_error("x")), times=1)
    await scraped.operator.engine.fence.passed("default/rival")
    await scraped.operator.engine.fence.passed("default/rival")
    assert scraped("ganglift_writes_total", verb="create", resource="pods", result="ServerError") == 1
    assert scraped("ganglift_writes_total", verb="create", resource="pods", result="OK") == 1
    assert scraped("ganglift_fences_raised_total") == 2


@pytest.mark.real_time
async def test_waits_for_the_rate_are_told(cluster: FakeCluster) -> None:
    operator = cluster.operator(limits=Limits(qps=2, burst=1), stands_by=True)
    await operator.synced()
    scraped = Scraped(operator)
    for number in range(3):
        await operator.client.create(PODS, pod(f"p-{number}"), namespace="default")
    assert (scraped("ganglift_rate_limit_waits_total") or 0) >= 1
    assert 0.4 <= (scraped("ganglift_rate_limit_wait_seconds_total") or 0) < 1.5


async def test_watches_that_fail_are_told_with_their_resource(cluster: FakeCluster, scraped: Scraped) -> None:
    fault = cluster.core.faults.add(on("watch", PODS), Refuse(internal_error("x")), times=4)
    cluster.core.end_watches()
    await cluster.until(lambda: fault.struck == 4)
    assert scraped("ganglift_watch_behind", resource="pods") == 1
    await cluster.until(lambda: scraped("ganglift_watch_behind", resource="pods") == 0)
    assert scraped("ganglift_watch_restarts_total", resource="pods", why="failed") == 4
    assert (scraped("ganglift_watch_restarts_total", resource="pods", why="ended") or 0) >= 1
