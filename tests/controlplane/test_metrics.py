"""What Prometheus reads of an operator on a real control plane."""

from tests.controlplane.cluster import POD_GROUPS, PODS, Cluster, pod, pod_group
from tests.controlplane.operator import OperatorProcess
from tests.support.polling import eventually


def test_metrics_follow_a_gang_from_its_wait_to_its_start(cluster: Cluster, operator: OperatorProcess) -> None:
    cluster.add_gpu_nodes(1)
    cluster.create(POD_GROUPS, pod_group("train", 2))
    cluster.create_all(PODS, [pod(f"train-{number}", group="train") for number in range(2)])
    cluster.await_reason("train", "Unschedulable")
    assert operator.figure("ganglift_leader") == 1
    assert operator.figure('ganglift_pod_groups{policy="gang",reason="Unschedulable"}') == 1
    assert operator.figure("ganglift_queue_length") == 1
    cluster.add_gpu_nodes(1)
    cluster.await_reason("train", "Scheduled")
    eventually(lambda: operator.figure('ganglift_members{state="scheduled"}'), lambda count: count == 2, within_s=5)
    assert operator.figure("ganglift_queue_length") == 0
    assert operator.figure('ganglift_admissions_total{outcome="lifted"}') == 1
    assert operator.figure("ganglift_gathered_to_scheduled_seconds_count") == 1
    assert operator.figure('ganglift_writes_total{resource="pods/status",result="OK",verb="patch"}') >= 2
