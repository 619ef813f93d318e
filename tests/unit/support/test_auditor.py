"""The auditor itself: it finds each breach, and is silent where all is as it should be."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from tests.support.auditor import Auditor

GATE = "scheduling.ganglift.dev/gang"
Obj = dict[str, Any]


class Stream:
    """What an API server shows, event by event, in front of an auditor."""

    def __init__(self) -> None:
        self.auditor = Auditor()
        self.now = 0.0
        self.objects: dict[str, Obj] = {}

    def show(self, kind: str, obj: Obj, event: str = "MODIFIED") -> None:
        self.auditor.see(self.now, kind, event, deepcopy(obj))

    def node(self, name: str, gpus: int = 1) -> None:
        allocatable = {"nvidia.com/gpu": str(gpus), "pods": "110", "cpu": "500m", "memory": "1Gi"}
        self.show("nodes", {"metadata": {"name": name, "uid": name}, "status": {"allocatable": allocatable}})

    def group(self, min_count: int = 2, reason: str = "Settling", **status: Any) -> None:
        metadata = {"name": "g", "namespace": "default", "uid": "uid-g"}
        conditions = [{"type": "Scheduled", "status": "False", "reason": reason}]
        spec = {"schedulingPolicy": {"gang": {"minCount": min_count}}}
        group = {"metadata": metadata, "spec": spec, "status": {"conditions": conditions, **status}}
        self.show("podgroups.scheduling.ganglift.dev", group)

    def pod(self, name: str, *, gates: tuple[str, ...] = (GATE,), on: str = "", at: str = "", **more: Any) -> None:
        """Show a member with these gates, bound to `on`, nominated to `at`."""
        labels = more.pop("labels", {"scheduling.ganglift.dev/pod-group": "g"})
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels}
        resources = {"requests": {"nvidia.com/gpu": str(more.pop("gpus", 1))}}
        spec: Obj = {"containers": [{"name": "main", "resources": resources}], "priority": more.pop("priority", 0)}
        spec |= {"schedulingGates": [{"name": gate} for gate in gates]} if gates else {}
        spec |= {"nodeName": on} if on else {}
        status = {"phase": more.pop("phase", "Pending")} | ({"nominatedNodeName": at} if at else {})
        pod = {"metadata": metadata | more, "spec": spec, "status": status}
        self.objects[name] = pod
        self.show("pods", pod)

    def pass_time(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            self.now += 0.5
            self.auditor.pass_time(self.now)

    @property
    def rules(self) -> list[str]:
        return [finding.split(":")[0] for finding in self.auditor.findings]


@pytest.fixture
def stream() -> Stream:
    """Two nodes and a gang of two, with a place for each."""
    stream = Stream()
    stream.node("n1")
    stream.node("n2")
    stream.group()
    stream.pod("a", at="n1")
    stream.pod("b", at="n2")
    stream.pass_time(5)
    return stream


def test_a_gang_that_is_lifted_and_bound_is_as_it_should_be(stream: Stream) -> None:
    for name, node in (("a", "n1"), ("b", "n2")):
        stream.pod(name, gates=(), at=node)
    for name, node in (("a", "n1"), ("b", "n2")):
        stream.pod(name, gates=(), on=node)
    stream.pass_time(600)
    assert stream.auditor.findings == []


def test_a_lift_without_a_nomination_is_found(stream: Stream) -> None:
    stream.pod("a")
    stream.pass_time(5)
    stream.pod("a", gates=())
    assert stream.rules == ["I1"]


def test_a_lift_while_too_few_have_a_place_is_found(stream: Stream) -> None:
    stream.pod("b")
    stream.pass_time(5)
    stream.pod("a", gates=(), at="n1")
    assert stream.auditor.findings == ["I1: ('default', 'a') was lifted while 1 of 2 had a place"]


def test_a_nomination_to_a_node_that_is_not_there_is_no_place(stream: Stream) -> None:
    stream.pod("b", at="gone")
    stream.pass_time(5)
    stream.pod("a", gates=(), at="n1")
    assert stream.rules == ["I1"]


def test_a_nomination_that_vanished_a_moment_ago_is_forgiven(stream: Stream) -> None:
    stream.pod("b")
    stream.now += 0.5
    stream.pod("a", gates=(), at="n1")
    assert stream.auditor.findings == []


def test_an_edit_made_a_moment_ago_is_forgiven(stream: Stream) -> None:
    stream.group(min_count=3)
    stream.now += 0.5
    stream.pod("a", gates=(), at="n1")
    assert stream.auditor.findings == []


def test_a_lift_in_a_group_that_is_not_there_is_found(stream: Stream) -> None:
    stream.pod("x", labels={"scheduling.ganglift.dev/pod-group": "h"})
    stream.pod("x", labels={"scheduling.ganglift.dev/pod-group": "h"}, gates=())
    assert stream.rules == ["I1"]


def test_a_pod_that_turned_out_a_moment_ago_to_be_no_member_is_another_matter(stream: Stream) -> None:
    stream.pod("a")
    stream.pass_time(5)
    stream.group(childUID="uid-job")
    stream.pod("a", gates=())
    assert stream.auditor.findings == []


def test_a_lift_of_a_pod_that_is_leaving_is_found(stream: Stream) -> None:
    stream.pod("a", at="n1", deletionTimestamp="2026-11-30T12:00:00Z")
    stream.pass_time(5)
    stream.pod("a", at="n1", gates=(), deletionTimestamp="2026-11-30T12:00:00Z")
    assert stream.rules == ["I1"]


def test_room_taken_twice_at_a_lift_is_found(stream: Stream) -> None:
    stream.pod("plain", gates=(), on="n1", labels={})
    stream.pass_time(5)
    stream.pod("a", gates=(), at="n1")
    assert stream.rules == ["I3"]


def test_a_pod_of_the_same_priority_bound_a_moment_ago_is_no_excuse(stream: Stream) -> None:
    stream.pod("plain", gates=("other",), labels={})
    stream.pod("plain", gates=(), on="n1", labels={})
    stream.pod("a", gates=(), at="n1")
    assert stream.rules == ["I3"]


def test_one_of_higher_priority_is(stream: Stream) -> None:
    stream.pod("important", gates=("other",), labels={}, priority=9)
    stream.pod("important", gates=(), on="n1", labels={}, priority=9)
    stream.pod("a", gates=(), at="n1")
    assert stream.auditor.findings == []


def test_a_nomination_of_higher_priority_made_a_moment_ago_is_too(stream: Stream) -> None:
    stream.pod("important", gates=(), labels={}, priority=9)
    stream.pass_time(5)
    stream.pod("important", gates=(), at="n1", labels={}, priority=9)
    stream.pod("a", gates=(), at="n1")
    assert stream.auditor.findings == []


def test_one_that_has_stood_for_a_while_is_not(stream: Stream) -> None:
    stream.pod("important", gates=(), at="n1", labels={}, priority=9)
    stream.pass_time(5)
    stream.pod("a", gates=(), at="n1")
    assert stream.rules == ["I3"]


def test_pods_that_are_over_take_no_room(stream: Stream) -> None:
    stream.pod("done", gates=(), on="n1", labels={}, phase="Succeeded")
    stream.pass_time(5)
    stream.pod("a", gates=(), at="n1")
    assert stream.auditor.findings == []


def test_a_lift_beside_a_gate_of_someone_else_is_found(stream: Stream) -> None:
    stream.pod("a", at="n1", gates=(GATE, "other"))
    stream.pass_time(5)
    stream.pod("a", at="n1", gates=("other",))
    assert stream.rules == ["I4"]


def test_a_gate_of_someone_else_that_went_with_ours_is_found(stream: Stream) -> None:
    stream.pod("a", at="n1", gates=(GATE, "other"))
    stream.pass_time(5)
    stream.pod("a", at="n1", gates=())
    assert stream.rules == ["I4"]


def test_a_finalizer_of_ours_is_found_on_any_object(stream: Stream) -> None:
    metadata = {"name": "j", "namespace": "default", "uid": "j", "finalizers": ["scheduling.ganglift.dev/x"]}
    stream.show("jobs.batch", {"metadata": metadata, "spec": {}})
    assert stream.rules == ["I7"]


def lifted(stream: Stream) -> None:
    for name, node in (("a", "n1"), ("b", "n2")):
        stream.pod(name, gates=(), at=node)
    stream.pod("a", gates=(), on="n1")


def test_a_gang_that_stays_loose_past_its_timeout_is_found(stream: Stream) -> None:
    lifted(stream)
    stream.pass_time(66)
    assert stream.auditor.findings == []
    stream.pass_time(2)
    assert stream.rules == ["I2"]


def test_it_is_not_where_the_status_says_that_nobody_can_help(stream: Stream) -> None:
    lifted(stream)
    stream.group(reason="Stuck")
    stream.pass_time(600)
    assert stream.auditor.findings == []


def test_a_gang_that_was_taken_back_is_as_it_should_be(stream: Stream) -> None:
    lifted(stream)
    stream.pass_time(60)
    for name in "ab":
        stream.show("pods", stream.objects[name], "DELETED")
    stream.pass_time(600)
    assert stream.auditor.findings == []


def test_what_happens_while_no_operator_is_at_work_is_nobodys_fault(stream: Stream) -> None:
    lifted(stream)
    stream.auditor.attended_since = stream.now + 300
    stream.pass_time(300)
    assert stream.auditor.findings == []


def test_a_status_that_does_not_tell_is_found(stream: Stream) -> None:
    stream.group(reason="Unschedulable")
    lifted(stream)
    stream.pass_time(10)
    assert stream.rules == ["I2"]


def test_a_gang_that_was_whole_may_lack_a_bound_member(stream: Stream) -> None:
    lifted(stream)
    stream.pod("b", gates=(), on="n2")
    stream.pass_time(1)
    stream.show("pods", stream.objects["b"], "DELETED")
    stream.pass_time(600)
    assert stream.auditor.findings == []


def test_members_that_have_succeeded_are_needed_no_more(stream: Stream) -> None:
    stream.pod("b", gates=(), phase="Succeeded")
    stream.auditor.findings.clear()
    stream.pod("a", gates=(), at="n1")
    assert stream.auditor.findings == []
