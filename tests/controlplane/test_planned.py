"""Members that constrain each other end where they were planned: the plan is a sequence that kube-scheduler follows."""

from typing import Any

import pytest
from tests.controlplane.cluster import POD_GROUPS, PODS, Cluster, Object, pod, pod_group
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.controlplane.playgrounds import on_both_versions
from tests.support.polling import eventually

ZONE = "topology.kubernetes.io/zone"
RACK = "topology.kubernetes.io/rack"
ROLE = "example.com/role"
MEMBERS = 32

pytestmark = on_both_versions


def add_nodes(cluster: Cluster, key: str, domains: str, *, nodes: int, gpus: int) -> None:
    """Add so many nodes of so many GPUs to each domain, which a letter names."""
    names = [(domain, f"{domain}-{number}") for number in range(nodes) for domain in domains]
    for domain, name in names:
        cluster.playground.add_node(name, gpus=gpus, labels={key: domain}, wait=False)
    eventually(cluster.playground.status, lambda status: status.usable_nodes == len(names), within_s=60)


def start(cluster: Cluster, members: list[Object]) -> dict[str, str]:
    """Make a gang of these pods; return node by pod name once all are bound."""
    cluster.create(POD_GROUPS, pod_group("gang", len(members)))
    for member in members:
        cluster.create(PODS, member)
    return cluster.await_bound(len(members), "gang", within_s=60)


def planned(history: History) -> dict[str, tuple[str, ...]]:
    """The nodes that room was kept on for each member, one after the other."""
    history.catch_up()
    return {life.name: life.nominations for life in history.lives("gang")}


def member(name: str, role: str, **spec: Any) -> Object:
    made = pod(name, group="gang", **spec)
    made["metadata"]["labels"][ROLE] = role
    return made


def by_role(role: str) -> Object:
    return {"matchLabels": {ROLE: role}}


def spread(selector: Object) -> list[Object]:
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return [{**constraint, "labelSelector": selector}]


HELD_BACK = pytest.mark.breaks("I1", reason="some can be nominated only once others on their node are bound")


@pytest.mark.parametrize(
    ("each_zone", "selector"),
    [
        pytest.param({"nodes": 10, "gpus": 1}, by_role("worker"), id="one member a node"),
        pytest.param({"nodes": 2, "gpus": 5}, by_role("worker"), id="several members a node", marks=HELD_BACK),
        pytest.param({"nodes": 2, "gpus": 5}, {}, id="empty selector", marks=HELD_BACK),
    ],
)
def test_gang_spread_over_zones_ends_on_its_planned_nodes(
    cluster: Cluster, operator: OperatorProcess, history: History, each_zone: dict[str, int], selector: Object
) -> None:
    add_nodes(cluster, ZONE, "abcd", **each_zone)
    constraints = spread(selector)
    members = [member(f"w-{number:02}", "worker", topologySpreadConstraints=constraints) for number in range(MEMBERS)]
    bound = start(cluster, members)
    assert planned(history) == {name: (node,) for name, node in bound.items()}


def test_gang_that_must_be_near_its_leader_ends_on_its_planned_nodes(
    cluster: Cluster, operator: OperatorProcess, history: History
) -> None:
    add_nodes(cluster, RACK, "ab", nodes=4, gpus=8)
    cluster.create(PODS, pod("other", nodeSelector={RACK: "a"}))  # one GPU too few is left in that rack
    cluster.await_bound(1)
    near = [{"topologyKey": RACK, "labelSelector": by_role("leader")}]
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": near}}
    workers = [member(f"w-{number:02}", "worker", affinity=affinity) for number in range(MEMBERS - 1)]
    bound = start(cluster, [member("leader", "leader"), *workers])
    assert planned(history) == {name: (node,) for name, node in bound.items()}
