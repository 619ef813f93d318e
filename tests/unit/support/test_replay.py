"""What was seen is put in order and in time before it is held against the rules."""

from __future__ import annotations

import math
from typing import Any

from tests.support.replay import Seen, Span, replay

GATE = "scheduling.ganglift.dev/gang"
Obj = dict[str, Any]


def node(name: str, version: int) -> Obj:
    metadata = {"name": name, "uid": name, "resourceVersion": str(version)}
    return {"metadata": metadata, "status": {"allocatable": {"nvidia.com/gpu": "1", "pods": "110"}}}


def group(version: int, min_count: int = 2) -> Obj:
    metadata = {"name": "g", "namespace": "default", "uid": "g", "resourceVersion": str(version)}
    conditions = [{"type": "Scheduled", "status": "False", "reason": "Settling"}]
    spec = {"schedulingPolicy": {"gang": {"minCount": min_count}}}
    return {"metadata": metadata, "spec": spec, "status": {"conditions": conditions}}


def pod(name: str, version: int, *, gated: bool = True, at: str = "") -> Obj:
    labels = {"scheduling.ganglift.dev/pod-group": "g"}
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(version), "labels": labels}
    spec = {"containers": [], "schedulingGates": [{"name": GATE}] if gated else []}
    return {"metadata": metadata, "spec": spec, "status": {"nominatedNodeName": at} if at else {}}


def events(*seen: tuple[float, str, Obj]) -> list[Seen]:
    return [Seen(at, resource, "MODIFIED", obj) for at, resource, obj in seen]


GROUPS = "podgroups.scheduling.ganglift.dev"
START = events(
    (0, "nodes", node("n1", 1)),
    (0, "nodes", node("n2", 2)),
    (0, GROUPS, group(3)),
    (0, "pods", pod("a", 4)),
    (0, "pods", pod("b", 5, at="n2")),
)


def rules(seen: list[Seen], *, held: list[Span] | None = None, attended: float = 0, until: float) -> list[str]:
    found = replay(seen, [(attended, math.inf)], held or [], until=until)
    return [finding.partition(":")[0] for finding in found]


def test_a_watch_that_is_late_makes_no_one_look_guilty() -> None:
    lift = events((10, "pods", pod("a", 8, gated=False, at="n1")), (10.5, GROUPS, group(7, min_count=1)))
    nominated = events((10.6, "pods", pod("a", 6, at="n1")))
    assert rules(START + lift + nominated, until=11) == []


def test_what_comes_in_this_order_is_judged_in_this_order() -> None:
    lift = events((10, "pods", pod("a", 6, gated=False)))
    assert rules(START + lift, until=11) == ["I1"]


NOMINATED_AND_WIPED = events((5, "pods", pod("a", 6, at="n1")), (10, "pods", pod("a", 7)))
LIFTED = events((20, "pods", pod("a", 8, gated=False)))


def test_a_lift_that_was_held_back_is_judged_by_what_was_so_when_it_was_asked_for() -> None:
    assert rules(START + NOMINATED_AND_WIPED + LIFTED, held=[(9.5, 19.9)], until=21) == []


def test_a_lift_that_was_not_held_back_is_not() -> None:
    assert rules(START + NOMINATED_AND_WIPED + LIFTED, held=[(9.5, 11)], until=21) == ["I1"]


LOOSE = events((10, "pods", pod("a", 6, at="n1")), (11, "pods", pod("a", 7, gated=False, at="n1")))


def test_time_passes_between_events_and_after_the_last() -> None:
    assert rules(START + LOOSE, until=79) == ["I2"]
    busy = events(*((11 + second / 5, "nodes", node("n1", 100 + second)) for second in range(340)))
    assert rules(START + LOOSE + busy, until=79) == ["I2"]


def test_nobody_is_blamed_while_no_operator_runs() -> None:
    assert rules(START + LOOSE, attended=75, until=79) == []
