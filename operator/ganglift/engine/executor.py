"""Every write of the product goes through here, so that a replica that does not lead writes nothing."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol

from pydantic_core import from_json

from ganglift.base.errors import GangliftError
from ganglift.base.ids import Key, Uid
from ganglift.gang.actions import Action, Announce, Create, Delete, Evict, Kind, Patch
from ganglift.kube.client import Body, Client, PatchType, Propagation
from ganglift.kube.errors import AlreadyExists, NotFound
from ganglift.kube.resources import BATCH_JOBS, JOBS, POD_GROUPS, PODS, WORKLOADS, Ref, Resource

RESOURCES = {
    Kind.WORKLOAD: WORKLOADS,
    Kind.POD_GROUP: POD_GROUPS,
    Kind.GANG_JOB: JOBS,
    Kind.BATCH_JOB: BATCH_JOBS,
    Kind.POD: PODS,
}
"""Where the kinds that `gang` speaks of live in the API."""


class NotLeading(GangliftError):
    """This replica stands by: another one holds the Lease and does the writing."""

    def __init__(self) -> None:
        super().__init__("nothing is written: this replica does not lead")


class Leadership(Protocol):
    """Whether this process may write."""

    @property
    def is_leading(self) -> bool: ...


class Announcer(Protocol):
    """Who writes events; never blocks, never fails."""

    def announce(
        self, resource: Resource, key: Key, uid: Uid, *, reason: str, message: str, is_warning: bool
    ) -> None: ...


class Executor:
    """Carries out writes while this process leads; raises NotLeading otherwise, and what the client raises."""

    def __init__(self, client: Client, leadership: Leadership, announcer: Announcer) -> None:
        self._client = client
        self._leadership = leadership
        self._announcer = announcer

    @property
    def is_leading(self) -> bool:
        return self._leadership.is_leading

    async def read(self, ref: Ref) -> Any:
        """Return an object that no watch shows."""
        return from_json(await self._client.get(ref))

    async def create(
        self, resource: Resource, body: Body, *, namespace: str | None = None, dry_run: bool = False
    ) -> Any:
        """Make an object and return it."""
        self._check()
        return from_json(await self._client.create(resource, body, namespace=namespace, dry_run=dry_run))

    async def ensure(self, ref: Ref, body: Body) -> bool:
        """Make a cluster-wide object unless it is there; return whether it was missing."""
        try:
            await self._client.get(ref)
        except NotFound:
            self._check()
            with suppress(AlreadyExists):
                await self._client.create(ref.resource, body)
            return True
        return False

    async def patch(
        self, ref: Ref, body: Body, patch_type: PatchType, *, subresource: str | None = None, dry_run: bool = False
    ) -> Any:
        """Change an object and return it."""
        self._check()
        answer = await self._client.patch(ref, body, patch_type=patch_type, subresource=subresource, dry_run=dry_run)
        return from_json(answer)

    async def delete(self, ref: Ref, *, uid: str, grace_period_s: int | None = None) -> None:
        """Delete that incarnation of an object, and in the background what it owns."""
        self._check()
        await self._client.delete(ref, uid=uid, grace_period_s=grace_period_s, propagation=Propagation.BACKGROUND)

    async def carry_out(self, actions: Iterable[Action]) -> None:
        """Do what `gang` asks for, in order; the first error stops it, and the next look at the world goes on."""
        for action in actions:
            await self.perform(action)

    async def perform(self, action: Action) -> Any:
        """Do one thing that `gang` asks for; return the object that was made or changed, None for the other actions."""
        match action:
            case Create():
                resource, namespace = RESOURCES[action.kind], action.key.namespace
                made = await self.create(resource, action.body, namespace=namespace, dry_run=action.is_trial)
                return None if action.is_trial else made
            case Patch():
                return await self.patch(
                    ref_of(action.kind, action.key),
                    action.body,
                    PatchType(action.type.value),
                    subresource=action.subresource or None,
                )
            case Delete():
                await self.delete(ref_of(action.kind, action.key), uid=action.uid)
            case Evict():
                self._check()
                await self._client.evict(ref_of(Kind.POD, action.key), uid=action.uid, dry_run=action.is_trial)
            case Announce():
                self.announce(action)
        return None

    def announce(self, event: Announce) -> None:
        """Record an event; a replica that stands by stays silent."""
        if self.is_leading:
            self._announcer.announce(
                RESOURCES[event.kind],
                event.key,
                event.uid,
                reason=event.reason,
                message=event.message,
                is_warning=event.is_warning,
            )

    def _check(self) -> None:
        if not self.is_leading:
            raise NotLeading


def ref_of(kind: Kind, key: Key) -> Ref:
    """Return where an object of that kind lives."""
    return Ref(RESOURCES[kind], key.name, key.namespace)
