"""The playground keeps its word: real components, fake kubelets that behave, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.kubectl import Kubectl
from tests.support.polling import eventually

from ganglift.playground import (
    AlreadyRunning,
    BinariesUnavailable,
    Component,
    ComponentFailed,
    FeatureGate,
    NotAPlayground,
    Playground,
    PlaygroundError,
    PlaygroundOptions,
    kubernetes_version,
    provide,
)
from ganglift.playground import control_plane as control_plane_module
from ganglift.playground.ports import choose_ports
from ganglift.playground.state import StateDir

PODS = "/api/v1/namespaces/default/pods"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
GANGLIFT = str(Path(sys.executable).with_name("ganglift"))
CRDS = Path(__file__).parents[2] / "crds"
VERSIONS = ("1.37.2", "1.34.4")
ANNOTATION = "playground.ganglift.dev/"

# Starts a playground in the directory that its argument names, says so, and waits to be ended.
OWNER = """
import sys, time
from pathlib import Path
from ganglift.playground import Playground, PlaygroundOptions
with Playground.start(PlaygroundOptions(version=sys.argv[2], state_dir=Path(sys.argv[1]))):
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.fixture(scope="module", autouse=True, params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Each version in turn; skipped, outside CI, where there is neither a binary of it nor a Go to build it."""
    found: str = request.param
    try:
        provide(Component, kubernetes_version(found))
    except BinariesUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    return found


@pytest.fixture(scope="module")
def shared(version: str) -> Iterator[Playground]:
    with Playground.start(PlaygroundOptions(version=version, nodes=2, gpus=2)) as playground:
        yield playground


@pytest.fixture
def playground(shared: Playground) -> Iterator[Playground]:
    """Two nodes of two GPUs, everything running, no pods."""
    yield shared
    for component in shared.options.components:
        shared.start_component(component)
    for pod in _pods(shared):
        shared.client.delete(f"{PODS}/{pod}?gracePeriodSeconds=0")
    eventually(lambda: _pods(shared), lambda pods: not pods, within_s=30)


def _pods(playground: Playground) -> list[str]:
    return [pod["metadata"]["name"] for pod in playground.client.get(PODS)["items"]]


def _create_pod(playground: Playground, name: str = "a", *, gpus: int = 0, **annotations: str) -> None:
    container: dict[str, Any] = {"name": "c", "image": "none"}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    marks = {ANNOTATION + key.replace("_", "-"): value for key, value in annotations.items()}
    playground.client.post(
        PODS,
        {
            "metadata": {"name": name, "annotations": marks},
            "spec": {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 2},
        },
    )


def _pod(playground: Playground, name: str = "a") -> dict[str, Any]:
    """The pod, or an empty one when it is gone."""
    found = [pod for pod in playground.client.get(PODS)["items"] if pod["metadata"]["name"] == name]
    return found[0] if found else {"spec": {}, "status": {}}


def _await_phase(playground: Playground, phase: str, name: str = "a") -> dict[str, Any]:
    return eventually(lambda: _pod(playground, name), lambda pod: pod["status"].get("phase") == phase, within_s=20)


def _assert_stays(ask: Callable[[], object], *, for_s: float) -> None:
    """Look all the while; what is asked must not change."""
    first, deadline = ask(), time.monotonic() + for_s
    while time.monotonic() < deadline:
        assert ask() == first


def _processes_of(directory: Path) -> list[str]:
    """The command lines of all processes on this machine that name the directory."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [command for command in commands if str(directory) in command]


def _await_nothing_left(directory: Path) -> None:
    eventually(lambda: _processes_of(directory), lambda found: not found, within_s=20)
    eventually(directory.exists, lambda exists: not exists, within_s=20)


# What runs in it


def test_its_nodes_are_ready_and_have_gpus(playground: Playground) -> None:
    nodes = playground.client.get("/api/v1/nodes")["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["gpu-0", "gpu-1"]
    assert [node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes] == ["2", "2"]
    assert playground.status().usable_nodes == 2


def test_it_is_the_version_asked_for(playground: Playground) -> None:
    assert playground.client.get("/version")["gitVersion"] == f"v{playground.options.version}"


def test_a_pod_is_scheduled_and_runs(playground: Playground) -> None:
    _create_pod(playground, gpus=2)
    pod = _await_phase(playground, "Running")
    assert pod["spec"]["nodeName"] in {"gpu-0", "gpu-1"}
    assert {each["type"]: each["status"] for each in pod["status"]["conditions"]}["Ready"] == "True"


def test_a_pod_that_fits_nowhere_waits(playground: Playground) -> None:
    _create_pod(playground, gpus=3)
    pod = eventually(lambda: _pod(playground), lambda pod: "conditions" in pod["status"], within_s=20)
    assert pod["status"]["conditions"][0]["reason"] == "Unschedulable"


def test_a_node_that_joins_becomes_usable_and_takes_what_waited(playground: Playground) -> None:
    _create_pod(playground, gpus=3)
    try:
        playground.add_node("big", gpus=4, labels={"rack": "r1"}, taints=["a=b:PreferNoSchedule"])
        assert _await_phase(playground, "Running")["spec"]["nodeName"] == "big"
    finally:
        playground.delete_node("big")


def test_more_nodes_are_named_on(playground: Playground) -> None:
    added = playground.add_nodes(2)
    for name in added:
        playground.delete_node(name)
    assert added == ["gpu-2", "gpu-3"]


def test_a_jobs_pods_are_made_and_its_success_is_counted(playground: Playground) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    template = {
        "metadata": {"annotations": {f"{ANNOTATION}run-seconds": "0"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]},
    }
    playground.client.post(
        jobs, {"metadata": {"name": "j"}, "spec": {"parallelism": 2, "completions": 2, "template": template}}
    )
    status = eventually(
        lambda: playground.client.get(f"{jobs}/j")["status"], lambda status: status.get("succeeded") == 2, within_s=30
    )
    playground.client.delete(f"{jobs}/j?propagationPolicy=Background")
    assert status.get("failed", 0) == 0


# What its kubelets do


def test_a_pod_ends_after_the_time_it_names(playground: Playground) -> None:
    _create_pod(playground, run_seconds="0.5")
    pod = _await_phase(playground, "Succeeded")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_a_pod_fails_with_the_exit_code_it_names(playground: Playground) -> None:
    _create_pod(playground, run_seconds="0", exit_code="42")
    pod = _await_phase(playground, "Failed")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 42


def test_a_running_pod_can_be_told_to_end(playground: Playground) -> None:
    _create_pod(playground)
    _await_phase(playground, "Running")
    playground.client.patch(f"{PODS}/a", {"metadata": {"annotations": {f"{ANNOTATION}run-seconds": "0"}}})
    _await_phase(playground, "Succeeded")


def test_a_deleted_pod_goes_at_once_when_it_does_not_resist(playground: Playground) -> None:
    _create_pod(playground)
    _await_phase(playground, "Running")
    playground.client.delete(f"{PODS}/a?gracePeriodSeconds=600")
    eventually(lambda: _pods(playground), lambda pods: not pods, within_s=10)


def test_a_pod_that_is_slow_to_stop_holds_its_place_until_its_grace_is_over(playground: Playground) -> None:
    _create_pod(playground, gpus=2, stop_seconds="600")
    node = _await_phase(playground, "Running")["spec"]["nodeName"]
    playground.client.delete(f"{PODS}/a")  # grace: 2 s
    _assert_stays(lambda: _pod(playground)["spec"].get("nodeName"), for_s=0.5)
    assert _pod(playground)["spec"]["nodeName"] == node
    eventually(lambda: _pods(playground), lambda pods: not pods, within_s=10)


def test_a_node_whose_kubelet_falls_silent_is_not_ready_until_it_is_back(playground: Playground) -> None:
    playground.stop_kubelet("gpu-1")
    eventually(lambda: playground.status().usable_nodes, lambda usable: usable == 1, within_s=10)
    playground.start_kubelet("gpu-1")
    assert playground.status().usable_nodes == 2


# Killing and starting its parts


def test_without_its_scheduler_nothing_is_placed_and_with_a_new_one_it_is(playground: Playground) -> None:
    before = playground.client.get(LEASE)["spec"]["holderIdentity"]
    playground.kill("kube-scheduler")
    assert playground.status().components[Component.SCHEDULER] is None
    assert not playground.status().is_whole
    _create_pod(playground)
    playground.start_component("kube-scheduler")
    _await_phase(playground, "Running")
    assert playground.client.get(LEASE)["spec"]["holderIdentity"] not in {before, ""}


@pytest.mark.parametrize("component", Component)
def test_pods_run_again_soon_after_a_component_was_killed_and_started(
    playground: Playground, component: Component
) -> None:
    before = playground.status().components[component]
    playground.restart(component)
    assert playground.status().components[component] not in {before, None}
    _create_pod(playground)
    _await_phase(playground, "Running")


def test_a_component_that_died_for_want_of_the_api_server_comes_back_with_it(playground: Playground) -> None:
    playground.kill(Component.APISERVER)
    playground.signal(Component.SCHEDULER, signal.SIGKILL)  # as it would end by itself when its lease runs out
    eventually(lambda: playground.status().components[Component.SCHEDULER], lambda pid: pid is None, within_s=10)
    playground.start_component(Component.APISERVER)
    assert playground.status().is_whole


def test_an_orderly_stop_gives_up_the_lease(playground: Playground) -> None:
    playground.stop_component(Component.SCHEDULER)
    assert playground.client.get(LEASE)["spec"]["holderIdentity"] == ""


def test_a_stopped_scheduler_places_nothing_until_it_goes_on(playground: Playground) -> None:
    playground.signal(Component.SCHEDULER, signal.SIGSTOP)
    _create_pod(playground)
    _assert_stays(lambda: "nodeName" in _pod(playground)["spec"], for_s=1)
    playground.signal(Component.SCHEDULER, signal.SIGCONT)
    _await_phase(playground, "Running")


def test_a_component_that_does_not_run_cannot_be_signalled(playground: Playground) -> None:
    playground.kill(Component.KWOK)
    with pytest.raises(PlaygroundError, match="kwok does not run"):
        playground.signal(Component.KWOK, signal.SIGSTOP)


def test_a_components_log_can_be_read(playground: Playground) -> None:
    assert "Serving securely" in playground.log(Component.APISERVER)


# Who may look in


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


# Other shapes of it


def test_without_kubelets_nodes_are_ready_and_bound_pods_stay_pending(version: str) -> None:
    with Playground.start(PlaygroundOptions(version=version, nodes=2, kubelets=False)) as playground:
        assert playground.status().usable_nodes == 2
        _create_pod(playground)
        pod = eventually(lambda: _pod(playground), lambda pod: "nodeName" in pod["spec"], within_s=20)
        assert pod["status"]["phase"] == "Pending"
        playground.add_node("late")
        assert playground.status().usable_nodes == 3
        with pytest.raises(PlaygroundError, match="has no kwok"):
            playground.start_component(Component.KWOK)


def test_native_gang_scheduling_is_on_in_all_three_components(version: str) -> None:
    if version == "1.34.4":
        pytest.skip("1.34 has no native gang scheduling")
    with Playground.start(
        PlaygroundOptions(version=version, nodes=1, gpus=1, native_gang_scheduling=True)
    ) as playground:
        jobs = "/apis/batch/v1/namespaces/default/jobs"
        container = {"name": "c", "image": "none", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
        job = {
            "metadata": {"name": "gang"},
            "spec": {
                "parallelism": 2,
                "completions": 2,
                "completionMode": "Indexed",
                "scheduling": {"schedulingPolicy": {"gang": {}}},
                "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
            },
        }
        made = playground.client.post(jobs, job)
        assert made["spec"]["scheduling"] == {"schedulingPolicy": {"gang": {}}}  # else the API server dropped it
        groups = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
        conditions = eventually(
            lambda: [
                condition
                for group in playground.client.get(groups)["items"]  # made by the controller-manager
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


# How it ends


def test_nothing_is_left_of_it_when_it_is_brought_down(tmp_path: Path, version: str) -> None:
    directory = tmp_path / "playground"
    playground = Playground.start(PlaygroundOptions(version=version, state_dir=directory))
    assert len(_processes_of(directory)) >= len(Component)
    playground.down()
    assert _processes_of(directory) == []
    assert not directory.exists()
    playground.down()  # harmless


def test_logs_can_be_kept(tmp_path: Path, version: str) -> None:
    directory = tmp_path / "playground"
    Playground.start(PlaygroundOptions(version=version, state_dir=directory)).down(keep_logs=True)
    assert (directory / "logs/kube-scheduler.log").exists()
    with pytest.raises(NotAPlayground):
        Playground.attach(directory)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_of_it_when_its_owner_dies(tmp_path: Path, number: signal.Signals, version: str) -> None:
    directory = tmp_path / "playground"
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, directory, version], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"up\n"
        owner.send_signal(number)
    _await_nothing_left(directory)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_start_that_is_cut_short(tmp_path: Path, number: signal.Signals, version: str) -> None:
    directory = tmp_path / "playground"
    with subprocess.Popen([sys.executable, "-c", OWNER, directory, version], stderr=subprocess.DEVNULL) as owner:
        eventually(lambda: StateDir(directory).log(Component.APISERVER).exists(), bool, within_s=30)
        owner.send_signal(number)
    _await_nothing_left(directory)


def test_a_component_that_cannot_start_shows_why_and_leaves_nothing(tmp_path: Path, version: str) -> None:
    directory = tmp_path / "playground"
    gate = FeatureGate(Component.APISERVER, "NoSuchGate")
    with pytest.raises(ComponentFailed, match="NoSuchGate") as raised:
        Playground.start(PlaygroundOptions(version=version, feature_gates=(gate,), state_dir=directory))
    assert raised.value.component == Component.APISERVER
    assert raised.value.exit_code == 1
    _await_nothing_left(directory)


def test_a_port_that_is_taken_meanwhile_costs_a_second_try_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, playground: Playground, version: str
) -> None:
    taken = StateDir(playground.state_dir).read().ports
    offers = iter([taken])
    monkeypatch.setattr(control_plane_module, "choose_ports", lambda: next(offers, None) or choose_ports())
    with Playground.start(PlaygroundOptions(version=version, state_dir=tmp_path / "playground")) as second:
        assert second.status().is_whole
        assert second.server != playground.server


def test_a_second_one_in_the_same_place_is_refused_and_the_first_lives_on(playground: Playground) -> None:
    with pytest.raises(AlreadyRunning):
        Playground.start(PlaygroundOptions(version=playground.options.version, state_dir=playground.state_dir))
    assert playground.status().is_whole


def test_a_later_playground_in_the_same_place_is_left_alone(tmp_path: Path, version: str) -> None:
    directory = tmp_path / "playground"
    first = Playground.start(PlaygroundOptions(version=version, state_dir=directory))
    Playground.attach(directory).down()
    with Playground.start(PlaygroundOptions(version=version, state_dir=directory)) as second:
        first.down()
        assert second.status().is_whole


# The command line


def test_up_leaves_it_running_until_down(tmp_path: Path, version: str) -> None:
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [GANGLIFT, "playground", *arguments, "--name", "mine"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    directory = tmp_path / "ganglift/playground/mine"
    up = run("up", "--nodes", "1", "--kubernetes-version", version)
    try:
        assert (up.returncode, up.stdout) == (0, f"export KUBECONFIG={directory}/kubeconfig\n"), up.stderr
        assert "nodes: 1 of 1 ready" in run("status").stdout
        again = run("up")
        assert again.returncode == 1
        assert "already runs" in again.stderr
        Playground.attach(directory).kill(Component.KWOK)
        status = run("status")
        assert status.returncode == 1
        assert "has ended" in status.stdout
    finally:
        down = run("down")
    assert down.returncode == 0, down.stderr
    assert _processes_of(directory) == []
    assert not directory.exists()
