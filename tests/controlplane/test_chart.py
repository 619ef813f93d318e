"""The chart, installed, upgraded and removed by helm on a real control plane."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.controlplane.chart import CHART, NAMESPACE, RELEASE, SERVICE_ACCOUNT, HelmFailed, helm, install, remove
from tests.support.kubectl import Kubectl
from tests.support.polling import eventually

from ganglift.playground.playground import Playground

CRDS = {"jobs.batch.ganglift.dev", "podgroups.scheduling.ganglift.dev", "workloads.scheduling.ganglift.dev"}
KINDS_OF_A_RELEASE = (
    "deployments,pods,services,serviceaccounts,configmaps,poddisruptionbudgets,roles,rolebindings,clusterroles,clusterrolebindings,"
    "priorityclasses,validatingwebhookconfigurations,mutatingwebhookconfigurations,apiservices,secrets"
)
GROUP = {
    "apiVersion": "scheduling.ganglift.dev/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "waiting", "namespace": "default"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 4}}},
}


@pytest.fixture
def playground(playground_without_crds: Playground) -> Playground:
    return playground_without_crds


@pytest.fixture
def kubectl(playground: Playground) -> Kubectl:
    """kubectl as the administrator, on a control plane without a release."""
    remove(playground)
    return Kubectl(playground.kubeconfig)


@pytest.fixture
def installed(playground: Playground) -> Kubectl:
    """kubectl as the administrator, on a control plane with a release, whichever test installed it."""
    install(playground)
    return Kubectl(playground.kubeconfig)


def install_anew(playground: Playground, chart: Path = CHART, *, values: dict[str, Any] | None = None) -> None:
    helm(
        playground,
        *("install", RELEASE, str(chart), "--namespace", NAMESPACE, "--create-namespace"),
        values=values or {"replicas": 0},
    )


def upgrade(playground: Playground, *, values: dict[str, Any]) -> None:
    helm(playground, "upgrade", RELEASE, str(CHART), "--namespace", NAMESPACE, values=values)


def get(kubectl: Kubectl, kind: str, name: str, *, namespace: str = NAMESPACE) -> dict[str, Any]:
    answer = kubectl.run("get", kind, name, f"--namespace={namespace}", "--output=json")
    assert answer.is_ok, answer.words
    found: dict[str, Any] = json.loads(answer.words)
    return found


def of_release(kubectl: Kubectl, kinds: str) -> list[str]:
    """What bears the release's label, as kind/name."""
    label = f"--selector=app.kubernetes.io/instance={RELEASE}"
    answer = kubectl.run("get", kinds, "--all-namespaces", label, "--output=name")
    assert answer.is_ok, answer.words
    return [line for line in answer.words.splitlines() if "/" in line]


def columns(kubectl: Kubectl) -> list[str]:
    crd = get(kubectl, "customresourcedefinition", "podgroups.scheduling.ganglift.dev")
    return [column["name"] for column in crd["spec"]["versions"][0]["additionalPrinterColumns"]]


def older_chart(at: Path) -> Path:
    """The chart as an earlier version may have been: its PodGroup lacks a column."""
    chart = Path(shutil.copytree(CHART, at / "ganglift"))
    path = chart / "files" / "crds" / "scheduling.ganglift.dev_podgroups.yaml"
    crd = yaml.safe_load(path.read_text())
    del crd["spec"]["versions"][0]["additionalPrinterColumns"][0]
    path.write_text(yaml.safe_dump(crd))
    return chart


def test_pods_of_a_release_are_let_in_where_only_restricted_ones_are(playground: Playground, kubectl: Kubectl) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
    install_anew(playground, values={"replicas": 2})
    rollout = kubectl.run("rollout", "status", "deployment/ganglift", f"--namespace={NAMESPACE}", "--timeout=25s")
    assert "successfully rolled out" in rollout.words


def test_kinds_are_served_after_an_install(playground: Playground, kubectl: Kubectl) -> None:
    install_anew(playground)
    assert kubectl.run("wait", "--for=condition=Established", "--timeout=10s", *(f"crd/{crd}" for crd in CRDS)).is_ok
    assert kubectl.run("get", "gjob,gwl,gpg", "--all-namespaces").is_ok


def test_bad_value_stops_an_install_before_anything_is_made(playground: Playground, kubectl: Kubectl) -> None:
    with pytest.raises(HelmFailed, match="'maxReservd' not allowed"):
        install_anew(playground, values={"settings": {"maxReservd": 5}})
    assert of_release(kubectl, KINDS_OF_A_RELEASE) == []


def test_upgrade_brings_the_new_crds(playground: Playground, kubectl: Kubectl, tmp_path: Path) -> None:
    install_anew(playground, older_chart(tmp_path))
    assert "Policy" not in columns(kubectl)
    upgrade(playground, values={"replicas": 0})
    assert "Policy" in columns(kubectl)


def test_upgrade_with_another_setting_rolls_the_pods(playground: Playground, kubectl: Kubectl) -> None:
    install_anew(playground)
    before = get(kubectl, "deployment", "ganglift")["spec"]["template"]
    upgrade(playground, values={"replicas": 0, "settings": {"maxReserved": 5}})
    assert get(kubectl, "deployment", "ganglift")["spec"]["template"] != before


def test_uninstall_leaves_the_crds_and_what_users_made_and_nothing_else(
    playground: Playground, kubectl: Kubectl
) -> None:
    install_anew(playground)
    assert kubectl.apply(GROUP).is_ok
    helm(playground, "uninstall", RELEASE, "--namespace", NAMESPACE, "--wait")
    assert of_release(kubectl, KINDS_OF_A_RELEASE) == []
    crds = kubectl.run("get", "crds", "--output=name").words
    assert {line.partition("/")[2] for line in crds.splitlines()} >= CRDS
    assert get(kubectl, "podgroup", "waiting", namespace="default")["spec"] is not None


def test_install_after_an_uninstall_takes_up_the_crds_that_were_kept(playground: Playground, kubectl: Kubectl) -> None:
    install_anew(playground)
    helm(playground, "uninstall", RELEASE, "--namespace", NAMESPACE, "--wait")
    install_anew(playground)
    assert of_release(kubectl, "serviceaccounts") == ["serviceaccount/ganglift"]


def test_second_release_is_refused_and_leaves_the_first_alone(playground: Playground, kubectl: Kubectl) -> None:
    install_anew(playground)
    with pytest.raises(HelmFailed, match="invalid ownership metadata"):
        helm(playground, "install", "other", str(CHART), "--namespace", "default", values={"replicas": 0})
    assert of_release(kubectl, "serviceaccounts") == ["serviceaccount/ganglift"]


@pytest.mark.parametrize(
    ("verb", "resource", "namespace", "is_allowed"),
    [
        ("patch", "pods", "default", True),
        ("patch", "pods/status", "default", True),
        ("create", "pods/eviction", "default", True),
        ("create", "pods", NAMESPACE, True),
        ("create", "pods", "default", False),
        ("create", "jobs.batch", "default", True),
        ("delete", "jobs.batch", "default", False),
        ("create", "jobs.batch.ganglift.dev", "default", False),
        ("patch", "jobs.batch.ganglift.dev/status", "default", True),
        ("update", "leases.coordination.k8s.io/ganglift", NAMESPACE, True),
        ("update", "leases.coordination.k8s.io/other", NAMESPACE, False),
        ("get", "leases.coordination.k8s.io/kube-scheduler", "kube-system", True),
        ("update", "leases.coordination.k8s.io/kube-scheduler", "kube-system", False),
        ("get", "secrets", NAMESPACE, False),
        ("patch", "nodes", "default", False),
    ],
)
def test_service_account_may(installed: Kubectl, verb: str, resource: str, namespace: str, is_allowed: bool) -> None:
    user = f"system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}"
    assert may(installed, user, verb, resource, namespace) is is_allowed


def test_kubeconfig_that_is_given_out_is_the_service_accounts(playground: Playground, installed: Kubectl) -> None:
    answer = Kubectl(install(playground)).run("auth", "whoami", "--output=jsonpath={.status.userInfo.username}")
    assert answer.words == f"system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}"


@pytest.mark.parametrize(
    ("role", "verb", "resource", "is_allowed"),
    [
        ("view", "list", "podgroups.scheduling.ganglift.dev", True),
        ("view", "create", "jobs.batch.ganglift.dev", False),
        ("edit", "create", "jobs.batch.ganglift.dev", True),
        ("edit", "watch", "workloads.scheduling.ganglift.dev", True),
        ("edit", "patch", "podgroups.scheduling.ganglift.dev/status", False),
        ("admin", "delete", "podgroups.scheduling.ganglift.dev", True),
    ],
)
def test_user_with_the_built_in_role_may(
    installed: Kubectl, role: str, verb: str, resource: str, is_allowed: bool
) -> None:
    assert installed.apply(_binding(role, user=role)).is_ok
    # Roles are aggregated by a controller, a moment after they are there.
    eventually(lambda: may(installed, role, "list", "podgroups.scheduling.ganglift.dev", "default"), bool, within_s=10)
    assert may(installed, role, verb, resource, "default") is is_allowed


def may(kubectl: Kubectl, user: str, verb: str, resource: str, namespace: str) -> bool:
    arguments = ("auth", "can-i", verb, *_subresource(resource), f"--as={user}", f"--namespace={namespace}")
    return "yes" in kubectl.run(*arguments).words.splitlines()


def _subresource(resource: str) -> list[str]:
    """Split as kubectl wants it: `pods/status` is a subresource, `leases.coordination.k8s.io/ganglift` an object."""
    name, _, rest = resource.partition("/")
    return [name, f"--subresource={rest}"] if rest in {"status", "eviction"} else [resource]


def _binding(role: str, *, user: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": user, "namespace": "default"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
