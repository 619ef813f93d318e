"""An informer at work on a fake API server, and the sink that it fills."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tests.fakes.apiserver import FakeApiServer
from tests.support.async_polling import until

from ganglift.api.pod import Pod
from ganglift.base.ids import Uid
from ganglift.kube.client import PatchType
from ganglift.kube.http import HttpClient
from ganglift.kube.informer import Informer, Timing
from ganglift.kube.resources import PODS

QUICK = Timing(silence_s=0.3, brief_s=0.05, backoff_base_s=0.01, backoff_max_s=0.05, page_size=2)


class Memory:
    """A sink that remembers what it holds and what it was told."""

    def __init__(self) -> None:
        self.pods: dict[Uid, Pod] = {}
        self.told: list[tuple[str, str]] = []
        self.replaced = 0
        self.reached: list[int] = []

    def replace(self, objects: Sequence[Pod], resource_version: str) -> None:
        self.replaced += 1
        self.pods = {obj.uid: obj for obj in objects}

    def upsert(self, obj: Pod) -> None:
        self.told.append(("upsert", obj.name))
        self.reached.append(int(obj.metadata.resource_version))
        self.pods[obj.uid] = obj

    def delete(self, obj: Pod) -> None:
        self.told.append(("delete", obj.name))
        del self.pods[obj.uid]

    @property
    def versions(self) -> dict[str, str]:
        return {pod.name: pod.metadata.resource_version for pod in self.pods.values()}


class Mirrored:
    """A fake with pods, an informer of them, and its sink."""

    def __init__(self, fake: FakeApiServer, client: HttpClient) -> None:
        self.fake = fake
        self.client = client
        self.sink = Memory()
        self.informer = Informer(client, PODS, Pod.model_validate_json, self.sink, timing=QUICK, rng=random.Random(1))
        self._task: asyncio.Task[Any] | None = None

    async def start(self) -> None:
        self._task = asyncio.ensure_future(self.informer.run())
        await self.informer.synced()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def there(self) -> dict[str, str]:
        stored = self.fake.api.store.table(PODS).objects
        return {place[1]: str(pod.revision) for place, pod in stored.items()}

    async def agree(self) -> None:
        """Return once the sink holds what the server holds."""
        try:
            await until(lambda: self.sink.versions == self.there())
        except TimeoutError:
            assert self.sink.versions == self.there()

    async def change(self, name: str) -> None:
        number = str(len(self.fake.seen))
        body = {"metadata": {"labels": {"n": number}}}
        await self.client.patch(PODS.ref(name, "default"), body, patch_type=PatchType.MERGE)

    async def remove(self, name: str) -> None:
        await self.client.delete(PODS.ref(name, "default"))

    def watches_seen(self) -> list[dict[str, str]]:
        return [dict(seen.query) for seen in self.fake.seen if seen.verb == "watch"]
