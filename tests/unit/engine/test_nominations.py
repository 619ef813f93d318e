"""Whose a nomination is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.builders import PodBuilder, books, node, pod
from tests.fakes.apiserver import Refuse, on
from tests.fakes.apiserver.core import Core
from tests.fakes.apiserver.refusals import internal_error
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import Announcer, Leadership

from ganglift.api.names import LIFTED_AT
from ganglift.base.ids import NodeName, Uid
from ganglift.engine.executor import Executor
from ganglift.engine.nominations import Nominations, author_of_nomination, pinned
from ganglift.kube.resources import PODS
from ganglift.plan.filters import check
from ganglift.plan.shape import shape_of

A = Uid("uid-a")
GATED = pod("a").gang("g").gated().nominated("n1")
LIFTED = pod("a").gang("g").annotation(LIFTED_AT, "2026-11-30T12:00:00Z").nominated("n1")


class Api:
    """The pods as the API server has them, whose nominations these managers wrote."""

    def __init__(self, server: Core) -> None:
        self.server = server

    def has(self, builder: PodBuilder, manager: str) -> None:
        obj = dict(builder.wire) | {"apiVersion": "v1", "kind": "Pod"}
        fields: dict[str, Any] = {"f:status": {"f:nominatedNodeName": {}}}
        entries: list[dict[str, Any]] = [{"manager": "kubelet", "fieldsV1": {"f:status": {"f:phase": {}}}}]
        obj["metadata"] = obj["metadata"] | {"managedFields": [*entries, {"manager": manager, "fieldsV1": fields}]}
        self.server.api.store.commit(PODS, ("default", "a"), obj)


@pytest.fixture
async def cluster() -> AsyncIterator[FakeCluster]:
    """One in which nobody touches the pods."""
    async with FakeCluster(runs_scheduler=False) as cluster:
        yield cluster


@pytest.fixture
def api(cluster: FakeCluster) -> Api:
    return Api(cluster.core)


@pytest.fixture
async def nominations(cluster: FakeCluster) -> Nominations:
    operator = cluster.operator(stands_by=True)
    return Nominations(Executor(operator.client, Leadership(), Announcer()))


async def test_what_we_write_is_ours(nominations: Nominations) -> None:
    nominations.write(A, NodeName("n1"))
    assert nominations.is_ours(GATED.made)
    assert not nominations.is_foreign(GATED.made)


async def test_what_nobody_knows_is_left_alone(nominations: Nominations) -> None:
    assert nominations.is_foreign(GATED.made)
    assert not nominations.is_foreign(pod("a").gated().made)


async def test_what_an_earlier_process_wrote_is_ours(nominations: Nominations, api: Api) -> None:
    api.has(GATED, "ganglift")
    assert await nominations.learn([GATED.made])
    assert nominations.written == {A: "n1"}


async def test_what_someone_else_wrote_is_not(nominations: Nominations, api: Api) -> None:
    api.has(GATED, "kubectl-edit")
    assert not await nominations.learn([GATED.made])
    assert nominations.is_foreign(GATED.made)


async def test_the_api_is_asked_once(nominations: Nominations, api: Api) -> None:
    api.has(GATED, "kubectl-edit")
    for _ in range(3):
        await nominations.learn([GATED.made])
    assert sum(seen.verb == "get" and seen.name == "a" for seen in api.server.seen) == 1


async def test_another_nomination_of_someone_else_is_asked_about_anew(nominations: Nominations, api: Api) -> None:
    api.has(GATED, "kubectl-edit")
    await nominations.learn([GATED.made])
    api.has(GATED.nominated("n2"), "ganglift")
    await nominations.learn([GATED.nominated("n2").made])
    assert nominations.written == {A: "n2"}


async def test_what_could_not_be_read_is_asked_about_again(nominations: Nominations, api: Api) -> None:
    api.has(GATED, "ganglift")
    api.server.faults.add(on("get", PODS), Refuse(internal_error("etcd is away")))
    await nominations.learn([GATED.made])
    assert nominations.is_foreign(GATED.made)
    await nominations.learn([GATED.made])
    assert nominations.is_ours(GATED.made)


async def test_a_pod_that_has_changed_meanwhile_says_nothing(nominations: Nominations, api: Api) -> None:
    api.has(GATED.uid("another"), "ganglift")
    await nominations.learn([GATED.made])
    api.has(GATED.nominated("n2"), "ganglift")
    await nominations.learn([GATED.made])
    assert nominations.written == {}


async def test_where_a_lifted_member_was_sent_is_known_after_a_restart(nominations: Nominations, api: Api) -> None:
    api.has(LIFTED, "ganglift")
    await nominations.learn([LIFTED.made])
    assert nominations.written == {A: "n1"}


async def test_a_lifted_member_that_kube_scheduler_preempts_for_is_known_after_a_restart(
    nominations: Nominations, api: Api
) -> None:
    api.has(LIFTED, "kube-scheduler")
    await nominations.learn([LIFTED.made])
    assert nominations.written == {A: ""}, "nominated elsewhere than we wrote"


async def test_pods_that_are_none_of_ours_are_not_asked_about(nominations: Nominations, api: Api) -> None:
    await nominations.learn([pod("a").nominated("n1").made, pod("a").gated().made, LIFTED.on("n1").made])
    assert not any(seen.verb == "get" and seen.name == "a" for seen in api.server.seen)


async def test_a_process_that_leads_again_knows_nothing_of_before(nominations: Nominations) -> None:
    nominations.write(A, NodeName("n1"))
    nominations.begin()
    assert nominations.is_foreign(GATED.made)


async def test_pods_that_are_gone_are_forgotten(nominations: Nominations, api: Api) -> None:
    nominations.write(A, NodeName("n1"))
    nominations.retain([Uid("uid-b")])
    assert nominations.written == {}


def test_the_author_is_the_manager_of_that_very_field() -> None:
    other = {"manager": "kubelet", "fieldsV1": {"f:status": {"f:phase": {}}}}
    ours = {"manager": "ganglift", "fieldsV1": {"f:status": {"f:nominatedNodeName": {}}}}
    assert author_of_nomination({"metadata": {"managedFields": [other, ours]}}) == "ganglift"
    assert author_of_nomination({"metadata": {"managedFields": [other]}}) == ""
    assert author_of_nomination({"metadata": {}}) == ""


@pytest.mark.parametrize(
    ("builder", "allowed"),
    [
        (pod("a"), ["n2"]),
        (pod("a").needs_node(("zone", "In", ["a"])), []),
        (pod("a").needs_node(("zone", "In", ["b"])), ["n2"]),
        (pod("a").needs_node(("zone", "In", ["a"])).needs_node(("zone", "In", ["b"])), ["n2"]),
    ],
    ids=["without affinity", "against its affinity", "within its affinity", "within one of two terms"],
)
def test_a_member_that_someone_else_nominated_can_go_to_that_node_only(builder: PodBuilder, allowed: list[str]) -> None:
    snapshot = books([node("n1").label("zone", "a"), node("n2").label("zone", "b")]).snapshot()
    shape = shape_of(pinned(builder.nominated("n2").made))
    assert [name for name in snapshot.names if not check(snapshot, shape, name)] == allowed
