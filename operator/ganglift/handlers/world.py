"""What the handlers see and how they act: four stores, reads on a miss, and writes whose answers are seen at once.

An answer of the API server that says that the world is not what was looked at becomes `Stale`: look again. One that
says no becomes `Refused`, with the server's own words for the status. All else is a `KubeError` and tried again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from ganglift.api.job import BatchJob, GangJob
from ganglift.api.model import Object
from ganglift.api.names import BATCH_API, GROUP_LABEL
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup, Workload
from ganglift.base.errors import GangliftError
from ganglift.base.ids import Key, Uid
from ganglift.engine.executor import Executor, ref_of
from ganglift.gang.actions import Action, Create, Delete, Kind, Patch
from ganglift.gang.adopt import wants_adoption
from ganglift.gang.membership import group_name_of
from ganglift.gang.outcome import Waiting
from ganglift.gang.reasons import Reason
from ganglift.handlers.store import GroupStore, Store
from ganglift.kube.errors import (
    AlreadyExists,
    Conflict,
    Gone,
    Invalid,
    NotFound,
    NotServed,
    StatusError,
    TooManyRequests,
    Unauthorized,
)


class Loop(Protocol):
    """What the handlers tell the engine of."""

    def set_group(self, group: PodGroup) -> None: ...

    def drop_group(self, key: Key) -> None: ...

    def set_job(self, job: BatchJob) -> None: ...

    def drop_job(self, uid: Uid) -> None: ...

    def pods_of(self, key: Key) -> Sequence[Pod]:
        """Return the pods that bear a group's label."""
        ...

    def set_obstacle(self, key: Key, obstacle: Waiting | None) -> None:
        """Keep a group from being planned for a reason outside its pods; None lets it go on."""
        ...


TEMPLATE_IS_FIXED = "where the pod template is the cause, delete the Job and create it anew: it can't be changed"


class Stale(GangliftError):
    """The world has moved on since it was looked at; it has been read again."""


class Refused(GangliftError):
    """The API server refused an action; `trouble` says so in its own words."""

    def __init__(self, action: Create | Patch | Delete, error: StatusError) -> None:
        verb = {Create: "creating", Patch: "changing", Delete: "deleting"}[type(action)]
        words = f"{verb} {_noun(action)} was refused: {error.message or error.reason}"
        if isinstance(error, Invalid) and isinstance(action, Create) and action.kind is Kind.BATCH_JOB:
            words += f"; {TEMPLATE_IS_FIXED}"
        self.is_of_trial = isinstance(action, Create) and action.is_trial and isinstance(error, Invalid)
        """Whether an object that was only tried is not valid."""
        self.trouble = Waiting(Reason.REFUSED, words)
        super().__init__(self.trouble.message)


MODELS: dict[Kind, type[Object]] = {
    Kind.WORKLOAD: Workload,
    Kind.POD_GROUP: PodGroup,
    Kind.GANG_JOB: GangJob,
    Kind.BATCH_JOB: BatchJob,
}


class World:
    """The objects of the four kinds as last seen, kept in step with the engine.

    `changed` is told of each object that came, changed or went, by a watch or by our own writes, and whether that was
    more than a status or a note: what failed before may now be possible.
    """

    def __init__(self, executor: Executor, loop: Loop, changed: Callable[[Kind, Object, bool], None]) -> None:
        self.workloads: Store[Workload] = Store()
        self.groups = GroupStore()
        self.jobs: Store[GangJob] = Store()
        self.children: Store[BatchJob] = Store()
        self.loop = loop
        self.minor = 0
        """The cluster's version of Kubernetes 1; the first list brings it."""
        self.shortages: dict[Key, Waiting] = {}
        """Why pods are missing, of groups that lack them because a quota or something else refuses them."""
        self._said: dict[Uid, str] = {}
        self._changed = changed
        self._executor = executor
        self._stores: dict[Kind, Store[Any]] = {
            Kind.WORKLOAD: self.workloads,
            Kind.POD_GROUP: self.groups,
            Kind.GANG_JOB: self.jobs,
            Kind.BATCH_JOB: self.children,
        }

    # What is shown

    def put(self, kind: Kind, obj: Object) -> bool:
        """Take an object as it is now; return False where nothing new is in it."""
        known = self._stores[kind].get(obj.key)
        if not self._stores[kind].put(obj):
            return False
        if isinstance(obj, PodGroup):
            self.loop.set_group(obj)
        elif isinstance(obj, BatchJob):
            self.loop.set_job(obj)
        self._changed(kind, obj, _is_edit(known, obj))
        return True

    def drop(self, kind: Kind, key: Key, uid: Uid) -> None:
        """Take the end of an object."""
        gone = self._stores[kind].drop(key, uid)
        self._said.pop(uid, None)
        if isinstance(gone, PodGroup):
            self.loop.drop_group(key)
            self.shortages.pop(key, None)
        elif isinstance(gone, BatchJob):
            self.loop.drop_job(gone.uid)
        if gone is not None:
            self._changed(kind, gone, True)

    def take_list(self, kind: Kind, listed: Sequence[Object], version: int) -> None:
        """Take a full list of that version: what it lacks is gone without a word.

        The list of batch/v1 Jobs is of those that bear the group's label themselves, so it says nothing of others.
        """
        for gone in self._stores[kind].missing_from(listed, version):
            if kind is not Kind.BATCH_JOB or GROUP_LABEL in gone.metadata.labels:
                self.drop(kind, gone.key, gone.uid)
        for obj in listed:
            self.put(kind, obj)

    def known(self, kind: Kind) -> Iterator[Object]:
        """Return all objects of a kind as last seen."""
        return iter(self._stores[kind])

    def is_news(self, uid: Uid, message: str) -> bool:
        """Whether this is not what was last said about an object; it is from now on."""
        is_news = self._said.get(uid) != message
        self._said[uid] = message
        return is_news

    # Reads

    async def workload(self, key: Key) -> Workload | None:
        """Return a Workload, asking the API where none is known."""
        return self.workloads.get(key) or await self._read(Kind.WORKLOAD, key)

    async def child(self, key: Key) -> BatchJob | None:
        """Return the batch/v1 Job of that name, whoever's it is, asking the API where none of ours is known."""
        return self.children.get(key) or await self._read(Kind.BATCH_JOB, key)

    def groups_near(self, workload: Key, names: Iterable[str]) -> tuple[PodGroup, ...]:
        """Return the PodGroups that refer to a Workload or bear one of these names."""
        return self.groups.near(workload, names)

    # Writes

    async def carry_out(self, actions: Iterable[Action]) -> None:
        """Do one thing after the other; raise Stale, Refused or KubeError at the first that fails."""
        for action in actions:
            try:
                answer = await self._executor.perform(action)
            except StatusError as error:
                if not isinstance(action, Create | Patch | Delete):
                    raise
                await self._judge(action, error)
            else:
                if answer is not None and isinstance(action, Create | Patch):
                    self._see(action.kind, MODELS[action.kind].model_validate(answer))

    async def _judge(self, action: Create | Patch | Delete, error: StatusError) -> None:
        if isinstance(error, Unauthorized | NotServed | TooManyRequests | Gone):
            raise error
        if isinstance(error, AlreadyExists | Conflict | NotFound):
            await self._read(action.kind, action.key)
            raise Stale(str(error)) from error
        if isinstance(error, Invalid) and isinstance(action, Patch):
            # A uid that is not the object's is also answered with Invalid.
            now = await self._read(action.kind, action.key)
            if now is None or now.uid != action.uid:
                raise Stale(str(error)) from error
        raise Refused(action, error) from error

    async def _read(self, kind: Kind, key: Key) -> Any:
        """Read an object from the API into its store, and drop it there where it is gone."""
        known = self._stores[kind].get(key)
        try:
            obj = MODELS[kind].model_validate(await self._executor.read(ref_of(kind, key)))
        except NotFound:
            if known is not None:
                self.drop(kind, key, known.uid)
            return None
        self._see(kind, obj)
        return obj

    def _see(self, kind: Kind, obj: Object) -> None:
        if not isinstance(obj, BatchJob) or concerns_us(obj):
            self.put(kind, obj)


def _is_edit(known: Object | None, now: Object) -> bool:
    if known is None or known.uid != now.uid:
        return True
    return known.metadata.generation != now.metadata.generation


def concerns_us(job: BatchJob) -> bool:
    """Whether a batch/v1 Job is worth remembering: a child, one to adopt, or one whose pods bear a group's label."""
    owner = job.controller
    is_child = owner is not None and owner.api_version == BATCH_API
    return is_child or wants_adoption(job) or bool(group_name_of(job))


def _noun(action: Create | Patch | Delete) -> str:
    kind = {Kind.GANG_JOB: "Job", Kind.BATCH_JOB: "batch/v1 Job"}.get(action.kind, action.kind.value)
    return f"{kind} {action.key.name}"
