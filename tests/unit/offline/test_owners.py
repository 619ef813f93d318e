"""How many pods an owner makes, what they are called and what they bear."""

from typing import Any

import pytest
from tests.builders import node
from tests.kinds import podgroup
from tests.support.files import kubectl_list, manifests, object_of
from tests.unit.offline.ask import complaints, inventory_of

from ganglift.api.names import GATE, GROUP_LABEL
from ganglift.api.pod import Pod
from ganglift.offline.inventory import Inventory

Object = dict[str, Any]

TEMPLATE: Object = {
    "metadata": {"labels": {GROUP_LABEL: "g", "app": "web"}},
    "spec": {"schedulingGates": [{"name": GATE}], "containers": [{"name": "main"}]},
}
LWS = "leaderworkerset.sigs.k8s.io"


def inventory_with(owner: Object) -> Inventory:
    return inventory_of(kubectl_list(node("n1")), manifests(podgroup("g").gang(1), owner))


def pods_of(owner: Object) -> list[Pod]:
    return list(inventory_with(owner).all(Pod))


def names_of(owner: Object) -> list[str]:
    return [pod.name for pod in pods_of(owner)]


def deployment(**spec: Any) -> Object:
    return object_of("apps/v1", "Deployment", "web", {"template": TEMPLATE} | spec)


def stateful_set(**spec: Any) -> Object:
    return object_of("apps/v1", "StatefulSet", "web", {"template": TEMPLATE} | spec)


def leader_worker_set(both: Object | None = None, **spec: Any) -> Object:
    inner = {"size": 3, "workerTemplate": TEMPLATE} | (both or {})
    return object_of("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "lws", {"leaderWorkerTemplate": inner} | spec)


def job_set(*jobs: Object, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    made = object_of("jobset.x-k8s.io/v1alpha2", "JobSet", "js", {"replicatedJobs": list(jobs)} | spec)
    made["metadata"]["annotations"] = annotations or {}
    return made


def replicated(name: str, replicas: int, parallelism: int) -> Object:
    template = {"spec": {"parallelism": parallelism, "completions": parallelism, "template": TEMPLATE}}
    return {"name": name, "replicas": replicas, "template": template}


def batch_job(**spec: Any) -> Object:
    return object_of("batch/v1", "Job", "work", {"template": TEMPLATE} | spec)


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (deployment(), ["web-0"]),
        (deployment(replicas=3), ["web-0", "web-1", "web-2"]),
        (deployment(replicas=0), []),
        (object_of("apps/v1", "ReplicaSet", "rs", {"replicas": 2, "template": TEMPLATE}), ["rs-0", "rs-1"]),
        (stateful_set(replicas=2, podManagementPolicy="Parallel"), ["web-0", "web-1"]),
        (stateful_set(replicas=2, podManagementPolicy="Parallel", ordinals={"start": 5}), ["web-5", "web-6"]),
        (stateful_set(replicas=3), ["web-0"]),
        (leader_worker_set(replicas=2), ["lws-0", "lws-1", "lws-0-1", "lws-0-2", "lws-1-1", "lws-1-2"]),
        (leader_worker_set(replicas=2, startupPolicy="LeaderReady"), ["lws-0", "lws-1"]),
        (job_set(replicated("a", 2, 2)), ["js-a-0-0", "js-a-0-1", "js-a-1-0", "js-a-1-1"]),
        (
            job_set(replicated("a", 1, 1), replicated("b", 1, 1), startupPolicy={"startupPolicyOrder": "InOrder"}),
            ["js-a-0-0"],
        ),
        (
            job_set(replicated("a", 2, 3), annotations={"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}),
            ["js-a-0-0", "js-a-1-0"],
        ),
        (job_set(replicated("a", 2, 2), suspend=True), []),
        (batch_job(parallelism=3), ["work-0", "work-1", "work-2"]),
        (batch_job(parallelism=3, completions=2), ["work-0", "work-1"]),
        (batch_job(parallelism=3, suspend=True), []),
    ],
)
def test_owner_makes_these_pods(owner: Object, names: list[str]) -> None:
    assert names_of(owner) == names


def test_pods_bear_what_the_template_says_and_belong_to_their_controller() -> None:
    (pod,) = pods_of(deployment())
    assert pod.metadata.labels["app"] == "web"
    assert pod.has_gate
    assert pod.controller is not None
    assert pod.controller.kind == "ReplicaSet"


@pytest.mark.parametrize(
    ("owner", "labels"),
    [
        (deployment(), {"pod-template-hash": "planned"}),
        (
            stateful_set(),
            {"statefulset.kubernetes.io/pod-name": "web-0", "apps.kubernetes.io/pod-index": "0"},
        ),
        (leader_worker_set(), {f"{LWS}/name": "lws", f"{LWS}/group-index": "0", f"{LWS}/worker-index": "0"}),
        (batch_job(), {"batch.kubernetes.io/job-name": "work", "job-name": "work"}),
        (
            batch_job(completionMode="Indexed", completions=1),
            {"batch.kubernetes.io/job-completion-index": "0"},
        ),
        (
            job_set(replicated("a", 1, 1)),
            {"jobset.sigs.k8s.io/jobset-name": "js", "jobset.sigs.k8s.io/job-index": "0", "job-name": "js-a-0"},
        ),
    ],
)
def test_pods_bear_the_labels_that_their_controller_adds(owner: Object, labels: dict[str, str]) -> None:
    assert labels.items() <= pods_of(owner)[0].metadata.labels.items()


def test_leader_has_a_template_of_its_own_where_there_is_one() -> None:
    leader = {"metadata": TEMPLATE["metadata"], "spec": TEMPLATE["spec"] | {"nodeSelector": {"lead": "yes"}}}
    pods = pods_of(leader_worker_set({"leaderTemplate": leader}))
    assert [bool(pod.spec.node_selector) for pod in pods] == [True, False, False]


def test_pods_of_a_stateful_set_have_claims_of_their_own() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    owner = stateful_set(replicas=2, podManagementPolicy="Parallel", volumeClaimTemplates=[claim])
    claims = [pod.spec.volumes[0].persistent_volume_claim for pod in pods_of(owner)]
    assert [claim.claim_name for claim in claims if claim is not None] == ["data-web-0", "data-web-1"]


def test_cron_job_is_taken_as_its_next_run() -> None:
    run = {"spec": {"parallelism": 2, "template": TEMPLATE}}
    owner = object_of("batch/v1", "CronJob", "nightly", {"schedule": "0 0 * * *", "jobTemplate": run})
    assert names_of(owner) == ["nightly-next-0", "nightly-next-1"]


def test_template_without_the_label_is_no_gang_and_said_to_be_none() -> None:
    plain = {"spec": {"containers": [{"name": "main"}]}}
    inventory = inventory_with(deployment(template=plain))
    assert not list(inventory.all(Pod))
    assert list(inventory.notes) == [
        f"b.yaml: Deployment default/web: no gang, there is no label {GROUP_LABEL} in spec.template.metadata.labels"
    ]


def test_template_without_the_gate_is_planned_with_it_and_said_to_lack_it() -> None:
    ungated = {"metadata": TEMPLATE["metadata"], "spec": {"containers": [{"name": "main"}]}}
    inventory = inventory_with(deployment(template=ungated))
    (pod,) = inventory.all(Pod)
    assert pod.has_gate
    assert any(f"the gate {GATE} is missing" in note for note in inventory.notes)


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        (deployment(replicas=-1), "spec.replicas: -1 is below 0"),
        (deployment(replicas="3"), "spec.replicas: '3' is not a whole number"),
        (deployment(replicas=2_000_000_000), "spec.replicas: 2000000000 is more pods than a cluster can have"),
        (object_of("apps/v1", "Deployment", "web", {"replicas": 1}), "spec.template: is missing"),
        (deployment(template={"metadata": [], "spec": {}}), "spec.template.metadata: is not an object"),
        (deployment(template={"metadata": TEMPLATE["metadata"]}), "spec.template.spec.containers: a pod needs"),
        (stateful_set(ordinals=3), "spec.ordinals: is not an object"),
        (stateful_set(volumeClaimTemplates=True), "spec.volumeClaimTemplates: is not a list"),
        (stateful_set(volumeClaimTemplates=["data"]), "spec.volumeClaimTemplates[0].metadata: is missing"),
        (leader_worker_set({"size": 100_000}, replicas=100_000), "spec.replicas: 10000000000 is more pods"),
        (job_set({"replicas": 2}), "spec.replicatedJobs[0].name: is missing"),
        (job_set(replicated("a", 100_000, 100_000)), "spec.replicatedJobs[0].replicas: 10000000000 is more pods"),
        (batch_job(parallelism=10**9), "spec.parallelism: 1000000000 is more pods"),
        (batch_job(parallelism="many"), "spec.parallelism: is not a whole number"),
        (object_of("batch/v1", "CronJob", "c", {"schedule": "x"}), "spec.jobTemplate: is missing or not"),
        (
            object_of("batch/v1", "CronJob", "c", {"jobTemplate": {"spec": {"parallelism": []}}}),
            "spec.jobTemplate.spec.parallelism: is not a whole number",
        ),
    ],
)
def test_owner_that_can_not_be_followed_is_refused_with_its_field(owner: Object, said: str) -> None:
    place = f"b.yaml: {owner['kind']} default/{owner['metadata']['name']}"
    assert complaints(lambda: inventory_with(owner)).startswith(f"{place}: {said}")
