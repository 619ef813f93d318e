"""A policy of the cluster refuses to take gates off: the gang shows its words, holds nothing, tries again later."""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import pytest
from tests.controlplane.cluster import POD_GROUPS, PODS, Cluster, pod, pod_group
from tests.controlplane.conftest import StartOperator
from tests.controlplane.history import History
from tests.controlplane.proxy import Proxy
from tests.support.polling import eventually

from ganglift.playground.client import MERGE_PATCH

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
WORDS = "this team may not start pods today"

POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "no-start"},
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "objectSelector": {"matchLabels": {"team": "refused"}},
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["UPDATE"]}
            ],
        },
        "validations": [{"expression": "has(object.spec.schedulingGates)", "message": WORDS}],
    },
}
BINDING = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "no-start"},
    "spec": {"policyName": "no-start", "validationActions": ["Deny"]},
}


@pytest.fixture
def refusing(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster of three nodes that refuses to let pods of one team start, once that holds."""
    cluster.ensure(POLICIES, POLICY)
    cluster.ensure(BINDINGS, BINDING)
    cluster.add_gpu_nodes(3)
    probe = pod("probe", gpus=0, gates=["example.com/probe"])
    cluster.create(PODS, {**probe, "metadata": {"name": "probe", "labels": {"team": "refused"}}})
    ungate = {"spec": {"schedulingGates": None}}
    asked = partial(cluster.refusal, "PATCH", f"{PODS}/probe?dryRun=All", ungate, content_type=MERGE_PATCH)
    eventually(asked, bool, within_s=15)
    cluster.delete(f"{PODS}/probe?gracePeriodSeconds=0")
    yield cluster
    cluster.delete(f"{BINDINGS}/no-start")
    cluster.delete(f"{POLICIES}/no-start")


def make_gang(cluster: Cluster, name: str, **labels: str) -> None:
    cluster.create(POD_GROUPS, pod_group(name, 3))
    members = [pod(f"{name}-{number}", group=name) for number in range(3)]
    for member in members:
        member["metadata"]["labels"] |= labels
    cluster.create_all(PODS, members)


def tried_at(proxy: Proxy) -> list[float]:
    """When one member's lift was tried, which comes once for each attempt."""
    return [one.at for one in proxy.requests if one.is_dry_lift() and one.path.endswith("/train-0")]


def test_gang_shows_the_refusal_in_its_own_words(refusing: Cluster, start_operator: StartOperator) -> None:
    start_operator(refusing)
    make_gang(refusing, "train", team="refused")
    assert WORDS in refusing.await_reason("train", "LiftRefused")["message"]


def test_g1_no_member_is_let_loose_when_one_is_refused(
    refusing: Cluster, history: History, start_operator: StartOperator
) -> None:
    start_operator(refusing)
    refusing.create(POD_GROUPS, pod_group("train", 3))
    members = [pod(f"train-{number}", group="train") for number in range(3)]
    members[1]["metadata"]["labels"]["team"] = "refused"
    refusing.create_all(PODS, members)
    refusing.await_reason("train", "LiftRefused")
    history.catch_up()
    assert [life.name for life in history.lives("train") if life.was_ungated] == []


def test_c8_refused_gang_leaves_its_room_to_another(refusing: Cluster, start_operator: StartOperator) -> None:
    start_operator(refusing)
    make_gang(refusing, "train", team="refused")
    refusing.await_reason("train", "LiftRefused")
    make_gang(refusing, "next")
    refusing.await_bound(3, "next")


def test_refused_gang_waits_longer_from_time_to_time(
    refusing: Cluster, proxy: Proxy, start_operator: StartOperator
) -> None:
    start_operator(refusing, through=proxy)
    make_gang(refusing, "train", team="refused")
    asked = eventually(
        partial(tried_at, proxy),
        lambda times: len(times) >= 4,
        within_s=20,
    )
    first, second, third = (later - earlier for earlier, later in pairwise(asked[:4]))
    assert first >= 1
    assert second >= 2
    assert third >= 4


def test_gang_starts_once_it_is_no_longer_refused(refusing: Cluster, start_operator: StartOperator) -> None:
    start_operator(refusing)
    make_gang(refusing, "train", team="refused")
    refusing.await_reason("train", "LiftRefused")
    refusing.delete(f"{BINDINGS}/no-start")
    refusing.await_bound(3, "train", within_s=20)
    refusing.ensure(BINDINGS, BINDING)
