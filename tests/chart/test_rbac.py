"""The service account may do what docs/operations.md states, and nothing else."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tests.chart.rendering import NAMESPACE, Manifest, of_kind, render
from tests.docs.markdown import DOCS, table

from ganglift.app.operator import LEASE
from ganglift.app.permissions import needed, wished

WHERE = {NAMESPACE: "own namespace"}


class Permission(NamedTuple):
    where: str
    group: str
    resource: str
    name: str
    verb: str


def granted() -> set[Permission]:
    """What the rendered bindings give the operator's service account."""
    manifests = render()
    found: set[Permission] = set()
    for binding in of_kind(manifests, "ClusterRoleBinding") + of_kind(manifests, "RoleBinding"):
        where = binding["metadata"].get("namespace", "everywhere")
        role = _role(manifests, binding)
        found |= {permission for rule in role["rules"] for permission in _of_rule(WHERE.get(where, where), rule)}
    return found


def stated() -> set[Permission]:
    found: set[Permission] = set()
    for row in table(DOCS / "operations.md", "Where"):
        group = "" if row["API group"] == "core" else row["API group"]
        resources, _, named = row["Resources"].partition(" named ")
        found |= {
            Permission(row["Where"], group, resource, named.strip("`"), verb)
            for resource in re.findall(r"`([^`]+)`", resources)
            for verb in row["Verbs"].split()
        }
    return found


def test_nothing_is_granted_that_is_not_stated() -> None:
    assert granted() - stated() == set()


def test_everything_stated_is_granted() -> None:
    assert stated() - granted() == set()


def test_operator_asks_at_start_for_what_is_granted_but_for_the_schedulers_lease() -> None:
    asked = {
        Permission(WHERE.get(each.namespace, "everywhere"), each.group, each.resource, each.name, each.verb)
        for each in (*needed(NAMESPACE, LEASE), *wished())
    }
    assert granted() - asked == {Permission("kube-system", "coordination.k8s.io", "leases", "kube-scheduler", "get")}
    assert asked - granted() == set()


def test_every_binding_is_for_the_operators_service_account() -> None:
    manifests = render()
    (account,) = of_kind(manifests, "ServiceAccount")
    subject = {"kind": "ServiceAccount", "name": account["metadata"]["name"], "namespace": NAMESPACE}
    bindings = of_kind(manifests, "ClusterRoleBinding") + of_kind(manifests, "RoleBinding")
    assert [binding["subjects"] for binding in bindings] == [[subject]] * 3


def test_no_role_has_a_wildcard() -> None:
    manifests = render()
    rules = [rule for role in of_kind(manifests, "ClusterRole") + of_kind(manifests, "Role") for rule in role["rules"]]
    assert not [rule for rule in rules if "*" in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]]


def test_users_get_our_kinds_through_the_built_in_roles() -> None:
    rules = {
        label.removeprefix("rbac.authorization.k8s.io/aggregate-to-"): role["rules"]
        for role in of_kind(render(), "ClusterRole")
        for label in role["metadata"]["labels"]
        if label.startswith("rbac.authorization.k8s.io/aggregate-to-")
    }
    verbs = {audience: {tuple(rule["verbs"]) for rule in rules[audience]} for audience in rules}
    assert verbs == {
        "view": {("get", "list", "watch")},
        "edit": {("create", "update", "patch", "delete", "deletecollection")},
    }


def test_users_roles_leave_status_to_the_operator() -> None:
    names = {"ganglift-view", "ganglift-edit"}
    roles = [role for role in of_kind(render(), "ClusterRole") if role["metadata"]["name"] in names]
    resources = {resource for role in roles for rule in role["rules"] for resource in rule["resources"]}
    assert resources == {"jobs", "workloads", "podgroups"}


def test_users_roles_can_be_left_out() -> None:
    assert len(of_kind(render({"rbac": {"aggregate": False}}), "ClusterRole")) == 1


def _role(manifests: list[Manifest], binding: Manifest) -> Manifest:
    reference, namespace = binding["roleRef"], binding["metadata"].get("namespace")
    (role,) = [
        role
        for role in of_kind(manifests, reference["kind"])
        if role["metadata"]["name"] == reference["name"] and role["metadata"].get("namespace") == namespace
    ]
    return role


def _of_rule(where: str, rule: Manifest) -> Iterator[Permission]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for name in rule.get("resourceNames", [""]):
                for verb in rule["verbs"]:
                    yield Permission(where, group, resource, name, verb)
