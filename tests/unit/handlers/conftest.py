"""The handlers on a fake API server, with a loop that only takes down what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.fakes.apiserver import FakeApiServer
from tests.kinds import GangJobBuilder, WorkloadBuilder

from ganglift.api.job import BatchJob
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.base.clock import SystemClock
from ganglift.base.ids import Key, Uid
from ganglift.engine.executor import Executor
from ganglift.gang.outcome import Waiting
from ganglift.handlers.lifecycle import Kinds
from ganglift.kube.client import PatchType
from ganglift.kube.resources import Resource

DEADLINE_S = 10.0


@dataclass
class Leadership:
    is_leading: bool = True


@dataclass
class Told:
    """What the loop was told: the groups and Jobs that it knows now, obstacles, and events about objects."""

    groups: dict[Key, PodGroup] = field(default_factory=dict)
    jobs: dict[Uid, BatchJob] = field(default_factory=dict)
    obstacles: dict[Key, Waiting | None] = field(default_factory=dict)
    events: list[tuple[str, str]] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)

    def pods_of(self, key: Key) -> list[Pod]:
        return [pod for pod in self.pods if pod.group == key]

    def set_group(self, group: PodGroup) -> None:
        self.groups[group.key] = group

    def drop_group(self, key: Key) -> None:
        self.groups.pop(key, None)

    def set_job(self, job: BatchJob) -> None:
        self.jobs[job.uid] = job

    def drop_job(self, uid: Uid) -> None:
        self.jobs.pop(uid, None)

    def set_obstacle(self, key: Key, obstacle: Waiting | None) -> None:
        self.obstacles[key] = obstacle

    def announce(self, resource: Resource, key: Key, uid: Uid, *, reason: str, message: str, is_warning: bool) -> None:
        self.events.append((reason, message))


class Stage:
    """A fake API server and the handlers that act on it."""

    def __init__(self, server: FakeApiServer, kinds: Kinds, told: Told, leadership: Leadership) -> None:
        self.server = server
        self.kinds = kinds
        self.told = told
        self.leadership = leadership

    def add(self, *builders: GangJobBuilder | WorkloadBuilder | Any) -> None:
        """Make objects in the API, as a user would."""
        for builder in builders:
            self.server.add(manifest(builder))

    def get(self, resource: Resource, name: str) -> dict[str, Any] | None:
        """Return an object from inside the API, None if it is not there."""
        found = [obj for obj in self.all(resource) if obj["metadata"]["name"] == name]
        return found[0] if found else None

    def all(self, resource: Resource) -> list[dict[str, Any]]:
        return [stored.copy() for stored in self.server.api.store.table(resource).objects.values()]

    async def edit(self, resource: Resource, name: str, patch: dict[str, Any], subresource: str | None = None) -> None:
        """Change an object, as a user or a controller would."""
        async with self.server.client() as client:
            ref = resource.ref(name, "default")
            await client.patch(ref, patch, patch_type=PatchType.MERGE, subresource=subresource)

    async def delete(self, resource: Resource, name: str) -> None:
        async with self.server.client() as client:
            await client.delete(resource.ref(name, "default"))

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """The handlers lead and work meanwhile."""
        task = asyncio.create_task(self.kinds.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def look_again(self) -> None:
        """What the sweep does in time."""
        await self.kinds.sync()


async def until(ask: Callable[[], Any]) -> Any:
    """Ask until the answer is true and return it; AssertionError when the deadline has passed."""
    async with asyncio.timeout(DEADLINE_S):
        while not (answer := ask()):  # noqa: ASYNC110 - what is waited for is in another process's place, with no event
            await asyncio.sleep(0.01)
        return answer


async def settled(stage: Stage) -> None:
    """Wait until the handlers have read everything and have nothing left to look at."""
    await until(lambda: stage.kinds.is_synced and stage.kinds.queue.is_idle)


def manifest(builder: Any) -> dict[str, Any]:
    """Return a builder's object as a user's manifest: without what the API server fills in."""
    api = {"GangJobBuilder": "batch.ganglift.dev/v1 Job", "BatchJobBuilder": "batch/v1 Job"}
    scheduling = "scheduling.ganglift.dev/v1beta1 "
    api |= {"WorkloadBuilder": scheduling + "Workload", "PodGroupBuilder": scheduling + "PodGroup"}
    api_version, kind = api[type(builder).__name__].split()
    wire = deepcopy(builder.wire)
    for name in ("uid", "generation", "resourceVersion", "creationTimestamp"):
        wire["metadata"].pop(name, None)
    return {"apiVersion": api_version, "kind": kind, **wire}


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with FakeApiServer() as server, server.client() as client:
        told, leadership = Told(), Leadership()
        executor = Executor(client, leadership, told)
        yield Stage(server, Kinds(client, executor, told, SystemClock()), told, leadership)
