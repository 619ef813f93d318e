"""What is asked for and no node has is said with the place where it was written."""

from typing import Any

from tests.builders import RACK, ZONE, node, pod
from tests.kinds import podgroup, workload
from tests.support.files import kubectl_list, manifests, object_of
from tests.unit.offline.ask import inventory_of, workers

from ganglift.offline.inventory import Inventory
from ganglift.offline.storing import snapshot_bytes

NODES = kubectl_list(node("n1").gpus(2).label(ZONE, "a").label("team/rack", "r"))
ON_RACK = {"schedulingConstraints": {"topology": [{"key": ZONE}, {"key": RACK}]}}


def notes(*things: Any, cluster: bytes = NODES) -> list[str]:
    return list(inventory_of(cluster, manifests(*things)).notes)


def job_asking(**requests: Any) -> Any:
    return workers("j", 1).template(containers=[{"name": "a"}, {"name": "b", "resources": {"limits": requests}}])


def test_resource_that_no_node_offers_is_named_with_its_field_and_the_one_that_may_be_meant() -> None:
    assert notes(job_asking(**{"nvidia.com/gpus": 1})) == [
        "b.yaml: Job default/j: spec.template.spec.containers[1].resources: no node offers nvidia.com/gpus: "
        "is nvidia.com/gpu meant?"
    ]


def test_resource_that_is_like_no_other_is_named_alone() -> None:
    (note,) = notes(job_asking(**{"acme.io/npu": 1}))
    assert note.endswith("spec.template.spec.containers[1].resources: no node offers acme.io/npu")


def test_resource_that_a_device_class_serves_is_offered() -> None:
    served = object_of("resource.k8s.io/v1", "DeviceClass", "npu", {"extendedResourceName": "acme.io/npu"}, uid="u")
    cluster = kubectl_list(node("n1"), served)
    assert notes(job_asking(**{"acme.io/npu": 1}), cluster=cluster) == []


def test_members_that_ask_for_nothing_are_named_with_their_field() -> None:
    assert notes(workers("j", 1).template(containers=[{"name": "a"}])) == [
        "b.yaml: Job default/j: spec.template.spec.containers: nothing is requested, so any node with a free pod slot "
        "will do"
    ]


def test_topology_key_that_no_node_has_is_named_with_its_field_in_every_kind_of_ours() -> None:
    label = f"schedulingConstraints.topology[1].key: no node has the label {RACK}"
    assert notes(workers("j", 1).gang(**ON_RACK)) == [f"b.yaml: Job default/j: spec.scheduling.{label}"]
    assert notes(podgroup("g").gang(1).spec(**ON_RACK)) == [f"b.yaml: PodGroup default/g: spec.{label}"]
    assert notes(workload("w").template("a", gang=1, **ON_RACK)) == [
        f"b.yaml: Workload default/w: spec.podGroupTemplates[0].{label}"
    ]


def test_spread_over_a_label_that_no_node_has_is_named_with_its_field() -> None:
    spread = pod("p").gang("g").gated().gpu(1).spread("team/racks")
    assert notes(podgroup("g").gang(1), spread) == [
        "b.yaml: Pod default/p: spec.topologySpreadConstraints[0].topologyKey: no node has the label team/racks: "
        "is team/rack meant?"
    ]


def test_nothing_is_said_of_a_cluster_without_nodes() -> None:

    assert notes(workers("j", 1).gang(**ON_RACK), cluster=snapshot_bytes(Inventory())) == []
