"""The pages' commands for kubectl and helm, run as they stand, and their manifests, put to a real API server."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.controlplane.chart import NAMESPACE, REPOSITORY, remove
from tests.controlplane.cluster import Cluster
from tests.docs.markdown import DOCS, PAGES, Block, blocks
from tests.support.kubectl import KUBECTL, Kubectl

from ganglift.playground.playground import Playground

README = REPOSITORY / "README.md"
OPERATIONS = DOCS / "operations.md"
TROUBLESHOOTING = DOCS / "troubleshooting.md"
NOT_HERE = ("docker ", "ganglift ", "make ", "tox ", "python ")
GATED_PODS = REPOSITORY / "examples" / "experiment-pods.yaml"
MANIFESTS = [
    block
    for page in PAGES
    for block in blocks(page, "yaml")
    if {"apiVersion", "kind"} <= yaml.safe_load(block.text).keys()
]


@pytest.fixture
def playground(playground_without_crds: Playground) -> Playground:
    return playground_without_crds


@pytest.fixture
def kubectl(playground: Playground) -> Kubectl:
    """kubectl as the administrator, on a control plane without a release and without pods."""
    remove(playground)
    kubectl = Kubectl(playground.kubeconfig)
    kubectl.run("delete", "pods", "--all", "--grace-period=0", "--force")
    return kubectl


def run(playground: Playground, block: Block) -> str:
    """Run a block of commands as a reader in the repository would; any command that fails fails it."""
    path = f"{playground.binary('helm').parent}:{KUBECTL.parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "KUBECONFIG": str(playground.kubeconfig)}
    command = ["bash", "-euo", "pipefail", "-c", block.text]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    return done.stdout


def runnable(*sections: str, page: Path) -> list[Block]:
    return [
        block
        for block in blocks(page, "sh")
        if (not sections or block.section in sections)
        and not any(line.startswith(NOT_HERE) for line in block.text.splitlines())
    ]


def gated(kubectl: Kubectl) -> int:
    answer = kubectl.run(
        "get", "pods", "--all-namespaces", "--output=jsonpath={.items[*].spec.schedulingGates[*].name}"
    )
    return len(answer.words.split())


def run_operations(playground: Playground, *sections: str) -> None:
    for block in runnable(*sections, page=OPERATIONS):
        run(playground, block)


def test_readmes_commands_install_and_apply_the_experiment(playground: Playground, kubectl: Kubectl) -> None:
    for block in runnable(page=README):
        run(playground, block)
    assert kubectl.get("gjob", "experiment")["kind"] == "Job"


def test_operations_install_upgrade_and_uninstall(playground: Playground, kubectl: Kubectl) -> None:
    run_operations(playground, "Installing", "Upgrading", "Uninstalling")
    assert "No resources found" in kubectl.run("get", "all", f"--namespace={NAMESPACE}").words
    assert kubectl.run("get", "gpg").is_ok


def test_g13_operations_frees_gated_pods(playground: Playground, kubectl: Kubectl) -> None:
    run_operations(playground, "Installing")
    kubectl.run("apply", "--filename", str(GATED_PODS))
    run_operations(playground, "Uninstalling")
    assert gated(kubectl) == 4
    run_operations(playground, "Freeing gated pods")
    assert gated(kubectl) == 0


def test_operations_removes_everything(playground: Playground, kubectl: Kubectl) -> None:
    run_operations(playground, "Installing", "Uninstalling", "Removing everything")
    assert "ganglift" not in kubectl.run("get", "crds").words


def test_commands_of_troubleshooting_work(playground: Playground, kubectl: Kubectl) -> None:
    run_operations(playground, "Installing")
    kubectl.run("apply", "--filename", str(GATED_PODS))
    told = "".join(run(playground, block) for block in runnable(page=TROUBLESHOOTING))
    assert "experiment-pods" in told
    assert "SchedulingGated" in told


def test_every_block_for_kubectl_and_helm_is_run_here() -> None:
    elsewhere = {block.page for page in PAGES for block in runnable(page=page)} - {README, OPERATIONS, TROUBLESHOOTING}
    assert elsewhere == set()


@pytest.mark.parametrize("block", MANIFESTS, ids=str)
def test_manifest_is_accepted(cluster: Cluster, block: Block) -> None:
    answer = cluster.kubectl.apply(yaml.safe_load(block.text), dry_run=True)
    assert answer.is_ok, answer.words
