"""A snapshot plans as the cluster does that it was taken of, and tells less about it."""

import gzip
import json
from typing import Any

from tests.builders import node, pod
from tests.kinds import batch_job, gang_job, podgroup, workload
from tests.support.files import kubectl_list, object_of, typed
from tests.unit.offline.ask import named

from ganglift.api.storage import Claim, Namespace
from ganglift.offline.inventory import Inventory
from ganglift.offline.kinds import CLUSTER_KINDS
from ganglift.offline.loading import load
from ganglift.offline.outlook import Survey
from ganglift.offline.report import report
from ganglift.offline.storing import snapshot_bytes


def loaded(data: bytes) -> Inventory:
    return load(named(data))


def foreign_pod() -> dict[str, Any]:
    one = typed(pod("w-1").gang("g").gpu(1).gated().nominated("n2"))
    fields = {"f:status": {"f:nominatedNodeName": {}}}
    one["metadata"]["managedFields"] = [{"manager": "autoscaler", "fieldsV1": fields}]
    return one


def cluster() -> bytes:
    """Something of everything that bears on a plan."""
    zone = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}}
    return kubectl_list(
        node("n1").gpus(2).label("zone", "a"),
        node("n2").gpus(1).taint("spot"),
        node("n3").gpus(4).cordoned(),
        pod("other").gpu(1).host_port(80).on("n1").condition("PodScheduled", "True"),
        pod("w-0").gang("g").gpu(1).gated().claim("data").spread("zone"),
        foreign_pod(),
        podgroup("g").gang(2).of("work", "a"),
        workload("work").template("a", gang=2),
        batch_job("child").labelled("h").child_of("mine").spec(parallelism=2),
        gang_job("mine").gang(2),
        object_of("v1", "PersistentVolumeClaim", "data", {"volumeName": "v"}, uid="u1")
        | {"status": {"phase": "Bound"}},
        object_of("v1", "PersistentVolume", "v", {"nodeAffinity": zone, "csi": {"driver": "d"}}, uid="u2"),
        object_of("storage.k8s.io/v1", "StorageClass", "fast", uid="u3", provisioner="d"),
        object_of("storage.k8s.io/v1", "CSINode", "n1", {"drivers": []}, uid="u4"),
        object_of("v1", "Namespace", "default", uid="u5"),
        object_of("scheduling.k8s.io/v1", "PriorityClass", "high", uid="u6", value=5),
    )


def told(inventory: Inventory) -> Any:
    survey = Survey(inventory)
    return report(survey, survey.outlooks.values())


def test_snapshot_is_planned_as_the_cluster_is() -> None:
    whole = loaded(cluster())
    assert told(loaded(snapshot_bytes(whole))) == told(whole)


def test_snapshot_of_a_snapshot_is_the_same() -> None:
    once = snapshot_bytes(loaded(cluster()))
    assert snapshot_bytes(loaded(once)) == once


def test_what_was_listed_and_is_not_there_is_known_not_to_exist() -> None:
    inventory = loaded(cluster())
    inventory.listed |= {kind.model for kind in CLUSTER_KINDS}
    for claim in list(inventory.all(Claim)):
        inventory.drop(claim)
    again = loaded(snapshot_bytes(inventory))
    assert {Claim, Namespace} <= again.listed
    assert "claim data does not exist" in str(told(again))


def test_cluster_without_nodes_is_a_cluster() -> None:
    assert loaded(snapshot_bytes(Inventory())).shows_cluster


def test_nomination_by_someone_else_stays_known() -> None:
    assert loaded(snapshot_bytes(loaded(cluster()))).nominators == {"uid-w-1": "autoscaler"}


def test_programs_their_settings_and_notes_are_left_out() -> None:
    secret = typed(pod("p").annotation("kubectl.kubernetes.io/last-applied-configuration", "SECRET").on("n1"))
    secret["spec"]["containers"][0] |= {
        "image": "SECRET",
        "command": ["SECRET"],
        "args": ["SECRET"],
        "env": [{"name": "TOKEN", "value": "SECRET"}],
    }
    secret["spec"]["volumes"] = [{"name": "c", "configMap": {"name": "SECRET"}}]
    template = secret["spec"] | {"serviceAccountName": "SECRET"}
    annotations = {"last-applied": "SECRET"}
    jobs = [
        gang_job("a").spec(template={"metadata": {"annotations": annotations}, "spec": template}),
        batch_job("b").labelled("g").spec(template={"metadata": {"annotations": annotations}, "spec": template}),
    ]
    data = snapshot_bytes(loaded(kubectl_list(node("n1"), secret, *jobs)))
    assert b"SECRET" not in data
    assert len(json.loads(data)["items"]) == 4


def test_snapshot_can_be_compressed() -> None:
    inventory = loaded(cluster())
    assert gzip.decompress(snapshot_bytes(inventory, compress=True)) == snapshot_bytes(inventory)
