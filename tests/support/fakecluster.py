"""A whole cluster in virtual time: fake API server, kube-scheduler, Job controller, kubelets, auditor, operators.

    async with FakeCluster() as cluster:
        cluster.nodes(3)
        operator = cluster.operator()
        cluster.add(podgroup("g", 4), *pods("g", 4))
        await cluster.until(lambda: cluster.reason("g") == "Unschedulable")

Everything acts by itself as time passes; the scheduler can also be driven step by step (`runs_scheduler=False`). With
`is_on_loopback` the operators reach the API server by HTTP, in real time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from tests.fakes.apiserver.core import Core
from tests.fakes.apiserver.deletion import delete
from tests.fakes.apiserver.refusals import Obj
from tests.fakes.apiserver.server import FakeApiServer
from tests.fakes.apiserver.store import Change, Place
from tests.fakes.controllers import JobController, Kubelets
from tests.fakes.looptime import LoopClock
from tests.fakes.scheduler import FakeScheduler
from tests.support.auditor import Auditor
from tests.support.inprocess import NAMESPACE, Operator
from tests.support.manifests import is_gated, node, node_of

from ganglift.api.names import GROUP_LABEL
from ganglift.kube.client import PatchType
from ganglift.kube.resources import POD_GROUPS, PODS, Resource

DEADLINE_S = 120.0


class FakeCluster:
    """See the module."""

    def __init__(
        self, *, minor: int = 37, runs_scheduler: bool = True, write_every_s: float = 0.0, is_on_loopback: bool = False
    ) -> None:
        self.server = FakeApiServer(minor=minor, clock=LoopClock()) if is_on_loopback else None
        self.deadline_s = DEADLINE_S
        self.core: Core = self.server or Core(minor=minor, clock=LoopClock())
        self.scheduler = FakeScheduler(self.core, write_every_s=write_every_s)
        self.kubelets = Kubelets(self.core)
        self.job_controller = JobController(self.core)
        self.auditor = Auditor()
        self.operators: list[Operator] = []
        self._runs_scheduler = runs_scheduler
        self._tasks: list[asyncio.Task[None]] = []
        self.core.api.store.observe(self._audit)
        self.core.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})

    async def __aenter__(self) -> Self:
        if self.server is not None:
            await self.server.start()
        programs = [self.kubelets.run(), self.job_controller.run(), self._watch_time()]
        programs += [self.scheduler.run()] if self._runs_scheduler else []
        self._tasks = [asyncio.create_task(program) for program in programs]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for operator in self.operators:
            if not operator.has_ended:
                await operator.kill()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.server is not None:
            await self.server.stop()
        if kind is None and self.auditor.findings:
            raise AssertionError("\n".join(self.auditor.findings))

    def operator(self, **options: Any) -> Operator:
        """Start a process of the operator."""
        operator = Operator(self.core, server=self.server, **options)
        self.operators.append(operator)
        operator.start()
        return operator

    # What people and programs do

    def add(self, *manifests: Obj) -> list[Obj]:
        return self.core.add(*manifests)

    def nodes(self, count: int, gpus: int = 1, *, first: int = 1) -> None:
        """Add nodes n1, n2 and so on."""
        self.add(*(node(f"n{number}", gpus) for number in range(first, first + count)))

    def priority_class(self, name: str, value: int, *, preempts: bool = True) -> None:
        policy = "PreemptLowerPriority" if preempts else "Never"
        body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        self.add({**body, "value": value, "preemptionPolicy": policy})

    def edit(
        self, resource: Resource, name: str, patch: Obj, *, subresource: str = "", type_: PatchType = PatchType.MERGE
    ) -> None:
        target = self.core.api.target(resource, "default" if resource.namespaced else "", name, subresource)
        self.core.api.patch(target, type_, patch)

    def delete(self, resource: Resource, name: str, namespace: str = "default") -> None:
        target = self.core.api.target(resource, namespace if resource.namespaced else "", name)
        delete(self.core.api, target, {"propagationPolicy": "Background"})

    def bind(self, name: str, node_name: str) -> None:
        """Bind a pod past the scheduler."""
        binding = {"target": {"name": node_name}}
        self.core.api.bind(self.core.api.target(PODS, "default", name), binding)

    def set_min_count(self, name: str, count: int) -> None:
        self.edit(POD_GROUPS, name, {"spec": {"schedulingPolicy": {"gang": {"minCount": count}}}})

    # What can be seen

    def get(self, resource: Resource, name: str, namespace: str = "default") -> Obj | None:
        stored = self.core.api.store.get(resource, (namespace if resource.namespaced else "", name))
        return stored.obj if stored is not None else None

    def all(self, resource: Resource) -> list[Obj]:
        return [stored.obj for stored in self.core.api.store.table(resource).objects.values()]

    def pods(self, group: str) -> list[Obj]:
        found = [pod for pod in self.all(PODS) if (pod["metadata"].get("labels") or {}).get(GROUP_LABEL) == group]
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def count(self, group: str, *, gated: bool | None = None, bound: bool | None = None) -> int:
        """Number of a group's pods that are not leaving and are, or are not, gated or bound."""
        pods = [pod for pod in self.pods(group) if "deletionTimestamp" not in pod["metadata"]]
        return sum(1 for pod in pods if gated in (None, is_gated(pod)) and bound in (None, bool(node_of(pod))))

    def bound(self, group: str) -> int:
        return self.count(group, bound=True)

    def status(self, group: str) -> Obj:
        return (self.get(POD_GROUPS, group) or {}).get("status") or {}

    def condition(self, group: str, kind: str = "Scheduled") -> Obj:
        return next((c for c in self.status(group).get("conditions", ()) if c["type"] == kind), {})

    def reason(self, group: str) -> str:
        return str(self.condition(group).get("reason", ""))

    def fences(self) -> list[Obj]:
        return [pod for pod in self.all(PODS) if pod["metadata"]["namespace"] == NAMESPACE]

    async def until(self, holds: Callable[[], Any], *, within_s: float | None = None, every_s: float = 0.005) -> None:
        """Let time pass until the condition is true; AssertionError when it is not within the time."""
        loop = asyncio.get_running_loop()
        within_s = self.deadline_s if within_s is None else within_s
        deadline = loop.time() + within_s
        while not holds():
            assert loop.time() < deadline, f"not so within {within_s:g} s"
            await asyncio.sleep(every_s)

    async def stays(self, holds: Callable[[], Any], *, for_s: float) -> None:
        """Let time pass; AssertionError where the condition does not hold all the while."""
        loop = asyncio.get_running_loop()
        until = loop.time() + for_s
        while loop.time() < until:
            assert holds(), f"no longer so {until - loop.time():g} s before the end"
            await asyncio.sleep(0.05)

    async def quiet(self, *, for_s: float = 30.0, within_s: float = 600.0) -> None:
        """Let time pass until nothing has been written for so long."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within_s
        revision, since = self.core.api.store.revision, loop.time()
        while loop.time() - since < for_s:
            assert loop.time() < deadline, f"something is written again and again, also after {within_s:g} s"
            await asyncio.sleep(0.5)
            if self.core.api.store.revision != revision:
                revision, since = self.core.api.store.revision, loop.time()

    # The auditor

    def _audit(self, resource: Resource, place: Place, change: Change) -> None:
        self.auditor.see(self.core.clock.monotonic(), resource.qualified, change.type, change.stored.obj)

    async def _watch_time(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            now = self.core.clock.monotonic()
            if all(operator.has_ended for operator in self.operators):
                self.auditor.attended_since = now
            self.auditor.pass_time(now)
