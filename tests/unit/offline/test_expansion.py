"""What becomes of the objects asked for."""

from typing import Any

import pytest
from tests.builders import node, pod
from tests.kinds import batch_job, gang_job, podgroup, workload
from tests.support.files import kubectl_list, manifests, object_of, typed
from tests.unit.offline.ask import complaints, gpu_nodes, inventory_of, workers

from ganglift.api.job import BatchJob
from ganglift.api.names import GROUP_BY, GROUP_LABEL, SCHEDULING
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup, Workload
from ganglift.base.ids import Key
from ganglift.offline.inventory import Inventory

NODES = kubectl_list(*gpu_nodes(4, 4))
GANG = '{"schedulingPolicy":{"gang":{}}}'


def groups(inventory: Inventory) -> dict[str, int]:
    """minCount by name."""
    return {group.name: group.min_count for group in inventory.all(PodGroup)}


def members(inventory: Inventory, group: str) -> list[str]:
    return [pod.name for pod in inventory.all(Pod) if pod.group == Key("default", group)]


def test_job_becomes_workload_group_child_and_gated_pods() -> None:
    inventory = inventory_of(NODES, manifests(workers("train", 3)))
    assert groups(inventory) == {"train-workers": 3}
    assert inventory.count(Workload) == inventory.count(BatchJob) == 1
    assert members(inventory, "train-workers") == ["train-0", "train-1", "train-2"]
    assert all(pod.has_gate for pod in inventory.all(Pod))


def test_group_of_a_job_takes_its_hashed_name_where_the_plain_one_is_taken() -> None:
    inventory = inventory_of(NODES, manifests(podgroup("train-workers").gang(1), workers("train", 3)))
    (name,) = groups(inventory).keys() - {"train-workers"}
    assert name.startswith("train-workers-")
    assert len(members(inventory, name)) == 3


def test_workload_becomes_a_group_for_each_template() -> None:
    made = workload("serve").template("prefill", gang=2).template("decode", gang=4)
    assert groups(inventory_of(NODES, manifests(made))) == {"serve-prefill": 2, "serve-decode": 4}


def test_group_of_the_user_stands_for_its_template_whatever_the_order_of_files() -> None:
    made = workload("serve").template("prefill", gang=2)
    own = podgroup("mine").gang(7).of("serve", "prefill")
    assert groups(inventory_of(NODES, manifests(made, own))) == {"mine": 7}


def test_suspended_batch_job_with_the_annotation_is_adopted() -> None:
    job = batch_job("old").annotation(SCHEDULING, GANG).spec(parallelism=3, completions=3, suspend=True)
    inventory = inventory_of(NODES, manifests(job))
    assert groups(inventory) == {"old": 3}
    assert len(members(inventory, "old")) == 3


@pytest.mark.parametrize(
    ("asks", "words"),
    [
        ("{}", "schedulingPolicy: is missing"),
        ("null", "it can't be read: is not an object"),
        ('{"schedulingPolicy":{"gang":{}},"scheduleTimeoutSeconds":-5}', "scheduleTimeoutSeconds: -5 is less than 1"),
        ('{"schedulingPolicy":{"gang":{}},"disruptionMode":{"all":{},"single":{}}}', "disruptionMode: set exactly one"),
        (
            '{"schedulingPolicy":{"gang":{}},"schedulingConstraints":{"topology":[{"key":"zone","mode":"required"}]}}',
            "schedulingConstraints.topology[0].mode: 'required' is none of Required, Preferred",
        ),
    ],
)
def test_annotation_that_the_cluster_would_refuse_is_refused_with_its_field(asks: str, words: str) -> None:
    job = batch_job("old").annotation(SCHEDULING, asks).spec(parallelism=3, completions=3, suspend=True)
    said = complaints(lambda: inventory_of(NODES, manifests(job)))
    assert said.startswith(f"b.yaml: Job default/old: metadata.annotations[{SCHEDULING}]: {words}")
    assert "pydantic" not in said


def test_batch_job_that_can_not_be_adopted_says_why() -> None:
    job = batch_job("old").annotation(SCHEDULING, GANG).spec(suspend=False)
    words = complaints(lambda: inventory_of(NODES, manifests(job)))
    assert words.startswith(f"b.yaml: Job default/old: metadata.annotations[{SCHEDULING}]: the Job is not suspended")


def test_batch_job_whose_template_has_label_and_gate_joins_its_group() -> None:
    job = batch_job("hand").labelled("g").spec(parallelism=2, completions=2)
    inventory = inventory_of(NODES, manifests(podgroup("g").gang(2), job))
    assert members(inventory, "g") == ["hand-0", "hand-1"]


def test_pods_of_a_manifest_join_a_group_of_the_cluster() -> None:
    cluster = kubectl_list(node("n1"), podgroup("g").gang(2), pod("p-0").gang("g").gated())
    inventory = inventory_of(cluster, manifests(pod("p-1").gang("g").gated()))
    assert members(inventory, "g") == ["p-0", "p-1"]


def test_pod_of_a_manifest_that_names_its_node_runs_there() -> None:
    inventory = inventory_of(NODES, manifests(pod("other").on("gpu-0")))
    assert [pod.spec.node_name for pod in inventory.all(Pod)] == ["gpu-0"]


def test_group_that_is_split_by_a_label_becomes_its_parts() -> None:
    whole = podgroup("g").gang(1).annotation(GROUP_BY, "replica")
    pods = [pod(f"p-{i}").gang("g").gated().label("replica", value) for i, value in enumerate("aab")]
    assert groups(inventory_of(NODES, manifests(whole, *pods))) == {"g": 1, "g-a": 1, "g-b": 1}


def test_what_is_asked_for_is_younger_than_the_cluster_and_in_the_order_of_files() -> None:
    cluster = kubectl_list(node("n1"), podgroup("old").gang(1))
    inventory = inventory_of(cluster, manifests(workers("b", 1)), manifests(podgroup("a").gang(1)))
    by_age = sorted(inventory.all(PodGroup), key=lambda group: str(group.metadata.creation_timestamp))
    assert [group.name for group in by_age] == ["old", "b-workers", "a"]


def test_job_that_another_controller_manages_is_left_alone() -> None:
    inventory = inventory_of(NODES, manifests(workers("train", 3).spec(managedBy="acme.io/jobs")))
    assert groups(inventory) == {}
    assert list(inventory.notes) == ["b.yaml: Job default/train: another controller manages it, by spec.managedBy"]


# In the place of what is in the cluster


def test_job_that_waits_in_the_cluster_is_planned_anew() -> None:
    waiting = inventory_of(NODES, manifests(workers("train", 8)))
    live = kubectl_list(*gpu_nodes(4), *_as_live(waiting))
    inventory = inventory_of(live, manifests(workers("train", 2)))
    assert groups(inventory) == {"train-workers": 2}
    assert len(members(inventory, "train-workers")) == 2
    assert any("planned in the place of what waits under that name" in note for note in inventory.notes)


def test_job_that_runs_in_the_cluster_is_not_planned_anew() -> None:
    waiting = inventory_of(NODES, manifests(workers("train", 2)))
    live = _as_live(waiting)
    for one in live:
        if one["kind"] == "Pod":
            one["spec"]["nodeName"] = "gpu-0"
    words = complaints(lambda: inventory_of(kubectl_list(*gpu_nodes(4), *live), manifests(workers("train", 2))))
    assert words.startswith(
        "b.yaml: Job default/train: metadata.name: it runs in the cluster, 2 of its pods are placed"
    )


def _as_live(inventory: Inventory) -> list[dict[str, object]]:
    """What was expanded, as objects of a cluster."""
    kinds = {Pod: ("v1", "Pod"), BatchJob: ("batch/v1", "Job")}
    ours = {PodGroup: "PodGroup", Workload: "Workload"}
    found = [{"apiVersion": kinds[m][0], "kind": kinds[m][1], **one.wire()} for m in kinds for one in inventory.all(m)]
    ours_found = [
        {"apiVersion": "scheduling.ganglift.dev/v1beta1", "kind": ours[m], **one.wire()}
        for m in ours
        for one in inventory.all(m)
    ]
    uid = "asked/batch.ganglift.dev/Job/default/train"
    return [*found, *ours_found, object_of("batch.ganglift.dev/v1", "Job", "train", {}, uid=uid)]


# What is wrong


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"scheduling": {"schedulingPolicy": {}}}, "spec.scheduling.schedulingPolicy: no policy is set"),
        (
            {"scheduling": {"schedulingPolicy": {"gang": {}, "basic": {}}}},
            "spec.scheduling.schedulingPolicy: basic and gang exclude each other",
        ),
        (
            {"parallelism": 2, "scheduling": {"schedulingPolicy": {"gang": {"minCount": 3}}}},
            "spec.scheduling.schedulingPolicy.gang.minCount: minCount 3 is above parallelism 2",
        ),
        (
            {"scheduling": {"schedulingPolicy": {"gang": {"minCount": 0}}}},
            "spec.scheduling.schedulingPolicy.gang.minCount: 0 is less than 1",
        ),
        (
            {"scheduling": {"schedulingPolicy": {"gang": {"mincount": 3}}}},
            "spec.scheduling.schedulingPolicy.gang.mincount: there is no such field",
        ),
        ({"paralelism": 2}, "spec.paralelism: there is no such field"),
        ({"parallelism": "two"}, "spec.parallelism: 'two' is not a whole number"),
        ({"parallelism": 10**9}, "spec.parallelism: 1000000000 is more pods than a cluster can have"),
        ({"template": {"spec": {}}}, "spec.template.spec.containers"),
    ],
)
def test_job_that_the_api_server_would_refuse_is_refused_with_its_field(spec: dict[str, object], said: str) -> None:
    words = complaints(lambda: inventory_of(NODES, manifests(workers("train", 2).spec(**spec))))
    assert words.startswith(f"b.yaml: Job default/train: {said}")


def test_two_groups_of_one_name_are_refused_with_both_files() -> None:
    group = podgroup("g").gang(2)
    words = complaints(lambda: inventory_of(NODES, manifests(group), manifests(group)))
    assert words == "c.yaml: PodGroup default/g: there is another of that name in b.yaml"


def test_two_jobs_of_one_name_are_refused_with_both_files() -> None:
    words = complaints(lambda: inventory_of(NODES, manifests(workers("train", 2), workers("train", 3))))
    assert words == "b.yaml: Job default/train: there is another of that name in b.yaml"


def test_two_groups_of_one_name_in_different_namespaces_are_two_groups() -> None:
    group = typed(podgroup("g").gang(2))
    other = {**group, "metadata": {"name": "g", "namespace": "team-b"}}
    inventory = inventory_of(NODES, manifests(group), kubectl_list(other))
    assert {group.key for group in inventory.all(PodGroup)} == {Key("default", "g"), Key("team-b", "g")}


def test_job_whose_childs_name_is_taken_is_refused() -> None:
    cluster = kubectl_list(node("n1"), batch_job("train"))
    words = complaints(lambda: inventory_of(cluster, manifests(workers("train", 2))))
    assert words == (
        "b.yaml: Job default/train: batch/v1 Job train exists and belongs to someone else: rename one of the two"
    )


def test_label_that_names_no_group_is_refused_with_its_field() -> None:
    words = complaints(lambda: inventory_of(NODES, manifests(pod("p").gang("gone").gated())))
    assert words == (
        f"b.yaml: Pod default/p: metadata.labels[{GROUP_LABEL}]: there is no PodGroup default/gone, "
        "neither in the files nor in the cluster"
    )


def test_basic_job_is_no_gang_and_its_pods_have_no_gate() -> None:
    job = gang_job("plain").spec(parallelism=2, completions=2)
    inventory = inventory_of(NODES, manifests(job))
    assert not any(pod.has_gate for pod in inventory.all(Pod))


@pytest.mark.parametrize("asked", [podgroup("g").gang(1), workload("g"), workers("g", 1)])
def test_both_disruption_modes_are_refused_wherever_they_stand(asked: Any) -> None:
    both = {"disruptionMode": {"single": {}, "all": {}}}
    builders = {
        "PodGroupBuilder": lambda: asked.spec(**both),
        "WorkloadBuilder": lambda: asked.template("t", gang=1, **both),
        "GangJobBuilder": lambda: asked.gang(1, **both),
    }
    made = builders[type(asked).__name__]()
    assert "disruptionMode: set exactly one" in complaints(lambda: inventory_of(NODES, manifests(made)))
