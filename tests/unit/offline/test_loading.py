"""What exists and what is asked for, and what is wrong with either, by file and field."""

import pytest
from tests.builders import PodBuilder, node, pod
from tests.kinds import batch_job, gang_job, podgroup
from tests.support.files import kubectl_list, manifests, object_of, typed
from tests.unit.offline.ask import complaints, named

from ganglift.api.job import BatchJob
from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.offline.inventory import Inventory
from ganglift.offline.loading import load


def loaded(*files: bytes) -> Inventory:
    return load(named(*files))


def asked(inventory: Inventory) -> list[str]:
    return [f"{one.kind} {one.key}" for one in inventory.asked]


def test_what_bears_a_uid_beside_nodes_exists() -> None:
    inventory = loaded(kubectl_list(node("n1"), pod("a").on("n1"), podgroup("g").gang(2), batch_job("j")))
    assert [inventory.count(model) for model in (Node, Pod, PodGroup, BatchJob)] == [1, 1, 1, 1]
    assert asked(inventory) == []


def test_what_has_no_uid_is_asked_for_also_beside_nodes() -> None:
    inventory = loaded(manifests(node("n1"), podgroup("g").gang(1), pod("a").gang("g").gated()))
    assert inventory.count(Node) == 1
    assert asked(inventory) == ["PodGroup default/g", "Pod default/a"]


def test_groups_and_jobs_of_a_file_without_nodes_are_asked_for_even_with_a_uid() -> None:
    inventory = loaded(kubectl_list(node("n1")), kubectl_list(podgroup("g").gang(1), gang_job("j")))
    assert asked(inventory) == ["PodGroup default/g", "Job default/j"]


def test_pods_may_be_in_another_file_than_nodes() -> None:
    inventory = loaded(kubectl_list(pod("a").on("n1")), kubectl_list(node("n1")))
    assert inventory.count(Pod) == 1
    assert inventory.shows_cluster


def test_manifests_alone_show_no_cluster() -> None:
    assert not loaded(manifests(podgroup("g").gang(1))).shows_cluster


def test_objects_without_a_namespace_are_of_the_one_given() -> None:
    job = object_of("batch.ganglift.dev/v1", "Job", "j", {"template": {}})
    inventory = load([("job.yaml", manifests(job))], "team-a")
    assert asked(inventory) == ["Job team-a/j"]


def test_the_same_object_may_come_twice() -> None:
    inventory = loaded(kubectl_list(node("n1"), pod("a")), kubectl_list(pod("a")))
    assert inventory.count(Pod) == 1


def test_what_is_no_matter_of_planning_is_named() -> None:
    inventory = loaded(manifests(object_of("v1", "Service", "web", {"ports": []})))
    assert list(inventory.notes) == ["a.yaml: Service web: no matter of planning"]


def test_kinds_of_kubernetes_own_gang_scheduling_are_told_from_ours() -> None:
    native = object_of("scheduling.k8s.io/v1beta1", "PodGroup", "g", {"schedulingPolicy": {"basic": {}}})
    (note,) = loaded(manifests(native)).notes
    assert note.startswith("a.yaml: PodGroup g: PodGroup of scheduling.k8s.io/v1beta1 is Kubernetes' own")


def test_objects_of_a_cluster_that_mean_nothing_are_passed_over_in_silence() -> None:
    service = object_of("v1", "Service", "web", {"ports": []}, uid="u")
    assert not loaded(kubectl_list(node("n1"), service)).notes


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (pod("p").asks(cpu="-1"), "Pod default/p: spec.containers[0].resources.requests[cpu]: -1 is negative"),
        (pod("p").asks(memory="lots"), "spec.containers[0].resources.requests[memory]: 'lots' is not a quantity"),
        (pod("p").asks(memory="9999Ei"), "requests[memory]: 9999Ei is more than any node can have"),
        (pod("p").asks(cpu="1e999"), "requests[cpu]: '1e999' is not a quantity"),
        (pod("p").resource("nvidia.com/gpu", "0.5"), "0.5 is not a whole number, which nvidia.com/gpu is counted in"),
        (pod("p").init("i", cpu="-2"), "spec.initContainers[0].resources.requests[cpu]: -2 is negative"),
        (pod("p").overhead(cpu="-2"), "spec.overhead[cpu]: -2 is negative"),
        (node("n").offers(cpu="-4"), "Node n: status.allocatable[cpu]: -4 is negative"),
        (node("n").gpus(10**20), "Node n: status.allocatable[nvidia.com/gpu]: 100000000000000000000 is more than any"),
    ],
)
def test_quantity_that_no_cluster_can_have_is_named_with_its_field(broken: PodBuilder, said: str) -> None:
    words = complaints(lambda: loaded(kubectl_list(node("n1"), broken)))
    assert words.startswith("a.yaml: ")
    assert said in words


def test_field_of_a_wrong_type_is_named() -> None:
    broken = typed(node("n1"))
    broken["spec"] = {"taints": "none"}
    words = complaints(lambda: loaded(kubectl_list(broken)))
    assert words == "a.yaml: Node n1: spec.taints: is not a list"


def test_all_that_is_wrong_is_told_at_once_and_a_flood_is_cut() -> None:
    words = complaints(lambda: loaded(kubectl_list(*(node(f"n{i}").offers(cpu="-1") for i in range(30)))))
    assert words.count("is negative") == 20
    assert words.endswith("and 10 more like these")


def test_two_nodes_of_one_name_are_refused_with_both_places() -> None:
    words = complaints(
        lambda: loaded(
            kubectl_list(node("n1")), kubectl_list(node("n2"), {**typed(node("n1")), "metadata": {"name": "n1"}})
        )
    )
    assert words == "b.yaml: Node n1: there is another of that name in a.yaml: object 1"


def test_our_kinds_at_a_version_that_is_not_known_are_refused() -> None:
    group = object_of("scheduling.ganglift.dev/v1", "PodGroup", "g", {}, uid="u")
    words = complaints(lambda: loaded(kubectl_list(node("n1"), group)))
    assert words == (
        "a.yaml: object 2: apiVersion: scheduling.ganglift.dev/v1 is not known, write scheduling.ganglift.dev/v1beta1"
    )


def test_manifest_without_a_name_is_refused() -> None:
    nameless = {"apiVersion": "batch.ganglift.dev/v1", "kind": "Job", "metadata": {"generateName": "j-"}}
    words = complaints(lambda: loaded(manifests(nameless)))
    assert words.startswith("a.yaml: document 1: metadata.name: is missing: give the object a name")


def test_nomination_by_someone_else_is_told_from_ours() -> None:
    theirs, ours = (typed(pod(name).gang("g").gated().nominated("n1")) for name in ("theirs", "ours"))
    for one, manager in ((theirs, "autoscaler"), (ours, "ganglift")):
        one["metadata"]["managedFields"] = [{"manager": manager, "fieldsV1": {"f:status": {"f:nominatedNodeName": {}}}}]
    inventory = loaded(kubectl_list(node("n1"), theirs, ours))
    assert inventory.nominators == {"uid-theirs": "autoscaler"}
