"""What an informer has passed on so far, so that a new listing costs its differences only."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from ganglift.api.model import Object
from ganglift.base.ids import Uid
from ganglift.kube.decoding import Pause

T = TypeVar("T", bound=Object)
T_contra = TypeVar("T_contra", contravariant=True)


class Sink(Protocol[T_contra]):
    """Where objects go. Called from the event loop, in order; must not block."""

    def replace(self, objects: Sequence[T_contra], resource_version: str) -> None:
        """Take the first full listing: what is not in it does not exist."""
        ...

    def upsert(self, obj: T_contra) -> None:
        """Take an object that was made or changed."""
        ...

    def delete(self, obj: T_contra) -> None:
        """Take the end of an object; `obj` is its last state, or the last one seen if it went unseen."""
        ...


class Mirror(Generic[T]):
    """A sink's present content, by uid."""

    def __init__(self, sink: Sink[T]) -> None:
        self.filled = asyncio.Event()
        self._sink = sink
        self._known: dict[Uid, T] = {}

    def __len__(self) -> int:
        return len(self._known)

    def upsert(self, obj: T) -> None:
        self._known[obj.uid] = obj
        self._sink.upsert(obj)

    def delete(self, obj: T) -> None:
        if self._known.pop(obj.uid, None) is not None:
            self._sink.delete(obj)

    async def take(self, listed: Mapping[Uid, T], resource_version: str, pause: Pause) -> None:
        """Bring the sink to what was listed.

        The differences come as single changes, in slices. Between them the sink must never show more room than there
        is: what came is passed on before what went, except where the one stands in the other's place.
        """
        if not self.filled.is_set():
            self._known = dict(listed)
            self._sink.replace(tuple(listed.values()), resource_version)
            self.filled.set()
            return
        gone = [obj for uid, obj in self._known.items() if uid not in listed]
        taken_places = {obj.key for uid, obj in listed.items() if uid not in self._known}
        for obj in gone:
            if obj.key in taken_places:
                self.delete(obj)
        for uid, obj in listed.items():
            known = self._known.get(uid)
            if known is None or known.metadata.resource_version != obj.metadata.resource_version:
                self.upsert(obj)
            await pause.if_due()
        for obj in gone:
            self.delete(obj)
            await pause.if_due()
