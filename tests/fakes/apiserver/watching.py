"""One open watch: which changes it is shown, bookmarks, its end, and the ways in which a test can spoil it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from pydantic_core import to_json
from tests.fakes.apiserver.faults import Distort
from tests.fakes.apiserver.refusals import Obj, Refusal, expired
from tests.fakes.apiserver.selecting import Predicate
from tests.fakes.apiserver.store import Change, Store, Stored, event_line

from ganglift.kube.resources import Resource

Send = Callable[[bytes], Awaitable[None]]

_LOOK_EVERY_S = 0.5
_HONEST = Distort()


class CutOff(Exception):
    """The connection is to be closed where it stands."""


class Watch:
    """A watch of one kind in one or all namespaces. `distort` may be replaced while it is open; then `wake` it."""

    def __init__(
        self,
        store: Store,
        resource: Resource,
        namespace: str,
        selects: Predicate,
        *,
        resource_version: str,
        sends_initial: bool,
        bookmark_every_s: float | None,
        duration_s: float,
        distort: Distort | None = None,
    ) -> None:
        self.resource = resource
        self.namespace = namespace
        self.distort = distort or _HONEST
        self.sent = 0
        self._store = store
        self._log = store.table(resource).log
        self._selects = selects
        self._bookmark_every_s = bookmark_every_s
        self._duration_s = duration_s
        self._resource_version = resource_version
        self._sends_initial = sends_initial

    def end(self) -> None:
        """End it cleanly, as the API server does several times in a burst."""
        self._spoil(then="end")

    def cut(self) -> None:
        """Close its connection in the middle of a line."""
        self._spoil(then="cut")

    def silence(self) -> None:
        """Send nothing any more, and keep it open."""
        self._spoil(then="silence")

    def fail(self, refusal: Refusal) -> None:
        """Send an ERROR event and end it."""
        self._spoil(then="error", error=refusal)

    def _spoil(self, **how: Any) -> None:
        self.distort = replace(self.distort, after=self.sent, **how)
        self._log.wake()

    async def run(self, send: Send, *, is_open: Callable[[], bool]) -> None:
        """Send events until the watch ends. Raises CutOff."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + self._duration_s
        position = await self._begin(send)
        bookmark_at = loop.time() + self._bookmark_every_s if self._bookmark_every_s else float("inf")
        while position is not None and is_open():
            changes = self._log.since(position)
            if changes is None or not await self._deliver(changes, send):
                return
            position += len(changes)
            now = loop.time()
            if now >= min(ends_at, bookmark_at) and position == self._log.end:
                if self._bookmark_every_s is not None:
                    await self._send_bookmark(send)
                    bookmark_at = now + self._bookmark_every_s
                if now >= ends_at:
                    return
            if position == self._log.end:
                await self._log.wait(min(_LOOK_EVERY_S, ends_at - now, bookmark_at - now))

    async def _begin(self, send: Send) -> int | None:
        """Return where in the log to go on from; None if the watch is over already."""
        version = self._resource_version
        if self._sends_initial or version in ("", "0"):
            position = self._log.end
            present = [stored for stored in self._store.table(self.resource).objects.values() if self._shows(stored)]
            if not await self._deliver_lines([event_line("ADDED", stored) for stored in present], send):
                return None
            if self._sends_initial:
                await self._send_bookmark(send, {"k8s.io/initial-events-end": "true"})
            return position
        found = self._log.position_after(int(version))
        if found is None:
            await send(error_line(expired(f"too old resource version: {version} ({self._store.revision})")))
        return found

    def _shows(self, stored: Stored) -> bool:
        obj = stored.obj
        return (not self.namespace or obj["metadata"].get("namespace") == self.namespace) and self._selects(obj)

    def _line(self, change: Change) -> bytes | None:
        """The event that this watch is shown for a change: objects may enter or leave what it selects."""
        was = change.previous is not None and self._shows(change.previous)
        shows = change.type != "DELETED" and self._shows(change.stored)
        if shows:
            return change.line if was == (change.type == "MODIFIED") else event_line("ADDED", change.stored)
        if was:
            return change.line if change.type == "DELETED" else event_line("DELETED", change.stored)
        return None

    async def _deliver(self, changes: list[Change], send: Send) -> bool:
        lines = [line for change in changes if (line := self._line(change)) is not None]
        return await self._deliver_lines(lines, send)

    async def _deliver_lines(self, lines: list[bytes], send: Send) -> bool:
        """Send what the distortion lets through. Return whether the watch goes on."""
        distort = self.distort
        if distort.after is not None and self.sent + len(lines) >= distort.after:
            allowed = max(0, distort.after - self.sent)
            await self._send(lines[:allowed], send)
            return await self._spoiled(lines[allowed:], send)
        await self._send(lines, send)
        return True

    async def _send(self, lines: list[bytes], send: Send) -> None:
        if not lines:
            return
        self.sent += len(lines)
        if self.distort.twice:
            lines = [line for line in lines for _ in range(2)]
        if self.distort.swapped:
            lines = [line for pair in zip(lines[1::2], lines[::2], strict=False) for line in pair] + (
                lines[-1:] if len(lines) % 2 else []
            )
        if self.distort.late_s:
            await asyncio.sleep(self.distort.late_s)
        await send(b"".join(lines))

    async def _spoiled(self, rest: list[bytes], send: Send) -> bool:
        distort = self.distort
        if distort.then in ("cut", "half"):
            line = rest[0] if rest else b'{"type":"MODIFIED","object":{"metadata":{"name":"half'
            await send(line[: len(line) // 2])
            if distort.then == "cut":
                raise CutOff
        if distort.then == "error" and distort.error is not None:
            await send(error_line(distort.error))
        return distort.then == "silence"

    async def _send_bookmark(self, send: Send, annotations: dict[str, str] | None = None) -> None:
        if self.distort.then == "silence" and self.distort.after is not None and self.sent >= self.distort.after:
            return
        metadata: Obj = {"resourceVersion": str(self._store.revision)}
        if annotations:
            metadata["annotations"] = annotations
        kind, version = self.resource.kind, self.resource.api_version
        bookmark = {"type": "BOOKMARK", "object": {"kind": kind, "apiVersion": version, "metadata": metadata}}
        await send(to_json(bookmark) + b"\n")


def error_line(refusal: Refusal) -> bytes:
    return to_json({"type": "ERROR", "object": refusal.status}) + b"\n"
