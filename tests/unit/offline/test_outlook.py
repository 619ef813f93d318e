"""What is told of groups: whether they fit, run or wait, in the words of the operator's status."""

from typing import Any

import pytest
from tests.builders import RACK, node, pod
from tests.kinds import batch_job, podgroup
from tests.support.files import kubectl_list, manifests, object_of
from tests.unit.offline.ask import gpu_nodes, inventory_of, only_outlook, survey_of, workers

from ganglift.base.ids import Key
from ganglift.offline.inventory import Inventory
from ganglift.offline.outlook import Outlook, Result, Survey
from ganglift.offline.storing import snapshot_bytes
from ganglift.plan.queue import Policy
from ganglift.plan.verdict import DoesNotFit
from ganglift.plan.words import words_of


def nodes_of(outlook: Outlook) -> list[str]:
    return sorted(place.node for place in outlook.placements)


def test_gang_that_fits_is_given_its_nodes() -> None:
    outlook = only_outlook(kubectl_list(*gpu_nodes(2, 1)), manifests(workers("train", 3)))
    assert (outlook.result, outlook.message) == (Result.FITS, "3 of 3 members fit")
    assert nodes_of(outlook) == ["gpu-0", "gpu-0", "gpu-1"]


def test_gang_that_does_not_fit_says_why() -> None:
    outlook = only_outlook(kubectl_list(*gpu_nodes(1, 1, 1)), manifests(workers("train", 4)))
    assert (outlook.result, outlook.reason) == (Result.DOES_NOT_FIT, "Unschedulable")
    assert isinstance(outlook.verdict, DoesNotFit)
    assert outlook.message == words_of(outlook.verdict)
    assert outlook.message.startswith("3 of 4 members fit: 3 nodes: 3 fit;")


def test_members_beyond_need_are_placed_where_there_is_room() -> None:
    job = workers("train", 3).gang(2)
    outlook = only_outlook(kubectl_list(*gpu_nodes(2, 1)), manifests(job))
    assert (len(outlook.placements), len(outlook.extras)) == (2, 1)


def test_what_runs_in_the_cluster_takes_its_room() -> None:
    running = pod("other").gpu(2).on("gpu-0")
    outlook = only_outlook(kubectl_list(*gpu_nodes(2, 2), running), manifests(workers("train", 3)))
    assert outlook.message.startswith("2 of 3 members fit: 2 nodes: 1 insufficient nvidia.com/gpu; 1 fit")


def test_older_gang_of_the_cluster_comes_before_the_manifests() -> None:
    waiting = [pod(f"old-{i}").gang("old").gpu(1).gated() for i in range(2)]
    cluster = kubectl_list(*gpu_nodes(3), podgroup("old").gang(2), *waiting)
    survey = survey_of(cluster, manifests(workers("train", 2)))
    assert {key.name: outlook.result for key, outlook in survey.outlooks.items()} == {
        "old": Result.FITS,
        "train-workers": Result.DOES_NOT_FIT,
    }


def test_strict_policy_lets_nobody_pass() -> None:
    inventory = inventory_of(kubectl_list(*gpu_nodes(3)), manifests(workers("big", 4), workers("small", 2)))
    survey = Survey(inventory, Policy.STRICT)
    assert survey.outlooks[Key("default", "small-workers")].message == (
        "waits behind default/big-workers, which does not fit yet (queue policy strict)"
    )


def gated(count: int, **labels: str) -> list[Any]:
    return [pod(f"p-{i}").gang("g").gpu(1).gated() for i in range(count)]


@pytest.mark.parametrize(
    ("things", "result", "reason"),
    [
        ([podgroup("g").gang(2), *gated(1)], Result.WAITS, "WaitingForMembers"),
        ([podgroup("g").gang(1), pod("p").gang("g").gated("acme.io/quota")], Result.WAITS, "ForeignGate"),
        ([podgroup("g").gang(1), pod("p").gang("g").gated().scheduler("volcano")], Result.WAITS, "OtherScheduler"),
        ([podgroup("g").gang(1).of("gone", "a"), *gated(1)], Result.WAITS, "WorkloadMissing"),
        ([podgroup("g").gang(1), pod("p").gang("g").on("gpu-0")], Result.RUNS, "Scheduled"),
        ([podgroup("g").gang(2), pod("p").gang("g").on("gpu-0"), pod("q").gang("g")], Result.STARTS, "Settling"),
        ([podgroup("g").gang(1), pod("p").gang("g").phase("Succeeded")], Result.OVER, "Succeeded"),
        ([podgroup("g"), pod("p").gang("g")], Result.BASIC, "Basic"),
    ],
)
def test_group_that_is_not_for_the_planner_says_how_it_stands(things: list[Any], result: Result, reason: str) -> None:
    outlook = only_outlook(kubectl_list(*gpu_nodes(4), *things))
    assert (outlook.result, outlook.reason) == (result, reason)


def test_suspended_job_waits() -> None:
    outlook = only_outlook(kubectl_list(*gpu_nodes(4)), manifests(workers("train", 2).spec(suspend=True)))
    assert (outlook.result, outlook.message) == (Result.WAITS, "gjob/train has spec.suspend: true")


def test_finished_members_leave_the_need_of_a_job() -> None:
    job = batch_job("j").labelled("g").child_of("mine").spec(parallelism=2, completions=2).status(succeeded=1)
    group = podgroup("g").gang(2).status(childUID="uid-j-child")
    member = pod("p").gang("g").gpu(1).gated().owner("Job", "j", "uid-j-child")
    outlook = only_outlook(kubectl_list(*gpu_nodes(1), job, group, member))
    assert outlook.message == "1 of 1 member fits"


def test_stateful_set_that_makes_its_pods_in_order_says_what_to_change() -> None:
    limits = {"limits": {"nvidia.com/gpu": 1}}
    template = {
        "metadata": {"labels": {"scheduling.ganglift.dev/pod-group": "g"}},
        "spec": {"containers": [{"name": "a", "resources": limits}]},
    }
    owner = object_of("apps/v1", "StatefulSet", "web", {"replicas": 3, "template": template})
    outlook = only_outlook(kubectl_list(*gpu_nodes(4)), manifests(podgroup("g").gang(3), owner))
    assert outlook.message == (
        "1 of 3 pods exist; if the StatefulSet's podManagementPolicy is OrderedReady, make it anew with Parallel"
    )


def test_claims_that_are_yet_to_be_made_are_named_as_not_judged() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {}}
    template = {
        "metadata": {"labels": {"scheduling.ganglift.dev/pod-group": "g"}},
        "spec": {"containers": [{"name": "a"}]},
    }
    spec = {"podManagementPolicy": "Parallel", "template": template, "volumeClaimTemplates": [claim]}
    owner = object_of("apps/v1", "StatefulSet", "web", spec)
    storage = [
        object_of("v1", "PersistentVolumeClaim", "other", {}, uid="u1"),
        object_of("v1", "PersistentVolume", "v", {}, uid="u2"),
        object_of("storage.k8s.io/v1", "StorageClass", "fast", uid="u3"),
        object_of("storage.k8s.io/v1", "CSINode", "gpu-0", {}, uid="u4"),
    ]
    outlook = only_outlook(kubectl_list(*gpu_nodes(1), *storage), manifests(podgroup("g").gang(1), owner))
    assert outlook.message == (
        "1 of 1 member fits: not judged: volume claim data-web-0, which is bound only once its pod has a node"
    )


def test_topology_key_that_no_node_has_is_named() -> None:
    topology = {"topology": [{"key": RACK}]}
    job = workers("train", 2).gang(schedulingConstraints=topology)
    outlook = only_outlook(kubectl_list(*gpu_nodes(4)), manifests(job))
    assert f"no node has the label {RACK}" in outlook.message


def test_resource_that_no_node_offers_is_named() -> None:
    containers = [{"name": "a", "resources": {"limits": {"acme.io/npu": 1}}}]
    outlook = only_outlook(kubectl_list(node("n1")), manifests(workers("t", 1).template(containers=containers)))
    assert outlook.message.startswith("0 of 1 member fits: 1 node: 1 insufficient acme.io/npu; 0 fit")


def test_resource_of_a_node_that_nobody_knows_is_just_another_resource() -> None:
    containers = [{"name": "a", "resources": {"limits": {"acme.io/npu": 2}}}]
    cluster = kubectl_list(node("n1").resource("acme.io/npu", 2))
    assert only_outlook(cluster, manifests(workers("t", 1).template(containers=containers))).result is Result.FITS


def test_cluster_without_nodes_is_told() -> None:
    outlook = only_outlook(snapshot_bytes(Inventory()), manifests(workers("train", 1)))
    assert outlook.message.startswith("0 of 1 member fits: there are no nodes")


def test_hundred_thousand_members_that_do_not_fit_are_told_so() -> None:
    outlook = only_outlook(kubectl_list(*gpu_nodes(8)), manifests(workers("big", 100_000)))
    assert outlook.message.startswith("8 of 100000 members fit: 1 node: 1 fit")


def test_nodes_for_asking_what_if_come_from_a_file_of_their_own() -> None:
    cluster, more = kubectl_list(*gpu_nodes(1)), manifests(node("new").gpus(1))
    assert only_outlook(cluster, more, manifests(workers("train", 2))).result is Result.FITS
