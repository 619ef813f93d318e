"""Reports from the field about gates: who may take which off, when, and what is left. Named after their ids."""

from __future__ import annotations

import asyncio

from tests.fakes.apiserver import Refuse, on
from tests.fakes.apiserver.refusals import Refusal
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import job, node, pod, podgroup, pods

from ganglift.kube.resources import PODS

GATE = "scheduling.ganglift.dev/gang"
DENIED = Refusal(422, "Invalid", "ValidatingAdmissionPolicy 'freeze' denied request: bad context", details={})


async def test_g1_a_refused_member_leaves_none_of_the_others_let_go(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    operator = cluster.operator()
    cluster.core.faults.add(on("patch", PODS, name="g-1"), Refuse(DENIED), times=None)
    templates = [pod(f"g-{number}", "g", hostname=f"h{number}") for number in range(3)]
    cluster.add(podgroup("g", 3), *templates)
    await asyncio.sleep(60)
    assert cluster.count("g", gated=True) == 3
    assert cluster.condition("g")["status"] == "False"
    assert any("bad context" in message for _, _, message in operator.announcer.said)


async def test_g2_a_lift_says_nothing_but_the_pods_uid_our_gate_and_when(cluster: FakeCluster) -> None:
    cluster.nodes(2)
    cluster.operator()
    cluster.add(podgroup("g", 2), *pods("g", 2))
    await cluster.until(lambda: cluster.bound("g") == 2)
    uids = {one["metadata"]["name"]: one["metadata"]["uid"] for one in cluster.pods("g")}
    lifts = [seen for seen in cluster.core.writes if seen.resource == PODS and not seen.subresource]
    assert [seen.verb for seen in lifts] == ["patch", "patch"]
    for seen in lifts:
        assert seen.body["metadata"].keys() == {"uid", "annotations"}
        assert seen.body["metadata"]["uid"] == uids[seen.name]
        assert seen.body["metadata"]["annotations"].keys() == {"scheduling.ganglift.dev/lifted-at"}
        assert seen.body["spec"] == {"schedulingGates": [{"$patch": "delete", "name": GATE}]}


async def test_g5_the_gate_of_another_owner_is_never_taken_off(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add(podgroup("g", 2), *pods("g", 2), pod("g-2", "g", gates=["kueue.x-k8s.io/admission"]))
    await cluster.until(lambda: cluster.bound("g") == 2)
    both = [{"name": GATE}, {"name": "kueue.x-k8s.io/admission"}]
    await cluster.stays(lambda: (cluster.get(PODS, "g-2") or {})["spec"]["schedulingGates"] == both, for_s=60)


async def test_g10_slices_that_do_not_divide_leave_nobody_out(cluster: FakeCluster) -> None:
    cluster.add(*(node(f"x{number}", rack="x") for number in range(3)), node("y0", rack="y"))
    cluster.operator()
    topology = {"topology": [{"key": "rack", "mode": "Required", "slices": 2}]}
    cluster.add(podgroup("g", 5, schedulingConstraints=topology), *pods("g", 5))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    assert cluster.count("g", gated=True) == 5
    cluster.add(node("y1", rack="y"))
    await cluster.until(lambda: cluster.bound("g") == 5, within_s=3)
    await cluster.until(lambda: cluster.reason("g") == "Scheduled", within_s=2)
    assert cluster.status("g")["scheduled"] == 5


async def test_g12_members_beyond_need_follow_when_room_comes_and_not_before(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add(podgroup("g", 3), *pods("g", 5))
    await cluster.until(lambda: cluster.bound("g") == 3)
    await cluster.stays(lambda: cluster.count("g", gated=True) == 2, for_s=30)
    cluster.nodes(2, first=4)
    await cluster.until(lambda: cluster.bound("g") == 5, within_s=2)


async def test_g13_gates_taken_off_by_hand_after_the_operator_is_gone_set_all_pods_free(cluster: FakeCluster) -> None:
    cluster.nodes(1, gpus=50)
    operator = cluster.operator()
    cluster.add(podgroup("g", 51), *pods("g", 50))
    await cluster.until(lambda: cluster.reason("g") == "WaitingForMembers")
    await operator.stop()
    for one in cluster.pods("g"):
        cluster.edit(PODS, one["metadata"]["name"], {"spec": {"schedulingGates": None}})
    cluster.auditor.findings.clear()  # people removed the gates
    await cluster.until(lambda: cluster.bound("g") == 50, within_s=5)


async def test_g12_of_a_job_too(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add(job("train", 5, gang={"minCount": 3}))
    await cluster.until(lambda: cluster.bound("train-workers") == 3)
    await cluster.stays(lambda: cluster.count("train-workers", gated=True) == 2, for_s=30)
    cluster.nodes(2, first=4)
    await cluster.until(lambda: cluster.bound("train-workers") == 5, within_s=2)
