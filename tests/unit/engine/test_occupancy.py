"""Who is on the nodes: what may be evicted, what stays, and what is expected to end first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.builders import PodBuilder, pod

from ganglift.api.policy import DisruptionBudget
from ganglift.base.ids import Key
from ganglift.engine.occupancy import MIRROR, RunTimes, Worth, evictable, is_mobile, lower_nodes


def at(minute: int) -> str:
    return f"2026-11-30T12:{minute:02}:00Z"


def running(name: str, began: int = 0, **spec: Any) -> PodBuilder:
    builder = pod(name).gpu(1).on("n1")._with("status", "startTime", value=at(began))
    for field, value in spec.items():
        builder = builder._with("spec", field, value=value)
    return builder


@pytest.mark.parametrize(
    ("one", "moves"),
    [
        (running("a"), True),
        (running("a").owner("ReplicaSet", "r", "u", "apps/v1"), True),
        (running("a").owner("DaemonSet", "d", "u", "apps/v1"), False),
        (running("a").owner("Node", "n1", "u", "v1"), False),
        (running("a").annotation(MIRROR, "x"), False),
        (running("a").terminating(), False),
        (running("a").phase("Succeeded"), False),
        (pod("a"), False),
    ],
)
def test_what_leaves_its_node_when_it_is_evicted(one: PodBuilder, moves: bool) -> None:
    assert is_mobile(one.made) is moves


def test_only_lower_pods_may_be_evicted_and_a_gang_counts_as_its_group() -> None:
    pods = [
        running("low").made,
        running("equal").priority(10).made,
        running("important").gang("big").made,
        running("together", began=3).gang("small").made,
    ]
    worths = {Key("default", "big"): Worth(1000, is_whole=False), Key("default", "small"): Worth(5, is_whole=True)}
    found = evictable(pods, worths, (), 10)
    assert [(one.uid, one.priority, one.unit) for one in found] == [
        ("uid-low", 0, "uid-low"),
        ("uid-together", 5, "default/small"),
    ]


def test_budgets_are_those_of_its_namespace_that_select_it() -> None:
    def budget(namespace: str, **labels: str) -> DisruptionBudget:
        metadata = {"namespace": namespace, "name": "b", "uid": f"uid-{namespace}"}
        return DisruptionBudget.model_validate({"metadata": metadata, "spec": {"selector": {"matchLabels": labels}}})

    budgets = [budget("default", app="x"), budget("other", app="x")]
    (found,) = evictable([running("a").label("app", "x").made], {}, budgets, 10)
    assert found.budgets == ("default/b",)
    (found,) = evictable([running("a").label("app", "y").made], {}, budgets, 10)
    assert found.budgets == ()


def test_nodes_with_lower_pods_are_named() -> None:
    pods = [running("a").on("n1").made, running("b").on("n2").priority(10).made, pod("c").made]
    assert lower_nodes(pods, 10) == {"n1"}


def test_the_pod_whose_deadline_is_nearest_ends_first_and_the_oldest_of_the_unknown_last() -> None:
    pods = [
        running("young", 9).made,
        running("old", 1).made,
        running("late", 2, activeDeadlineSeconds=3600).made,
        running("soon", 5, activeDeadlineSeconds=60).made,
    ]
    order = RunTimes().in_order_of_end(pods)
    assert order == ["uid-soon", "uid-late", "uid-old", "uid-young"]


def test_like_pods_are_expected_to_run_as_long_as_those_that_have_ended() -> None:
    times = RunTimes()
    times.note(running("gone").made, datetime(2026, 11, 30, 12, 10, tzinfo=UTC))
    pods = [running("like", 20).made, running("other", 20, activeDeadlineSeconds=900).gpu(2).made]
    assert times.in_order_of_end(pods) == ["uid-like", "uid-other"]
