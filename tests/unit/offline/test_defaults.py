"""Pods of manifests become what the API server would store."""

from typing import Any

import pytest
from tests.builders import node, pod
from tests.support.files import kubectl_list, object_of
from tests.unit.offline.ask import complaints, named

from ganglift.api.pod import Pod
from ganglift.offline.defaults import Defaults
from ganglift.offline.loading import load
from ganglift.offline.problems import Place
from ganglift.plan.requests import requests_of

PLACE = Place("a.yaml", "Job default/train")
LOST = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}


def stored(cluster: bytes = kubectl_list(node("n1")), **spec: Any) -> Pod:
    """The pod with these fields of its spec, as that cluster stores it; one container unless `containers` says more."""
    data = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main"}]} | spec}
    return Defaults(load(named(cluster))).pod(data, PLACE, "spec.template")


def container(**resources: Any) -> dict[str, Any]:
    return {"name": "main", "resources": resources}


def test_limits_are_requests_where_none_are_set() -> None:
    made = stored(containers=[container(limits={"nvidia.com/gpu": 2, "cpu": "4"}, requests={"cpu": "1"})])
    assert requests_of(made) == {"nvidia.com/gpu": 2, "cpu": 1000}


def test_limits_of_init_containers_count_as_well() -> None:
    made = stored(initContainers=[container(limits={"cpu": "3"})])
    assert requests_of(made) == {"cpu": 3000}


def test_limits_of_the_whole_pod_are_requests_where_no_container_asks() -> None:
    whole = {"limits": {"cpu": "8", "memory": "4Gi"}}
    made = stored(containers=[container(requests={"cpu": "1"})], resources=whole)
    assert requests_of(made) == {"cpu": 1000, "memory": 4 * 2**30}


def test_ports_of_a_pod_on_the_hosts_network_are_host_ports() -> None:
    made = stored(hostNetwork=True, containers=[{"name": "main", "ports": [{"containerPort": 8080}]}])
    assert made.spec.containers[0].ports[0].host_port == 8080


def test_pods_tolerate_nodes_that_were_lost_a_moment_ago() -> None:
    assert {one.key for one in stored().spec.tolerations} == LOST
    assert {one.key for one in stored(tolerations=[{"operator": "Exists"}]).spec.tolerations} == {""}


HIGH = object_of("scheduling.k8s.io/v1", "PriorityClass", "high", uid="u1", value=7, preemptionPolicy="Never")
DEFAULT = object_of("scheduling.k8s.io/v1", "PriorityClass", "normal", uid="u2", value=3, globalDefault=True)


@pytest.mark.parametrize(
    ("classes", "spec", "priority", "policy"),
    [
        ((HIGH,), {"priorityClassName": "high"}, 7, "Never"),
        ((HIGH,), {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"}, 7, "PreemptLowerPriority"),
        ((HIGH, DEFAULT), {}, 3, "PreemptLowerPriority"),
        ((HIGH,), {}, 0, "PreemptLowerPriority"),
        ((), {"priorityClassName": "system-node-critical"}, 2_000_001_000, "PreemptLowerPriority"),
    ],
)
def test_priority_class_stands_for_its_number(
    classes: tuple[Any, ...], spec: dict[str, str], priority: int, policy: str
) -> None:
    made = stored(kubectl_list(node("n1"), *classes), **spec)
    assert (made.spec.priority, made.spec.preemption_policy) == (priority, policy)


def test_priority_class_is_known_from_pods_that_have_it() -> None:
    other = pod("other").priority(9)._with("spec", "priorityClassName", value="gold").on("n1")
    assert stored(kubectl_list(node("n1"), other), priorityClassName="gold").spec.priority == 9


def test_priority_class_that_the_cluster_lacks_is_refused() -> None:
    words = complaints(lambda: stored(kubectl_list(node("n1"), HIGH), priorityClassName="low"))
    assert words == (
        "a.yaml: Job default/train: spec.template.spec.priorityClassName: the cluster has no PriorityClass low"
    )


def test_priority_class_that_is_not_known_says_how_to_make_it_known() -> None:
    words = complaints(lambda: stored(priorityClassName="low"))
    assert "PriorityClass low is not known: add it to the files" in words


def test_priority_without_a_class_is_refused() -> None:
    assert "spec.template.spec.priority: is set by the API server alone" in complaints(lambda: stored(priority=5))


KATA = object_of(
    "node.k8s.io/v1",
    "RuntimeClass",
    "kata",
    uid="u3",
    handler="kata",
    overhead={"podFixed": {"cpu": "250m"}},
    scheduling={"nodeSelector": {"kata": "yes"}, "tolerations": [{"key": "kata", "operator": "Exists"}]},
)


def test_runtime_class_brings_overhead_selector_and_tolerations() -> None:
    made = stored(kubectl_list(node("n1"), KATA), runtimeClassName="kata", nodeSelector={"a": "b"})
    assert requests_of(made) == {"cpu": 250}
    assert made.spec.node_selector == {"a": "b", "kata": "yes"}
    assert {one.key for one in made.spec.tolerations} == LOST | {"kata"}


def test_runtime_class_that_the_cluster_lacks_is_refused() -> None:
    words = complaints(lambda: stored(kubectl_list(node("n1"), KATA), runtimeClassName="gvisor"))
    assert "spec.template.spec.runtimeClassName: the cluster has no RuntimeClass gvisor" in words


def test_runtime_class_that_is_not_known_is_noted() -> None:
    inventory = load(named(kubectl_list(node("n1"))))
    spec = {"containers": [{"name": "main"}], "runtimeClassName": "kata"}
    Defaults(inventory).pod({"metadata": {"name": "p"}, "spec": spec}, PLACE, "")
    assert list(inventory.notes) == [f"{PLACE}: RuntimeClass kata is not known, its overhead is not counted"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"containers": []}, "spec.template.spec.containers: a pod needs at least one container"),
        ({"containers": "main"}, "spec.template.spec.containers: is not a list"),
        ({"containers": ["main"]}, "spec.template.spec.containers[0]: is not an object"),
        ({"nodeSelector": {"gpu": True}}, "spec.template.spec.nodeSelector.gpu: is not a text"),
        (
            {"containers": [container(requests={"cpu": "-1"})]},
            "spec.template.spec.containers[0].resources.requests[cpu]: -1 is negative",
        ),
        (
            {"containers": [container(limits={"nvidia.com/gpu": "half"})]},
            "spec.template.spec.containers[0].resources.requests[nvidia.com/gpu]: 'half' is not a quantity",
        ),
        (
            {"containers": [container(requests={"cpu": ["1"]})]},
            "spec.template.spec.containers[0].resources.requests.cpu: is not a text",
        ),
    ],
)
def test_pod_that_the_api_server_would_refuse_is_refused_with_its_field(spec: dict[str, Any], said: str) -> None:
    assert complaints(lambda: stored(**spec)).startswith(f"a.yaml: Job default/train: {said}")
