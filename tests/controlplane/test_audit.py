"""The auditor that watches over these tests does see what it must not see."""

import pytest
from tests.controlplane.cluster import POD_GROUPS, PODS, Cluster, pod, pod_group
from tests.controlplane.conftest import Audits
from tests.controlplane.operator import OperatorProcess

from ganglift.api.names import GATE
from ganglift.playground.client import STRATEGIC_MERGE_PATCH


@pytest.mark.breaks("I1", reason="a script takes the gate off one member")
def test_a_script_that_lets_a_member_of_a_waiting_gang_go_is_found(
    cluster: Cluster, operator: OperatorProcess, audits: Audits
) -> None:
    cluster.add_gpu_nodes(2)
    cluster.create(POD_GROUPS, pod_group("train", 3))
    cluster.create_all(PODS, [pod(f"train-{number}", group="train") for number in range(3)])
    cluster.await_reason("train", "Unschedulable")
    assert audits.findings() == []
    without = {"spec": {"schedulingGates": [{"$patch": "delete", "name": GATE}]}}
    cluster.playground.client.patch(f"{PODS}/train-1", without, content_type=STRATEGIC_MERGE_PATCH)
    assert audits.findings() == ["I1: ('default', 'train-1') was lifted without a nomination"]
