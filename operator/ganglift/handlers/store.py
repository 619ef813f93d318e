"""What the watches have shown of the low-volume kinds, and what our own writes gave back, whichever is newer.

A watch can be behind our own writes, so an object is only ever replaced by a later version (resourceVersions of one
kind can be compared, KEP-5504), and only the object of that very uid is dropped.
"""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from ganglift.api.model import Object
from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Key, Uid

T = TypeVar("T", bound=Object)


class Store(Generic[T]):
    """Objects of one kind by key."""

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}

    def __iter__(self) -> Iterator[T]:
        return iter(tuple(self._objects.values()))

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def put(self, obj: T) -> bool:
        """Take an object; return False where that version or a later one is known already."""
        known = self._objects.get(obj.key)
        if known is not None and version_of(obj) <= version_of(known):
            return False
        self._objects[obj.key] = obj
        self._index(obj)
        return True

    def drop(self, key: Key, uid: Uid) -> T | None:
        """Take the end of an object; return it, or None where it is unknown or another one has its name by now."""
        known = self._objects.get(key)
        if known is None or known.uid != uid:
            return None
        self._unindex(known)
        return self._objects.pop(key)

    def missing_from(self, listed: Iterable[T], version: int) -> tuple[T, ...]:
        """Return the known objects that a full list of that version lacks: they are gone. Later ones are not meant."""
        there = {obj.uid for obj in listed}
        return tuple(obj for obj in self if obj.uid not in there and version_of(obj) <= version)

    def _index(self, obj: T) -> None:
        """Note where an object can be found beside its key."""

    def _unindex(self, obj: T) -> None:
        """Forget where an object could be found beside its key."""


class GroupStore(Store[PodGroup]):
    """PodGroups, also by the Workload that they refer to and by the PodGroup that owns them."""

    def __init__(self) -> None:
        super().__init__()
        self._by_workload: dict[Key, dict[str, None]] = {}
        self._by_owner: dict[Uid, dict[Key, None]] = {}

    def near(self, workload: Key, names: Iterable[str]) -> tuple[PodGroup, ...]:
        """Return the PodGroups that refer to a Workload or bear one of these names in its namespace."""
        wanted = dict.fromkeys((*self._by_workload.get(workload, ()), *names))
        found = (self.get(Key(workload.namespace, name)) for name in wanted)
        return tuple(group for group in found if group is not None)

    def parts(self, uid: Uid) -> tuple[PodGroup, ...]:
        """Return the PodGroups that the one of that uid owns."""
        found = (self.get(key) for key in self._by_owner.get(uid, ()))
        return tuple(group for group in found if group is not None)

    def _index(self, obj: PodGroup) -> None:
        if (owner := _owner_of(obj)) is not None:
            self._by_owner.setdefault(owner, {})[obj.key] = None
        if (workload := workload_of(obj)) is not None:
            self._by_workload.setdefault(workload, {})[obj.name] = None

    def _unindex(self, obj: PodGroup) -> None:
        owner = _owner_of(obj)
        parts = self._by_owner.get(owner) if owner is not None else None
        if owner is not None and parts is not None:
            parts.pop(obj.key, None)
            if not parts:
                del self._by_owner[owner]
        workload = workload_of(obj)
        names = self._by_workload.get(workload) if workload is not None else None
        if workload is not None and names is not None:
            names.pop(obj.name, None)
            if not names:
                del self._by_workload[workload]


def workload_of(group: PodGroup) -> Key | None:
    """Return the Workload that a PodGroup refers to."""
    ref = group.spec.workload_ref
    return Key(group.metadata.namespace, ref.workload_name) if ref is not None else None


def _owner_of(group: PodGroup) -> Uid | None:
    owner = group.controller
    return owner.uid if owner is not None and owner.kind == "PodGroup" else None


def version_of(obj: Object) -> int:
    """Return an object's resourceVersion as the number it is."""
    return int(obj.metadata.resource_version or 0)
