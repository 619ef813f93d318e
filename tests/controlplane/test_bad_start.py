"""What `ganglift run` can't start on: it ends at once, with a message that says what to change, and no traceback."""

import socket
import subprocess
from pathlib import Path

import pytest
from tests.controlplane import chart
from tests.controlplane.cluster import Cluster
from tests.controlplane.operator import run_once

from ganglift.playground.playground import Playground

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNT = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}


def run(kubeconfig: Path) -> subprocess.CompletedProcess[str]:
    return run_once("run", "--kubeconfig", str(kubeconfig), "--http-port", "0")


def words(done: subprocess.CompletedProcess[str]) -> str:
    """What a command that failed has said, on one line."""
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def test_kubeconfig_that_does_not_exist_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "kubeconfig"
    assert f"--kubeconfig names {missing}, which does not exist" in words(run(missing))


def test_kubeconfig_that_points_nowhere_is_told_by_its_server(cluster: Cluster, tmp_path: Path) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        server = f"https://127.0.0.1:{nobody.getsockname()[1]}"
        there = cluster.playground.kubeconfig.read_text()
        (tmp_path / "kubeconfig").write_text(there.replace(cluster.playground.server, server))
        assert server.removeprefix("https://") in words(run(tmp_path / "kubeconfig"))


def test_missing_crds_are_named_with_the_way_to_install_them(playground_without_crds: Playground) -> None:
    chart.remove(playground_without_crds)
    said = words(run(playground_without_crds.kubeconfig))
    assert "the cluster does not serve workloads.scheduling.ganglift.dev, podgroups.scheduling.ganglift.dev" in said
    assert "kubectl apply -f crds/" in said


@pytest.fixture
def account(cluster: Cluster, tmp_path: Path) -> Path:
    """The kubeconfig of an account that has all of the chart's rights but one."""
    chart.install(cluster.playground)
    rights = cluster.get(f"{RBAC}/clusterroles/{chart.RELEASE}")["rules"]
    rights = [rule for rule in rights if rule["resources"] != ["pods/status"]]
    cluster.ensure(f"{RBAC}/clusterroles", {"metadata": {"name": "lacking"}, "rules": rights})
    for path, kind, name in (
        (f"{RBAC}/clusterrolebindings", "ClusterRole", "lacking"),
        (f"{RBAC}/namespaces/{chart.NAMESPACE}/rolebindings", "Role", chart.RELEASE),
    ):
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        cluster.ensure(path, {"metadata": {"name": "lacking"}, "roleRef": role, "subjects": [ACCOUNT]})
    token = cluster.playground.token("default", "default")
    return cluster.playground.token_kubeconfig(tmp_path / "kubeconfig", token)


def test_missing_permission_is_told_as_verb_and_resource(account: Path) -> None:
    assert "the operator's account may not: patch pods/status grant these" in words(run(account))
