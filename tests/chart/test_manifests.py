"""What the release consists of, where it is not permissions or CRDs."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import helm_python
import pytest
from tests.chart.rendering import CHART, NAMESPACE, chart, of_kind, only, render

from ganglift.base.settings import Settings, load_settings
from ganglift.engine.fence import fence_class

CLUSTER_SCOPED = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "PriorityClass"}


def pod(values: dict[str, Any] | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = only(render(values), "Deployment")["spec"]["template"]["spec"]
    return spec


def container(values: dict[str, Any] | None = None) -> dict[str, Any]:
    (operator,) = pod(values)["containers"]
    assert isinstance(operator, dict)
    return operator


def checksum(values: dict[str, Any]) -> str:
    annotations = only(render(values), "Deployment")["spec"]["template"]["metadata"]["annotations"]
    return str(annotations["checksum/config"])


def settings(values: dict[str, Any], at: Path) -> Settings:
    """What the operator reads from the release's ConfigMap, its environment left out."""
    config = at / "config.yaml"
    config.write_text(only(render(values), "ConfigMap")["data"]["config.yaml"])
    return load_settings(config, {}, {})


def test_helm_has_nothing_to_complain_of() -> None:
    report = helm_python.lint(CHART, {}, strict=True, kube_version="v1.34.4")
    assert [message for message in report["messages"] if message["severity"] > 1] == []


def test_everything_that_has_a_namespace_is_in_the_releases_or_names_the_schedulers() -> None:
    elsewhere = [
        (manifest["kind"], manifest["metadata"].get("namespace"))
        for manifest in render({"metrics": {"serviceMonitor": {"enabled": True}}})
        if manifest["kind"] not in CLUSTER_SCOPED and manifest["metadata"].get("namespace") != NAMESPACE
    ]
    assert elsewhere == [("Role", "kube-system"), ("RoleBinding", "kube-system")]


def test_nothing_of_the_release_stands_in_the_way_of_the_api_server() -> None:
    kinds = {manifest["kind"] for manifest in render()}
    assert not {kind for kind in kinds if "Webhook" in kind or "APIService" in kind}


def test_operator_runs_without_root_and_without_anything_to_write_to() -> None:
    assert pod()["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_operator_is_told_its_namespace_its_port_and_to_elect_a_leader(tmp_path: Path) -> None:
    assert settings({"metrics": {"port": 9090}}, tmp_path) == Settings(
        namespace=NAMESPACE, http_port=9090, leader_elect=True
    )


def test_settings_reach_the_operator(tmp_path: Path) -> None:
    chosen = {"maxReserved": 2_000_000, "backoffMax": "10m", "queuePolicy": "strict", "qps": 50.5}
    assert settings({"settings": chosen}, tmp_path) == Settings(
        namespace=NAMESPACE, max_reserved=2_000_000, backoff_max=600.0, queue_policy="strict", qps=50.5
    )


def test_operator_reads_the_file_that_is_mounted() -> None:
    (mount,) = [mount for mount in container()["volumeMounts"] if mount["name"] == "config"]
    (volume,) = [volume for volume in pod()["volumes"] if volume["name"] == "config"]
    assert container()["args"] == ["run", "--config", f"{mount['mountPath']}/config.yaml"]
    assert volume["configMap"]["name"] == only(render(), "ConfigMap")["metadata"]["name"]


def test_a_changed_setting_rolls_the_pods() -> None:
    assert checksum({"settings": {"maxReserved": 5}}) != checksum({})


def test_chart_is_of_the_packages_version() -> None:
    assert (chart().metadata["version"], chart().metadata["appVersion"]) == (version("ganglift"), version("ganglift"))


def test_image_is_the_charts_version_unless_told_otherwise() -> None:
    assert container()["image"] == f"ghcr.io/ganglift/ganglift:{chart().metadata['appVersion']}"
    chosen = {"image": {"repository": "registry.example/ganglift", "tag": "7"}}
    assert container(chosen)["image"] == "registry.example/ganglift:7"


@pytest.mark.parametrize("probe", ["livenessProbe", "readinessProbe"])
def test_probe_asks_the_port_that_the_operator_serves(probe: str) -> None:
    operator = container({"metrics": {"port": 9090}})
    assert operator["ports"] == [{"name": "http", "containerPort": 9090}]
    assert operator[probe]["httpGet"]["port"] == "http"


@pytest.mark.parametrize(("replicas", "budgets"), [(0, 0), (1, 0), (2, 1)])
def test_disruption_budget_stands_where_a_replica_can_be_spared(replicas: int, budgets: int) -> None:
    assert len(of_kind(render({"replicas": replicas}), "PodDisruptionBudget")) == budgets


def test_placement_is_passed_on() -> None:
    chosen = {
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"key": "system", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "imagePullSecrets": [{"name": "registry"}],
    }
    assert {key: pod(chosen)[key] for key in chosen} == chosen


def test_fence_class_is_the_one_that_the_operator_makes() -> None:
    """Field by field but for labels: a release could not take over what differs."""
    fence = only(render(), "PriorityClass")
    del fence["metadata"]["labels"]
    assert fence == fence_class()


def test_service_monitor_is_made_on_demand_and_finds_the_service() -> None:
    assert not of_kind(render(), "ServiceMonitor")
    manifests = render({"metrics": {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}}})
    monitor, service = only(manifests, "ServiceMonitor"), only(manifests, "Service")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] in [port["name"] for port in service["spec"]["ports"]]


def test_service_and_budget_select_the_operators_pods() -> None:
    manifests = render()
    labels = only(manifests, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert only(manifests, "Service")["spec"]["selector"].items() <= labels.items()
    assert only(manifests, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"].items() <= labels.items()
