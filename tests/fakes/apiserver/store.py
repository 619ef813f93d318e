"""What is stored, in which order it changed, and who owns whom.

One revision counts for everything, as in etcd. Objects are never changed in place: a write puts a new one in its stead,
so a list, a watch event and an old page of a list may share them. Every change goes into its kind's `Log`, from which
watches are served; `Log.compact` forgets, so that a watch from before gets its 410.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pydantic_core import from_json, to_json
from tests.fakes.apiserver.refusals import Obj

from ganglift.base.clock import Clock
from ganglift.kube.resources import Resource

Place = tuple[str, str]
"""Namespace (empty for cluster-wide kinds) and name."""


class Stored:
    """One version of one object. `json` is its wire form; `bare` the same without kind and apiVersion, as in lists."""

    __slots__ = ("bare", "json", "obj", "revision")

    def __init__(self, resource: Resource, obj: Obj, revision: int) -> None:
        self.obj: Final = obj
        self.revision: Final = revision
        self.bare: Final = to_json({key: value for key, value in obj.items() if key not in ("kind", "apiVersion")})
        head = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version}",'
        self.json: Final = head.encode() + self.bare[1:]

    @property
    def uid(self) -> str:
        return str(self.obj["metadata"]["uid"])

    def copy(self) -> Obj:
        """A copy to change and write back."""
        copied: Obj = from_json(self.json)
        return copied


@dataclass(frozen=True)
class Change:
    """One event of a watch."""

    type: str
    """ADDED, MODIFIED or DELETED."""
    stored: Stored
    previous: Stored | None

    @property
    def revision(self) -> int:
        return self.stored.revision

    @cached_property
    def line(self) -> bytes:
        return event_line(self.type, self.stored)


def event_line(kind: str, stored: Stored) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), stored.json)


class Log:
    """The latest changes of one kind, numbered from its beginning."""

    def __init__(self, limit: int, revision: int) -> None:
        self._limit = limit
        self._changes: list[Change] = []
        self._first = 0
        self._forgotten_revision = revision
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def end(self) -> int:
        """Number that the next change will have."""
        return self._first + len(self._changes)

    def append(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) > 2 * self._limit:
            self._forget(len(self._changes) - self._limit)
        self.wake()

    def compact(self) -> None:
        """Forget every change so far."""
        self._forget(len(self._changes))

    def position_after(self, revision: int) -> int | None:
        """Number of the first change after `revision`, or None if changes between the two are forgotten."""
        if revision < self._forgotten_revision:
            return None
        low, high = 0, len(self._changes)
        while low < high:
            middle = (low + high) // 2
            if self._changes[middle].revision <= revision:
                low = middle + 1
            else:
                high = middle
        return self._first + low

    def since(self, position: int) -> list[Change] | None:
        """Changes from number `position` on, or None if some of them are forgotten."""
        return None if position < self._first else self._changes[position - self._first :]

    def wake(self) -> None:
        """Let everyone who waits look again."""
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def wait(self, timeout_s: float) -> None:
        """Return at the next change or `wake`, or after `timeout_s`."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await asyncio.wait((waiter,), timeout=max(0.0, timeout_s))
        finally:
            self._waiters.discard(waiter)

    def _forget(self, count: int) -> None:
        if count:
            self._forgotten_revision = self._changes[count - 1].revision
            del self._changes[:count]
            self._first += count


class Table:
    """All objects of one kind."""

    def __init__(self, resource: Resource, history_limit: int, revision: int) -> None:
        self.resource = resource
        self.objects: dict[Place, Stored] = {}
        self.log = Log(history_limit, revision)


class Store:
    """All objects. `commit` is the only way to change any."""

    def __init__(self, clock: Clock, *, seed: int = 0, history_limit: int = 50_000) -> None:
        self.clock = clock
        self.revision = 1_000
        self.random = random.Random(seed)
        self._history_limit = history_limit
        self._tables: dict[Resource, Table] = {}
        self._by_uid: dict[str, tuple[Resource, Place]] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        self._observers: list[Callable[[Resource, Place, Change], None]] = []

    def observe(self, observer: Callable[[Resource, Place, Change], None]) -> None:
        """Call `observer` on each change, inside the write; it must not write itself."""
        self._observers.append(observer)

    def add_table(self, resource: Resource) -> None:
        self._tables.setdefault(resource, Table(resource, self._history_limit, self.revision))

    def drop_table(self, resource: Resource) -> None:
        for stored in self._tables.pop(resource).objects.values():
            self._by_uid.pop(stored.uid, None)

    def table(self, resource: Resource) -> Table:
        return self._tables[resource]

    def tables(self) -> Iterator[Table]:
        yield from self._tables.values()

    def serves(self, resource: Resource) -> bool:
        return resource in self._tables

    def get(self, resource: Resource, place: Place) -> Stored | None:
        return self._tables[resource].objects.get(place)

    def find(self, uid: str) -> tuple[Resource, Place] | None:
        """Where the live object of that uid is."""
        return self._by_uid.get(uid)

    def dependents(self, uid: str) -> list[tuple[Resource, Place]]:
        """Where the objects are that name `uid` as an owner, in the order in which they were made."""
        return [self._by_uid[dependent] for dependent in self._dependents.get(uid, ())]

    def new_uid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def timestamp(self) -> str:
        return self.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def commit(self, resource: Resource, place: Place, obj: Obj) -> Stored:
        """Store `obj` at `place`; an object that says the same as the stored one changes nothing."""
        table = self._tables[resource]
        previous = table.objects.get(place)
        if previous is not None and _same(previous.obj, obj):
            return previous
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        stored = Stored(resource, obj, self.revision)
        table.objects[place] = stored
        self._index(resource, place, stored, previous)
        self._announce(table, place, Change("MODIFIED" if previous else "ADDED", stored, previous))
        return stored

    def remove(self, resource: Resource, place: Place, last: Obj) -> Stored:
        """Take the object at `place` out; `last` is how watchers see it go."""
        table = self._tables[resource]
        previous = table.objects.pop(place)
        self.revision += 1
        last["metadata"]["resourceVersion"] = str(self.revision)
        stored = Stored(resource, last, self.revision)
        self._index(resource, place, None, previous)
        self._announce(table, place, Change("DELETED", stored, previous))
        return stored

    def _announce(self, table: Table, place: Place, change: Change) -> None:
        table.log.append(change)
        for observer in self._observers:
            observer(table.resource, place, change)

    def _index(self, resource: Resource, place: Place, new: Stored | None, old: Stored | None) -> None:
        if old is not None:
            for owner in owner_uids(old.obj):
                self._dependents.get(owner, {}).pop(old.uid, None)
            del self._by_uid[old.uid]
        if new is not None:
            self._by_uid[new.uid] = (resource, place)
            for owner in owner_uids(new.obj):
                self._dependents.setdefault(owner, {})[new.uid] = None


def owner_uids(obj: Obj) -> list[str]:
    return [owner["uid"] for owner in obj["metadata"].get("ownerReferences") or ()]


def _same(old: Obj, new: Obj) -> bool:
    return _without_version(old) == _without_version(new)


def _without_version(obj: Obj) -> Obj:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    return {key: value for key, value in obj.items() if key != "metadata"} | {"metadata": metadata}
