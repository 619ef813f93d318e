"""The life of the handlers: what kopf tells, what is looked at because of it, first lists, sweep.

kopf calls for each event of our three kinds and of batch/v1 Jobs (`on.event` only: no finalizers, no annotations, no
writes of its own). An event only says that it is time to look: it puts the newest version into the world and the keys
that it may concern into the queue. Workers, which run while this process leads, look at a key and do what is left.

kopf tells nothing of objects that vanished while its watch was broken, and ends `on.event` handlers that fail without
repeating them. So the sweep lists everything again and puts every key into the queue; nothing depends on an event.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import kopf
from pydantic import ValidationError
from pydantic_core import from_json

from ganglift.api.job import BatchJob, GangJob
from ganglift.api.model import Object
from ganglift.api.names import GROUP_LABEL
from ganglift.api.scheduling import PodGroup
from ganglift.base.clock import Clock
from ganglift.base.ids import Key
from ganglift.engine.executor import RESOURCES, Executor, NotLeading
from ganglift.gang.actions import Kind
from ganglift.gang.adopt import wants_adoption
from ganglift.gang.jobstatus import is_over
from ganglift.handlers.adopted import reconcile_adopted
from ganglift.handlers.job import reconcile_job
from ganglift.handlers.podgroup import reconcile_group
from ganglift.handlers.queue import Queue
from ganglift.handlers.quota import QuotaKeeper
from ganglift.handlers.store import workload_of
from ganglift.handlers.workload import reconcile_workload
from ganglift.handlers.world import MODELS, Loop, Refused, Stale, World, concerns_us
from ganglift.kube.client import EVERYTHING, Client, Selector
from ganglift.kube.decoding import Decoder, Pause, split_page
from ganglift.kube.errors import Gone, KubeError, Request

log = logging.getLogger(__name__)

KINDS = (Kind.GANG_JOB, Kind.WORKLOAD, Kind.POD_GROUP, Kind.BATCH_JOB)
WORKERS = 16
SWEEP_S = 10.0
SWEEP_SHARE = 20
"""A sweep waits at least so many times as long as the last one took: it never costs more than a twentieth."""
RETRY_S = 1.0
PAGE = 100

Item = tuple[Kind, Key]
_SELECTORS = {Kind.BATCH_JOB: Selector(labels=GROUP_LABEL)}
"""Children bear the label; among the other Jobs of a cluster none can vanish in a way that matters."""


class Kinds:
    """The handlers of one operator."""

    def __init__(self, client: Client, executor: Executor, loop: Loop, clock: Clock) -> None:
        self.world = World(executor, loop, self._wake)
        self.queue: Queue[Item] = Queue()
        self._client = client
        self._clock = clock
        self._decoders = {kind: Decoder(MODELS[kind].model_validate_json, RESOURCES[kind].qualified) for kind in KINDS}
        self.quota = QuotaKeeper(self.world, client, clock, lambda key: self.queue.add((Kind.POD_GROUP, key)))
        self._is_synced = False

    @property
    def is_synced(self) -> bool:
        """Whether the first lists have been read."""
        return self._is_synced

    def register(self, registry: kopf.OperatorRegistry) -> None:
        """Have kopf tell of every event of our kinds and of batch/v1 Jobs."""
        for kind in KINDS:
            self._listen(registry, kind)

    def _listen(self, registry: kopf.OperatorRegistry, kind: Kind) -> None:
        resource = RESOURCES[kind]
        loop = asyncio.get_running_loop()

        async def tell(event: Mapping[str, Any], **_: Any) -> None:
            # kopf may run on a thread of its own; everything else here belongs to this loop.
            loop.call_soon_threadsafe(self.see, kind, event["type"], event["object"])

        kopf.on.event(
            resource.group, resource.version, resource.plural, id=f"see-{kind.value.lower()}", registry=registry
        )(tell)

    def see(self, kind: Kind, event_type: str | None, raw: Mapping[str, Any]) -> None:
        """Take an event of a watch: `DELETED`, or anything else for an object that is there."""
        try:
            obj = MODELS[kind].model_validate(raw)
        except ValidationError as error:
            name = (raw.get("metadata") or {}).get("name")
            log.warning(
                "an object can't be read and is left out", extra={"kind": kind.value, "key": name, "why": str(error)}
            )
            return
        if isinstance(obj, BatchJob) and not concerns_us(obj):
            self._wake(kind, obj, is_edit=False)  # it may have, or have had, the name that a child of ours needs
        elif event_type == "DELETED":
            self.world.drop(kind, obj.key, obj.uid)
        else:
            self.world.put(kind, obj)

    def _wake(self, kind: Kind, obj: Object, is_edit: bool) -> None:
        for item in self._concerned(kind, obj):
            self.queue.add(item, is_urgent=is_edit and item == (kind, obj.key))

    def _concerned(self, kind: Kind, obj: Object) -> Iterator[Item]:
        """Yield what to look at because of an object: itself, and what it was made for or stands in the way of."""
        if not isinstance(obj, BatchJob) or wants_adoption(obj):
            yield kind, obj.key
        owner = obj.controller
        if kind is Kind.POD_GROUP and owner is not None and (owner.api_version, owner.kind) == ("batch/v1", "Job"):
            yield Kind.BATCH_JOB, Key(obj.metadata.namespace, owner.name)
        if kind is Kind.POD_GROUP and owner is not None and owner.kind == "PodGroup":
            yield Kind.POD_GROUP, Key(obj.metadata.namespace, owner.name)
        workload = workload_of(obj) if isinstance(obj, PodGroup) else obj.key
        if workload is not None and kind is not Kind.GANG_JOB:
            if self.world.jobs.get(workload) is not None:
                yield Kind.GANG_JOB, workload
            if kind is Kind.POD_GROUP and self.world.workloads.get(workload) is not None:
                yield Kind.WORKLOAD, workload
        if kind is Kind.WORKLOAD or (isinstance(obj, GangJob) and is_over(obj)):
            yield from ((Kind.POD_GROUP, group.key) for group in self.world.groups_near(obj.key, ()))

    # First lists and sweep

    async def synced(self) -> None:
        """Return once the world has been read in full, for the first time."""
        while not self._is_synced:
            try:
                await self.sync()
            except KubeError as error:
                log.warning("our kinds could not be listed, trying again", extra={"error": str(error)})
                await self._clock.sleep(RETRY_S)

    async def sync(self) -> None:
        """List everything, take what is new, drop what is gone, and have every key looked at."""
        if not self.world.minor:
            version = from_json(await self._client.fetch("/version"))
            self.world.minor = int(version["minor"].rstrip("+"))
        for kind in KINDS:
            listed, version = await self._list(kind)
            self.world.take_list(kind, listed, version)
            for obj in self.world.known(kind):
                self._wake(kind, obj, is_edit=False)
        self._is_synced = True

    async def _list(self, kind: Kind) -> tuple[list[Object], int]:
        """Return all objects of a kind and the version of that list."""
        while True:
            try:
                return await self._pages(kind)
            except Gone:
                log.info("a list took longer than the server remembers, starting again", extra={"kind": kind.value})

    async def _pages(self, kind: Kind) -> tuple[list[Object], int]:
        resource, selector, pause = RESOURCES[kind], _SELECTORS.get(kind, EVERYTHING), Pause()
        listed: list[Object] = []
        token = ""
        while True:
            body = await self._client.list_page(resource, selector=selector, limit=PAGE, continue_token=token)
            page = split_page(body, Request("list", resource.qualified))
            for item in page.items:
                if (obj := self._decoders[kind].one(item)) is not None:
                    listed.append(obj)
                await pause.if_due()
            token = page.continue_token
            if not token:
                return listed, int(page.resource_version)

    # Work

    async def run(self) -> None:
        """Work until cancelled; only a process that leads does."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._sweep(), name="sweep kinds")
                tasks.create_task(self.quota.run(), name="quota")
                for number in range(WORKERS):
                    tasks.create_task(self._work(), name=f"kinds {number}")
        finally:
            self.queue.close()

    async def _sweep(self) -> None:
        while True:
            started = self._clock.monotonic()
            try:
                await self.sync()
            except KubeError as error:
                log.warning("our kinds could not be listed, trying again", extra={"error": str(error)})
            took_s = self._clock.monotonic() - started
            await self._clock.sleep(max(SWEEP_S, SWEEP_SHARE * took_s))

    async def _work(self) -> None:
        while True:
            item = await self.queue.take()
            try:
                again_s = await self._look_at(item)
            except NotLeading:
                self.queue.done(item)
            except (KubeError, Refused, Stale) as error:
                self.queue.failed(item)
                log.info(
                    "not done yet, tried again", extra={"kind": item[0].value, "key": str(item[1]), "error": str(error)}
                )
            except Exception:
                # A fault in one object's logic must not end the work on all others.
                self.queue.failed(item)
                log.exception("an object could not be looked at", extra={"kind": item[0].value, "key": str(item[1])})
            else:
                self.queue.done(item)
                if again_s is not None:
                    self.queue.add_later(item, again_s)

    async def _look_at(self, item: Item) -> float | None:
        kind, key = item
        match kind:
            case Kind.GANG_JOB:
                return await reconcile_job(self.world, self._clock, key)
            case Kind.WORKLOAD:
                await reconcile_workload(self.world, self._clock, key)
            case Kind.POD_GROUP:
                await reconcile_group(self.world, key)
            case Kind.BATCH_JOB:
                await reconcile_adopted(self.world, key)
        return None
