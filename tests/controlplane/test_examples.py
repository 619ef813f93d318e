"""Every example, applied as its comment says, ends as its comment says."""

from collections.abc import Callable, Iterator

import pytest
from tests.controlplane.chart import REPOSITORY
from tests.controlplane.cluster import PODS, Cluster
from tests.controlplane.operator import OperatorProcess
from tests.support.polling import eventually

EXAMPLES = REPOSITORY / "examples"
TESTED = {"experiment-job.yaml", "experiment-pods.yaml", "training.yaml", "prefill-decode.yaml"}

Apply = Callable[[str], None]


@pytest.fixture
def apply(cluster: Cluster, operator: OperatorProcess) -> Iterator[Apply]:
    """Applies an example while the operator runs; what was applied is deleted afterwards."""
    applied = []

    def apply_example(name: str) -> None:
        applied.append(str(EXAMPLES / name))
        answer = cluster.kubectl.run("apply", "--filename", applied[-1])
        assert answer.is_ok, answer.words

    yield apply_example
    for file in applied:
        cluster.kubectl.run("delete", "--filename", file, "--ignore-not-found", "--wait=false")


def test_every_example_has_its_test_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.yaml")} == TESTED


@pytest.mark.parametrize(
    ("example", "group"), [("experiment-job.yaml", "experiment-workers"), ("experiment-pods.yaml", "experiment-pods")]
)
def test_experiment_starts_whole_with_the_fourth_gpu(cluster: Cluster, apply: Apply, example: str, group: str) -> None:
    cluster.add_gpu_nodes(3)
    apply(example)
    assert "3 of 4 members fit" in cluster.await_reason(group, "Unschedulable")["message"]
    assert cluster.bound() == {}
    cluster.add_gpu_nodes(1)
    cluster.await_bound(4, group)


def test_three_of_the_experiment_start_once_three_are_enough(cluster: Cluster, apply: Apply) -> None:
    cluster.add_gpu_nodes(3)
    apply("experiment-job.yaml")
    cluster.await_reason("experiment-workers", "Unschedulable")
    scheduling = {"spec": {"scheduling": {"schedulingPolicy": {"gang": {"minCount": 3}}}}}
    cluster.merge("/apis/batch.ganglift.dev/v1/namespaces/default/jobs/experiment", scheduling)
    cluster.await_bound(3, "experiment-workers")
    cluster.add_gpu_nodes(1)
    cluster.await_bound(4, "experiment-workers")


def test_training_starts_whole_with_the_eighth_node(cluster: Cluster, apply: Apply) -> None:
    cluster.add_gpu_nodes(7, gpus=8)
    apply("training.yaml")
    assert "7 of 8 members fit" in cluster.await_reason("training-workers", "Unschedulable")["message"]
    assert cluster.bound() == {}
    cluster.add_gpu_nodes(1, gpus=8)
    assert len(set(cluster.await_bound(8, "training-workers").values())) == 8


def test_training_workers_are_found_by_the_names_that_the_rendezvous_uses(cluster: Cluster, apply: Apply) -> None:
    cluster.add_gpu_nodes(8, gpus=8)
    apply("training.yaml")
    cluster.await_bound(8, "training-workers")
    names = {f"{pod['spec']['hostname']}.{pod['spec']['subdomain']}" for pod in cluster.pods("training-workers")}
    assert names == {f"training-{index}.training" for index in range(8)}
    service = cluster.get("/api/v1/namespaces/default/services/training")
    selected = cluster.items(f"{PODS}?labelSelector=batch.kubernetes.io/job-name%3Dtraining")
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": "training"}
    assert len(selected) == 8


def test_training_can_be_waited_for(cluster: Cluster, apply: Apply) -> None:
    cluster.add_gpu_nodes(8, gpus=8)
    apply("training.yaml")
    for name in cluster.await_bound(8, "training-workers"):
        cluster.merge(f"{PODS}/{name}", {"metadata": {"annotations": {"playground.ganglift.dev/run-seconds": "0"}}})
    answer = cluster.kubectl.run("wait", "gjob/training", "--for=condition=Complete", "--timeout=25s")
    assert answer.is_ok, answer.words


def test_prefill_and_decode_both_start_on_six_gpus_and_the_fifth_decoder_with_the_seventh(
    cluster: Cluster, apply: Apply
) -> None:
    cluster.add_gpu_nodes(6)
    apply("prefill-decode.yaml")
    cluster.await_bound(2, "serving-prefill")
    cluster.await_bound(4, "serving-decode")
    cluster.add_gpu_nodes(1)
    cluster.await_bound(5, "serving-decode")


def test_one_of_prefill_and_decode_starts_whole_on_four_gpus_and_the_other_not_at_all(
    cluster: Cluster, apply: Apply
) -> None:
    cluster.add_gpu_nodes(4)
    apply("prefill-decode.yaml")
    eventually(
        lambda: {cluster.condition(f"serving-{stage}").get("reason") for stage in ("prefill", "decode")},
        lambda reasons: reasons == {"Scheduled", "Unschedulable"},
        within_s=20,
    )
    counts = len(cluster.bound("serving-prefill")), len(cluster.bound("serving-decode"))
    assert counts in {(2, 0), (0, 4)}
