"""Events (events.k8s.io/v1) about objects, for `kubectl describe` and `kubectl events`.

Telling is never in the way of acting: `announce` returns at once and can't fail; a task of its own writes. What can't
be written is dropped, and that is said once. The same news about the same object within `fold_s` becomes one Event with
a count, which a repetition brings up to date if the last update is `repeat_s` ago.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from ganglift.base.clock import Clock, SystemClock
from ganglift.base.ids import Key, Uid
from ganglift.kube.client import Client, PatchType
from ganglift.kube.errors import AlreadyExists, KubeError, NotFound
from ganglift.kube.resources import EVENTS, Resource

logger = logging.getLogger(__name__)

_NOTE_BYTES = 1024
_NAME_CHARS = 253 - 1 - 16


@dataclass(frozen=True, slots=True)
class _News:
    """What is said of which object: what is equal is folded."""

    resource: Resource
    key: Key
    uid: Uid
    reason: str
    message: str
    is_warning: bool


@dataclass(slots=True)
class _Series:
    """The Event that stands for all repetitions of one piece of news."""

    news: _News
    name: str
    first_time: str
    last_time: str
    last_seen: float
    sent_at: float = float("-inf")
    count: int = 1
    sent_count: int = 0
    is_queued: bool = False


class Recorder:
    """Writes Events as `controller`, through `client`; `run` does the writing.

    `instance` tells replicas apart. Give it a client with limits of its own: a burst of news must not slow gangs.
    """

    def __init__(
        self,
        client: Client,
        *,
        controller: str = "ganglift",
        instance: str,
        fold_s: float = 600.0,
        repeat_s: float = 30.0,
        max_queued: int = 1_000,
        clock: Clock | None = None,
    ) -> None:
        self.dropped = 0
        """How many pieces of news were never written."""
        self._client = client
        self._controller = controller
        self._instance = instance[:128]
        self._fold_s = fold_s
        self._repeat_s = repeat_s
        self._max_queued = max_queued
        self._clock = clock or SystemClock()
        self._series: dict[_News, _Series] = {}
        self._queue: deque[_Series] = deque()
        self._wake = asyncio.Event()
        self._is_failing = False

    def announce(
        self, resource: Resource, key: Key, uid: Uid, *, reason: str, message: str, is_warning: bool = False
    ) -> None:
        """Note a piece of news; `reason` is one CamelCase word, `message` a sentence, cut at 1,024 bytes."""
        news = _News(resource, key, uid, reason, _cut(message), is_warning)
        now, time = self._clock.monotonic(), self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        series = self._series.get(news)
        if series is not None and now - series.last_seen < self._fold_s:
            series.count += 1
            series.last_time, series.last_seen = time, now
            if now - series.sent_at < self._repeat_s:
                return
        else:
            self._forget_old(now)
            series = self._series[news] = _Series(news, _event_name(key.name), time, time, now)
        self._enqueue(series)

    async def run(self) -> NoReturn:
        """Write until cancelled; then write what is still queued, for a second at most."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._drain()
        finally:
            try:
                async with asyncio.timeout(1.0):
                    await self._drain()
            except TimeoutError:
                self._drop(len(self._queue), "the operator is ending")

    def _enqueue(self, series: _Series) -> None:
        if series.is_queued:
            return
        if len(self._queue) >= self._max_queued:
            del self._series[series.news]
            self._drop(1, "too many are waiting")
            return
        series.is_queued = True
        self._queue.append(series)
        self._wake.set()

    async def _drain(self) -> None:
        while self._queue:
            series = self._queue[0]
            try:
                await self._write(series)
            except KubeError as error:
                self._series.pop(series.news, None)
                self._drop(1, str(error))
            else:
                self._is_failing = False
            # Not before: what is cut off while being written is tried once more at the end.
            self._queue.popleft()
            series.is_queued = False

    async def _write(self, series: _Series) -> None:
        count = series.count
        if series.sent_count:
            try:
                await self._repeat(series)
            except NotFound:
                series.sent_count = 0
        if not series.sent_count:
            with suppress(AlreadyExists):  # written by a call whose answer was lost
                await self._client.create(EVENTS, self._event(series), namespace=_namespace(series.news))
        series.sent_count, series.sent_at = count, self._clock.monotonic()

    async def _repeat(self, series: _Series) -> None:
        ref = EVENTS.ref(series.name, _namespace(series.news))
        body = {"series": {"count": series.count, "lastObservedTime": series.last_time}}
        await self._client.patch(ref, body, patch_type=PatchType.MERGE)

    def _event(self, series: _Series) -> dict[str, Any]:
        news = series.news
        event: dict[str, Any] = {
            "metadata": {"name": series.name},
            "eventTime": series.first_time,
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": news.reason,
            "reason": news.reason,
            "note": news.message,
            "type": "Warning" if news.is_warning else "Normal",
            "regarding": {
                "apiVersion": news.resource.api_version,
                "kind": news.resource.kind,
                "name": news.key.name,
                "uid": news.uid,
            },
        }
        if news.key.namespace:
            event["regarding"]["namespace"] = news.key.namespace
        if series.count > 1:
            event["series"] = {"count": series.count, "lastObservedTime": series.last_time}
        return event

    def _forget_old(self, now: float) -> None:
        if len(self._series) > self._max_queued:
            old = [news for news, series in self._series.items() if now - series.last_seen >= self._fold_s]
            for news in old or list(self._series)[: self._max_queued // 2]:
                del self._series[news]

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        if count and not self._is_failing:
            self._is_failing = True
            logger.warning("events are being dropped: %s", why)


def _namespace(news: _News) -> str:
    """Events on cluster-wide objects live in `default`."""
    return news.key.namespace or "default"


def _event_name(name: str) -> str:
    return f"{name[:_NAME_CHARS].rstrip('.-')}.{uuid.uuid4().hex[:16]}"


def _cut(message: str) -> str:
    data = message.encode()
    return message if len(data) <= _NOTE_BYTES else data[: _NOTE_BYTES - 3].decode(errors="ignore") + "..."
