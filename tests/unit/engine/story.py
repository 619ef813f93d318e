"""A story of several gangs: room that comes late, edits, a lost member, a room that is stolen, a suspension, an end.

It is told by what the API shows, so it can be told with an operator that dies at any point and is started again: what
people and other controllers do waits until the operator has done its part, and the end must be the same.
"""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from tests.fakes.apiserver.store import Change, Place
from tests.support.fakecluster import FakeCluster
from tests.support.inprocess import Fate
from tests.support.manifests import is_gated, job, node, node_of, nominated, pod, podgroup

from ganglift.api.names import GROUP_LABEL
from ganglift.kube.resources import BATCH_JOBS, JOBS, NODES, POD_GROUPS, PODS, WORKLOADS, Resource

Summary = dict[str, Any]


class Story:
    """One telling. `fates` say when the processes die, one after another; the last one lives.

    The next one starts `restart_s` after a death.
    """

    def __init__(self, cluster: FakeCluster, *fates: Fate, restart_s: float = 0.05) -> None:
        self.cluster = cluster
        self.fates = (*fates, Fate())
        self._restart_s = restart_s
        self._thief_came = False
        self.first, self.second = "a", "b"
        """The gang that started first of the two that compete: requests that fail may cost the older one its turn."""
        cluster.core.api.store.observe(self._steal)

    async def tell(self) -> Summary:
        """Return how all stands in the end."""
        watchman = asyncio.create_task(self._restart())
        self.cluster.operator(fate=self.fates[0])
        for chapter in (
            self.room_comes,
            self.two_compete,
            self.a_member_is_lost,
            self.room_is_stolen,
            self.one_for_all,
            self.the_end,
        ):
            await chapter()
        await self.cluster.quiet(for_s=25)
        watchman.cancel()
        await asyncio.wait({watchman})
        return self.summary()

    # Chapters

    async def room_comes(self) -> None:
        """A gang of four finds room for three, then for all."""
        cluster = self.cluster
        cluster.nodes(3)
        cluster.add(job("train", 4))
        await cluster.until(lambda: cluster.reason("train-workers") == "Unschedulable")
        cluster.add(node("n4"))
        await cluster.until(lambda: cluster.reason("train-workers") == "Scheduled")

    async def two_compete(self) -> None:
        """Two gangs of pods without an owner wait; when the first gang ends, one of them starts."""
        cluster = self.cluster
        cluster.add(podgroup("a", 3))
        await asyncio.sleep(1)
        cluster.add(podgroup("b", 3), *(one for n in range(3) for one in (pod(f"a-{n}", "a"), pod(f"b-{n}", "b"))))
        await cluster.until(lambda: {cluster.reason(name) for name in "ab"} == {"Unschedulable"})
        for one in cluster.pods("train-workers"):
            cluster.kubelets.end(one["metadata"]["name"])
        await cluster.until(lambda: "Scheduled" in (cluster.reason("a"), cluster.reason("b")))
        self.first, self.second = sorted("ab", key=lambda name: cluster.reason(name) != "Scheduled")
        await cluster.until(lambda: cluster.reason("train-workers") == "Succeeded")

    async def a_member_is_lost(self) -> None:
        """A member fails and is made anew; the gang that waits is made smaller, and then there is room for it too."""
        cluster, first, second = self.cluster, self.first, self.second
        cluster.kubelets.end(f"{first}-1", phase="Failed")
        await cluster.until(lambda: cluster.reason(first) != "Scheduled")
        cluster.add(pod(f"{first}-3", first))
        await cluster.until(lambda: cluster.reason(first) == "Scheduled")
        cluster.set_min_count(second, 2)
        await cluster.until(lambda: cluster.status(second).get("need") == 2)
        cluster.add(node("n5"))
        await cluster.until(lambda: cluster.reason(second) == "Scheduled")

    async def room_is_stolen(self) -> None:
        """The room of a released member is taken, the gang is taken back, and starts when the thief has gone."""
        cluster = self.cluster
        cluster.nodes(3, first=6)
        await cluster.until(lambda: cluster.bound(self.second) == 3)
        late = job("late", 2, backoffLimit=0, scheduleTimeoutSeconds=10)
        late["spec"]["scheduling"]["disruptionMode"] = {"all": {}}
        cluster.add(late)
        await cluster.until(lambda: self._thief_came)
        await cluster.until(lambda: cluster.count("late-workers", gated=True) == 2)
        cluster.delete(PODS, "thief")
        await cluster.until(lambda: cluster.reason("late-workers") == "Scheduled")

    async def one_for_all(self) -> None:
        """A gang that is disrupted as one loses a member and its node, starts anew, and runs when the node is back."""
        cluster = self.cluster
        members = cluster.pods("late-workers")
        old, lost = {one["metadata"]["uid"] for one in members}, members[0]
        cluster.edit(NODES, node_of(lost), {"spec": {"unschedulable": True}})
        cluster.edit(PODS, lost["metadata"]["name"], {"metadata": {"finalizers": None}})
        cluster.delete(PODS, lost["metadata"]["name"])
        await cluster.until(lambda: ("Degraded", "True") in _conditions(cluster.get(POD_GROUPS, "late-workers")))
        await cluster.until(lambda: not old & {one["metadata"]["uid"] for one in cluster.pods("late-workers")})
        cluster.edit(NODES, node_of(lost), {"spec": {"unschedulable": False}})
        await cluster.until(lambda: cluster.reason("late-workers") == "Scheduled")

    async def the_end(self) -> None:
        """One gang is suspended and resumed, one is deleted."""
        cluster = self.cluster
        cluster.edit(JOBS, "late", {"spec": {"suspend": True}})
        await cluster.until(lambda: cluster.reason("late-workers") == "Suspended" and not cluster.pods("late-workers"))
        await cluster.until(lambda: ("Suspended", "True") in _conditions(cluster.get(JOBS, "late")))
        cluster.edit(JOBS, "late", {"spec": {"suspend": False}})
        await cluster.until(lambda: cluster.reason("late-workers") == "Scheduled")
        cluster.delete(JOBS, "train")
        for number in range(3):
            cluster.delete(PODS, f"{self.second}-{number}")
        cluster.delete(POD_GROUPS, self.second)
        await cluster.until(lambda: not cluster.pods(self.second) and cluster.get(WORKLOADS, "train") is None)

    # What happens beside it

    async def _restart(self) -> None:
        for fate, following in pairwise(self.fates):
            await fate.died.wait()
            await self.cluster.operators[-1].kill()
            await asyncio.sleep(self._restart_s)
            self.cluster.operator(fate=following)

    def _steal(self, resource: Resource, place: Place, change: Change) -> None:
        """Once the last gate of the late gang has gone, put a pod where a member is to go."""
        labels = change.stored.obj["metadata"].get("labels") or {}
        if self._thief_came or resource != PODS or labels.get(GROUP_LABEL) != "late-workers":
            return
        members = self.cluster.pods("late-workers")
        if len(members) == 2 and not any(is_gated(one) for one in members):
            self._thief_came = True
            asyncio.get_running_loop().call_soon(self._put_thief)

    def _put_thief(self) -> None:
        target = max(nominated(one) for one in self.cluster.pods("late-workers") if not node_of(one))
        self.cluster.add(pod("thief"))
        self.cluster.bind("thief", target)

    # How it ends

    def summary(self) -> Summary:
        """What must be the same however often the operator was killed: no names, no times."""
        cluster = self.cluster
        names = {self.first: "first", self.second: "second"}

        def called(name: str) -> str:
            return names.get(name, name)

        members = sorted(
            (
                called((one["metadata"].get("labels") or {}).get(GROUP_LABEL, "")),
                one["status"]["phase"],
                is_gated(one),
                bool(node_of(one)),
                nominated(one),
            )
            for one in cluster.all(PODS)
        )
        return {
            "pods": members,
            "fences": len(cluster.fences()),
            "groups": {called(g["metadata"]["name"]): _essence(g["status"]) for g in cluster.all(POD_GROUPS)},
            "jobs": {one["metadata"]["name"]: _essence(one["status"]) for one in cluster.all(JOBS)},
            "children": {one["metadata"]["name"]: _essence(one["status"]) for one in cluster.all(BATCH_JOBS)},
            "workloads": sorted(one["metadata"]["name"] for one in cluster.all(WORKLOADS)),
        }


def _conditions(obj: dict[str, Any] | None) -> set[tuple[str, str]]:
    status = (obj or {}).get("status") or {}
    return {(condition["type"], condition["status"]) for condition in status.get("conditions", ())}


def _essence(status: dict[str, Any]) -> dict[str, Any]:
    """A status without times and uids."""
    kept = {key: value for key, value in status.items() if not key.endswith(("Time", "UID")) and key != "conditions"}
    conditions = [(c["type"], c["status"], c.get("reason", "")) for c in status.get("conditions", ())]
    return kept | {"conditions": sorted(conditions)}
