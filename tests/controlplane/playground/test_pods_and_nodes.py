"""Real components place pods, and the fake kubelets behave."""

import time
from pathlib import Path

import pytest
from tests.controlplane.playground.looks import ANNOTATION, JOBS, PODS, assert_stays, await_phase, create_pod, pod, pods
from tests.support.kubectl import Kubectl
from tests.support.polling import eventually

from ganglift.playground import Component, Playground, PlaygroundError, PlaygroundOptions

CRDS = Path(__file__).parents[3] / "crds"
NATIVE_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
_CONTAINER = {"name": "c", "image": "none", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
NATIVE_GANG = {
    "metadata": {"name": "gang"},
    "spec": {
        "parallelism": 2,
        "completions": 2,
        "completionMode": "Indexed",
        "scheduling": {"schedulingPolicy": {"gang": {}}},
        "template": {"spec": {"restartPolicy": "Never", "containers": [_CONTAINER]}},
    },
}


def test_its_nodes_are_ready_and_have_gpus(playground: Playground) -> None:
    nodes = playground.client.get("/api/v1/nodes")["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["gpu-0", "gpu-1"]
    assert [node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes] == ["2", "2"]
    assert playground.status().usable_nodes == 2


def test_it_is_the_version_asked_for(playground: Playground) -> None:
    assert playground.client.get("/version")["gitVersion"] == f"v{playground.options.version}"


def test_a_pod_is_scheduled_and_runs(playground: Playground) -> None:
    create_pod(playground, gpus=2)
    found = await_phase(playground, "Running")
    assert found["spec"]["nodeName"] in {"gpu-0", "gpu-1"}
    assert {each["type"]: each["status"] for each in found["status"]["conditions"]}["Ready"] == "True"


def test_a_pod_that_fits_nowhere_waits(playground: Playground) -> None:
    create_pod(playground, gpus=3)
    found = eventually(lambda: pod(playground), lambda pod: "conditions" in pod["status"], within_s=20)
    assert found["status"]["conditions"][0]["reason"] == "Unschedulable"


def test_a_node_that_joins_becomes_usable_and_takes_what_waited(playground: Playground) -> None:
    create_pod(playground, gpus=3)
    try:
        playground.add_node("big", gpus=4, labels={"rack": "r1"}, taints=["a=b:PreferNoSchedule"])
        assert await_phase(playground, "Running")["spec"]["nodeName"] == "big"
    finally:
        playground.delete_node("big")


def test_more_nodes_are_named_on(playground: Playground) -> None:
    added = playground.add_nodes(2)
    for name in added:
        playground.delete_node(name)
    assert added == ["gpu-2", "gpu-3"]


def test_a_jobs_pods_are_made_and_its_success_is_counted(playground: Playground) -> None:
    template = {
        "metadata": {"annotations": {f"{ANNOTATION}run-seconds": "0"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]},
    }
    playground.client.post(
        JOBS, {"metadata": {"name": "j"}, "spec": {"parallelism": 2, "completions": 2, "template": template}}
    )
    status = eventually(
        lambda: playground.client.get(f"{JOBS}/j")["status"], lambda status: status.get("succeeded") == 2, within_s=30
    )
    playground.client.delete(f"{JOBS}/j?propagationPolicy=Background")
    assert status.get("failed", 0) == 0


def test_a_pod_ends_after_the_time_it_names(playground: Playground) -> None:
    create_pod(playground, run_seconds="0.5")
    found = await_phase(playground, "Succeeded")
    assert found["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_a_pod_fails_with_the_exit_code_it_names(playground: Playground) -> None:
    create_pod(playground, run_seconds="0", exit_code="42")
    found = await_phase(playground, "Failed")
    assert found["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 42


def test_a_running_pod_can_be_told_to_end(playground: Playground) -> None:
    create_pod(playground)
    await_phase(playground, "Running")
    playground.client.patch(f"{PODS}/a", {"metadata": {"annotations": {f"{ANNOTATION}run-seconds": "0"}}})
    await_phase(playground, "Succeeded")


def test_a_deleted_pod_goes_at_once_when_it_does_not_resist(playground: Playground) -> None:
    create_pod(playground)
    await_phase(playground, "Running")
    playground.client.delete(f"{PODS}/a?gracePeriodSeconds=600")
    eventually(lambda: pods(playground), lambda pods: not pods, within_s=10)


def test_a_pod_that_is_slow_to_stop_holds_its_place_until_its_grace_is_over(playground: Playground) -> None:
    create_pod(playground, gpus=2, stop_seconds="600")
    node = await_phase(playground, "Running")["spec"]["nodeName"]
    playground.client.delete(f"{PODS}/a")  # grace: 2 s
    assert_stays(lambda: pod(playground)["spec"].get("nodeName"), for_s=0.5)
    assert pod(playground)["spec"]["nodeName"] == node
    eventually(lambda: pods(playground), lambda pods: not pods, within_s=10)


def test_a_node_whose_kubelet_falls_silent_is_not_ready_until_it_is_back(playground: Playground) -> None:
    playground.stop_kubelet("gpu-1")
    eventually(lambda: playground.status().usable_nodes, lambda usable: usable == 1, within_s=10)
    playground.start_kubelet("gpu-1")
    assert playground.status().usable_nodes == 2


def test_another_process_can_attach_to_it(playground: Playground) -> None:
    other = Playground.attach(playground.state_dir)
    assert other.server == playground.server
    assert other.options == playground.options
    assert other.client.get("/readyz") == "ok"


def test_its_kubeconfig_works_for_kubectl(playground: Playground) -> None:
    answer = Kubectl(playground.kubeconfig).run("get", "nodes", "-o", "name")
    assert answer.words.split() == ["node/gpu-0", "node/gpu-1"]


def test_a_service_account_is_who_it_is_and_may_what_it_may(playground: Playground, tmp_path: Path) -> None:
    token = playground.token("default", "default")
    kubeconfig = playground.token_kubeconfig(tmp_path / "kubeconfig", token)
    answer = Kubectl(kubeconfig).run("get", "pods")
    assert 'User "system:serviceaccount:default:default" cannot list resource "pods"' in answer.words


def test_without_kubelets_nodes_are_ready_and_bound_pods_stay_pending(version: str) -> None:
    with Playground.start(PlaygroundOptions(version=version, nodes=2, kubelets=False)) as playground:
        assert playground.status().usable_nodes == 2
        create_pod(playground)
        bound = eventually(lambda: pod(playground), lambda pod: "nodeName" in pod["spec"], within_s=20)
        assert bound["status"]["phase"] == "Pending"
        playground.add_node("late")
        assert playground.status().usable_nodes == 3
        with pytest.raises(PlaygroundError, match="has no kwok"):
            playground.start_component(Component.KWOK)


def test_native_gang_scheduling_is_on_in_all_three_components(newest: str) -> None:
    options = PlaygroundOptions(version=newest, nodes=1, gpus=1, native_gang_scheduling=True)
    with Playground.start(options) as playground:
        made = playground.client.post(JOBS, NATIVE_GANG)
        assert made["spec"]["scheduling"] == {"schedulingPolicy": {"gang": {}}}  # else the API server dropped it
        conditions = eventually(
            lambda: [
                condition
                for group in playground.client.get(NATIVE_GROUPS)["items"]  # made by the controller-manager
                for condition in group.get("status", {}).get("conditions", [])  # written by the scheduler
            ],
            bool,
            within_s=30,
        )
        assert conditions[0]["reason"] == "Unschedulable"


def test_custom_resources_are_served_from_the_start(version: str) -> None:
    with Playground.start(PlaygroundOptions(version=version, crds=(CRDS,))) as playground:
        assert playground.client.get("/apis/scheduling.ganglift.dev/v1beta1/podgroups")["items"] == []


def test_a_thousand_nodes_are_up_within_a_minute(version: str) -> None:
    with Playground.start(PlaygroundOptions(version=version)) as playground:
        began = time.monotonic()
        assert len(playground.add_nodes(1000)) == 1000
        assert time.monotonic() - began < 60
        assert playground.status().usable_nodes == 1000
