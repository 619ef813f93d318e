"""Bad input is refused at `kubectl apply` in words that say what to change; good input is taken, with upstream's
defaults.

The same manifests go to the native kinds of 1.37: shapes, limits and immutability are upstream's, or the case says why
not.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.controlplane.crd_cases import CASES
from tests.controlplane.crd_cases.builders import (
    Case,
    gang,
    gang_job,
    job,
    named,
    native,
    pod_group,
    template,
    workload,
)
from tests.support.crd_schema import ROOT
from tests.support.kubectl import Answer, Kubectl, Manifest

from ganglift.playground import Component, FeatureGate, Playground, PlaygroundOptions

# What upstream keeps behind gates of their own: with them off its API server drops these fields without a word.
GATES = ("TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims", "PodGroupPreemptionPolicy")
OLDEST = PlaygroundOptions(version="1.34.4", kubelets=False, crds=(ROOT / "crds",))
NEWEST = PlaygroundOptions(
    version="1.37.2",
    kubelets=False,
    crds=(ROOT / "crds",),
    native_gang_scheduling=True,
    feature_gates=tuple(FeatureGate(Component.APISERVER, gate) for gate in GATES),
)
CLASSES = {"high": 1000, "low": 10}


@pytest.fixture(scope="module", params=[NEWEST, OLDEST], ids=lambda options: options.version)
def kubectl(request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """kubectl on a control plane that has our CRDs; the newest has the native kinds too."""
    with Playground.start(request.param) as playground:
        user = Kubectl(playground.kubeconfig)
        for name, value in CLASSES.items():
            header = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
            assert user.apply({**header, "value": value}).is_ok
        yield user


def object_name(case: Case) -> str:
    return re.sub(r"[^a-z0-9]+", "-", f"{case.first['kind']} {case.name}".lower())


def judge(kubectl: Kubectl, case: Case, form: Callable[[Manifest], Manifest] = dict) -> Answer:
    """The API server's answer to the case: to the manifest, or to its change once the manifest was taken."""
    name = object_name(case)
    if case.then is None:
        return kubectl.apply(form(named(case.first, name)), dry_run=True)
    first = kubectl.apply(form(named(case.first, name)))
    assert first.is_ok, first.words
    return kubectl.apply(form(named(case.then, name)))


@pytest.mark.parametrize("case", [case for case in CASES if not case.refused], ids=object_name)
def test_taken(kubectl: Kubectl, case: Case) -> None:
    answer = judge(kubectl, case)
    assert answer.is_ok, answer.words


@pytest.mark.parametrize("case", [case for case in CASES if case.refused], ids=object_name)
def test_refused_with_words_that_help(kubectl: Kubectl, case: Case) -> None:
    answer = judge(kubectl, case)
    assert not answer.is_ok
    assert case.refused in answer.words


@pytest.mark.parametrize("kubectl", [NEWEST], indirect=True, ids=["1.37.2"])
@pytest.mark.parametrize("case", CASES, ids=object_name)
def test_native_kinds_judge_alike_unless_the_case_says_why_not(kubectl: Kubectl, case: Case) -> None:
    answer = judge(kubectl, case, native)
    is_alike = answer.is_ok == (not case.refused)
    assert is_alike != bool(case.differs), answer.words


def create(kubectl: Kubectl, manifest: Manifest, resource: str) -> dict[str, Any]:
    """Create an object and read it back."""
    answer = kubectl.apply(manifest)
    assert answer.is_ok, answer.words
    return kubectl.get(resource, manifest["metadata"]["name"])


def test_defaults_of_a_pod_group(kubectl: Kubectl) -> None:
    topology = [{"key": "rack"}]
    manifest = named(pod_group(schedulingConstraints={"topology": topology}), "defaults")
    spec = create(kubectl, manifest, "podgroups.scheduling.ganglift.dev")["spec"]
    assert spec["disruptionMode"] == {"single": {}}
    assert spec["scheduleTimeoutSeconds"] == 60
    assert spec["schedulingConstraints"]["topology"] == [{"key": "rack", "mode": "Required"}]


def test_a_template_has_no_defaults(kubectl: Kubectl) -> None:
    manifest = named(workload(template("a")), "defaults")
    spec = create(kubectl, manifest, "workloads.scheduling.ganglift.dev")["spec"]
    assert spec == manifest["spec"]


def test_defaults_of_a_job_are_those_that_hold_whatever_else_is_set(kubectl: Kubectl) -> None:
    manifest = named(gang_job(), "defaults")
    spec = create(kubectl, manifest, "jobs.batch.ganglift.dev")["spec"]
    assert spec == {**manifest["spec"], "completionMode": "NonIndexed", "suspend": False, "manualSelector": False}


@pytest.mark.parametrize("kubectl", [NEWEST], indirect=True, ids=["1.37.2"])
def test_every_default_of_a_job_is_upstreams(kubectl: Kubectl) -> None:
    manifest = named(gang_job(), "same-defaults")
    ours = create(kubectl, manifest, "jobs.batch.ganglift.dev")["spec"]
    theirs = create(kubectl, native(manifest), "jobs.batch")["spec"]
    written = ours.keys() - manifest["spec"].keys()
    assert {key: ours[key] for key in written} == {key: theirs[key] for key in written}


@pytest.mark.parametrize("kubectl", [NEWEST], indirect=True, ids=["1.37.2"])
def test_the_default_disruption_mode_is_upstreams(kubectl: Kubectl) -> None:
    manifest = named(pod_group(), "same-defaults")
    ours = create(kubectl, manifest, "podgroups.scheduling.ganglift.dev")["spec"]
    theirs = create(kubectl, native(manifest), "podgroups.scheduling.k8s.io")["spec"]
    assert ours["disruptionMode"] == theirs["disruptionMode"]


def test_pod_template_is_kept_word_for_word(kubectl: Kubectl) -> None:
    probe = {"name": "side", "image": "i", "restartPolicy": "Always", "startupProbe": {"exec": {"command": ["true"]}}}
    pod = {
        "containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}, "env": []}],
        "initContainers": [probe],
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
    }
    manifest = named(job(pod), "word-for-word")
    stored = create(kubectl, manifest, "jobs.batch.ganglift.dev")
    assert stored["spec"]["template"] == manifest["spec"]["template"]


def test_two_managers_can_each_apply_their_container(kubectl: Kubectl) -> None:
    containers = [{"name": "main", "image": "i", "env": [{"name": "A", "value": "1"}]}, {"name": "log", "image": "i"}]
    whole = named(job({"containers": containers}), "two-managers")
    theirs = named(job({"containers": containers[1:], "restartPolicy": None}), "two-managers")
    apply = ("apply", "--server-side", "-f", "-")
    first = kubectl.run(*apply, "--field-manager=a", stdin=json.dumps(whole))
    second = kubectl.run(*apply, "--field-manager=b", stdin=json.dumps(theirs))
    assert first.is_ok, first.words
    assert second.is_ok, second.words


def write_status(kubectl: Kubectl, resource: str, name: str, status: dict[str, Any]) -> None:
    patch = json.dumps({"status": status})
    answer = kubectl.run("patch", resource, name, "--subresource=status", "--type=merge", f"--patch={patch}")
    assert answer.is_ok, answer.words


def row(kubectl: Kubectl, resource: str, name: str) -> dict[str, str]:
    """The wide columns of one object as kubectl prints them."""
    answer = kubectl.run("get", resource, name, "--output=wide")
    assert answer.is_ok, answer.words
    heads, cells = (re.split(r"\s{2,}", line.strip()) for line in answer.words.splitlines())
    return dict(zip(heads, cells, strict=True))


WAITS = {
    "type": "Scheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "3 of 4 members fit",
    "lastTransitionTime": "2026-11-30T12:00:00Z",
}


def test_columns_of_a_pod_group(kubectl: Kubectl) -> None:
    reference = {"workloadName": "train", "templateName": "workers"}
    create(kubectl, named(pod_group(gang(4), workloadRef=reference), "columns"), "gpg")
    counts = {"members": 6, "gated": 4, "reserved": 3, "lifted": 0, "scheduled": 2, "running": 1, "need": 4}
    status = {"policy": "Gang", "phase": "Unschedulable", "conditions": [WAITS], "priority": 10, **counts}
    write_status(kubectl, "gpg", "columns", status)
    shown = row(kubectl, "gpg", "columns")
    assert shown.pop("AGE")
    assert shown == {
        "NAME": "columns",
        "POLICY": "Gang",
        "MIN": "4",
        "MEMBERS": "6",
        "SCHEDULED": "2",
        "RUNNING": "1",
        "STATUS": "Unschedulable",
        "RESERVED": "3",
        "NEED": "4",
        "WORKLOAD": "train",
        "MESSAGE": "3 of 4 members fit",
    }


def test_columns_of_a_job(kubectl: Kubectl) -> None:
    create(kubectl, named(gang_job(parallelism=4, completions=8), "columns"), "gjob")
    probed = {**WAITS, "lastProbeTime": None}
    counts = {"minCount": 4, "need": 4, "scheduled": 0, "active": 4, "ready": 0, "terminating": 0}
    status = {"phase": "Unschedulable", "completions": "0/8", "podGroupName": "g", "conditions": [probed], **counts}
    write_status(kubectl, "gjob", "columns", status)
    shown = row(kubectl, "gjob", "columns")
    assert shown.pop("AGE")
    assert shown == {
        "NAME": "columns",
        "STATUS": "Unschedulable",
        "COMPLETIONS": "0/8",
        "MIN": "4",
        "SCHEDULED": "0",
        "NEED": "4",
        "PODGROUP": "g",
        "MESSAGE": "3 of 4 members fit",
    }


def test_columns_of_a_workload(kubectl: Kubectl) -> None:
    manifest = workload(template("a"), template("b"), controllerRef={"kind": "Pod", "name": "owner"})
    create(kubectl, named(manifest, "columns"), "gwl")
    condition = {**WAITS, "type": "PodGroupsReady", "reason": "NameConflict", "message": "a name is taken"}
    groups = [{"templateName": "a", "podGroupName": "columns-a"}]
    status = {
        "phase": "NameConflict",
        "groups": 1,
        "scheduledGroups": 0,
        "podGroups": groups,
        "conditions": [condition],
    }
    write_status(kubectl, "gwl", "columns", status)
    shown = row(kubectl, "gwl", "columns")
    assert shown.pop("AGE")
    assert shown == {
        "NAME": "columns",
        "GROUPS": "1",
        "SCHEDULED": "0",
        "STATUS": "NameConflict",
        "CONTROLLER": "owner",
        "MESSAGE": "a name is taken",
    }


def test_apply_does_not_write_a_status(kubectl: Kubectl) -> None:
    manifest = {**named(pod_group(), "no-status"), "status": {"scheduled": 4}}
    assert "status" not in create(kubectl, manifest, "gpg")


def test_kubectl_can_wait_for_a_job(kubectl: Kubectl) -> None:
    create(kubectl, named(job(), "complete"), "gjob")
    done = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-30T12:00:00Z"}
    write_status(kubectl, "gjob", "complete", {"conditions": [done]})
    answer = kubectl.run("wait", "--for=condition=complete", "gjob/complete", "--timeout=5s")
    assert answer.is_ok, answer.words


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("gjob.spec.template", "kubectl explain job.spec.template"),
        ("gjob.spec.scheduling.schedulingPolicy.gang.minCount", "at most parallelism"),
        ("gpg.spec.schedulingConstraints.topology", "FIELDS"),
        ("gpg.status.need", "must hold a place now"),
        ("gwl.spec.podGroupTemplates.schedulingPolicy", "exactly one of basic and gang"),
    ],
)
def test_kubectl_explains(kubectl: Kubectl, field: str, words: str) -> None:
    answer = kubectl.run("explain", field)
    assert words in " ".join(answer.words.split())


def test_all_and_ganglift_are_categories(kubectl: Kubectl) -> None:
    create(kubectl, named(job(), "in-all"), "gjob")
    create(kubectl, named(pod_group(), "in-ganglift"), "gpg")
    assert "job.batch.ganglift.dev/in-all" in kubectl.run("get", "all", "--output=name").words
    assert "podgroup.scheduling.ganglift.dev/in-ganglift" in kubectl.run("get", "ganglift", "--output=name").words
