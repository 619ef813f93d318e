"""The command lines that options turn into."""

from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from ganglift.playground import commands
from ganglift.playground.options import Component, FeatureGate, PlaygroundOptions
from ganglift.playground.state import Ports, StateDir

PORTS = Ports(**{field.name: 20000 + number for number, field in enumerate(fields(Ports))})
THE_THREE = (Component.APISERVER, Component.CONTROLLER_MANAGER, Component.SCHEDULER)


def _plan(path: Path = Path("/p"), **options: object) -> commands.Plan:
    return commands.Plan("0123", PlaygroundOptions(**options), PORTS, StateDir(path))  # type: ignore[arg-type]


def _scheduler_config(tmp_path: Path, **options: object) -> dict[str, dict[str, object]]:
    plan = _plan(tmp_path, **options)
    plan.state_dir.create()
    commands.write_static_config(plan)
    config: dict[str, dict[str, object]] = yaml.safe_load((plan.state_dir.config / "scheduler.yaml").read_text())
    return config


@pytest.mark.parametrize("component", Component)
def test_nothing_listens_beyond_loopback(component: Component) -> None:
    addresses = [each for each in commands.arguments(component, _plan()) if "address=" in each or "listen" in each]
    assert addresses
    assert all("127.0.0.1" in each for each in addresses)


def test_the_scheduler_elects_a_leader_and_keeps_its_default_rates(tmp_path: Path) -> None:
    config = _scheduler_config(tmp_path)
    assert config["leaderElection"] == {"leaderElect": True}
    assert set(config["clientConnection"]) == {"kubeconfig"}


def test_the_controller_manager_keeps_its_default_rates() -> None:
    assert not [each for each in commands.arguments(Component.CONTROLLER_MANAGER, _plan()) if "qps" in each]


def test_rates_are_raised_for_both(tmp_path: Path) -> None:
    connection = _scheduler_config(tmp_path, request_rates=5000)["clientConnection"]
    assert (connection["qps"], connection["burst"]) == (5000, 10000)
    arguments = commands.arguments(Component.CONTROLLER_MANAGER, _plan(request_rates=5000))
    assert {"--kube-api-qps=5000", "--kube-api-burst=10000"} <= set(arguments)


def test_without_kubelets_both_halves_of_the_not_ready_taint_are_off() -> None:
    plan = _plan(kubelets=False)
    assert "--disable-admission-plugins=TaintNodesByCondition" in commands.arguments(Component.APISERVER, plan)
    assert "--controllers=*,-ttl-controller,-node-lifecycle-controller" in commands.arguments(
        Component.CONTROLLER_MANAGER, plan
    )


def test_with_kubelets_the_not_ready_taint_is_kubernetes_own_affair() -> None:
    assert "TaintNodesByCondition" not in " ".join(commands.arguments(Component.APISERVER, _plan()))
    assert "node-lifecycle" not in " ".join(commands.arguments(Component.CONTROLLER_MANAGER, _plan()))


@pytest.mark.parametrize("component", THE_THREE)
def test_no_feature_gate_is_touched_by_default(component: Component) -> None:
    assert "feature-gates" not in " ".join(commands.arguments(component, _plan()))


@pytest.mark.parametrize("component", THE_THREE)
def test_native_gang_scheduling_turns_its_gates_on_everywhere(component: Component) -> None:
    arguments = commands.arguments(component, _plan(native_gang_scheduling=True))
    assert "--feature-gates=GenericWorkload=true,WorkloadWithJob=true" in arguments


def test_native_gang_scheduling_serves_its_api_beside_others() -> None:
    plan = _plan(native_gang_scheduling=True, runtime_config=("resource.k8s.io/v1beta2=true",))
    expected = "--runtime-config=resource.k8s.io/v1beta2=true,scheduling.k8s.io/v1beta1=true"
    assert expected in commands.arguments(Component.APISERVER, plan)


def test_a_feature_gate_reaches_its_component_only() -> None:
    plan = _plan(feature_gates=(FeatureGate(Component.SCHEDULER, "SchedulerAsyncAPICalls", is_enabled=False),))
    assert "--feature-gates=SchedulerAsyncAPICalls=false" in commands.arguments(Component.SCHEDULER, plan)
    assert "feature-gates" not in " ".join(commands.arguments(Component.APISERVER, plan))


def test_a_users_stages_stand_beside_the_playgrounds_own(tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text("kind: Stage\nmetadata: {name: node-refuses-pods}\n")
    plan = _plan(tmp_path / "playground", stages=(more,))
    plan.state_dir.create()
    commands.write_static_config(plan)
    documents = list(yaml.safe_load_all((plan.state_dir.config / "kwok.yaml").read_text()))
    names = [document["metadata"]["name"] for document in documents if document["kind"] == "Stage"]
    assert names[-1] == "node-refuses-pods"
    assert {"node-joins", "node-heartbeat", "pod-starts", "pod-ends", "pod-stops", "pod-goes"} < set(names)
