"""A kind, mirrored: every object, then every change, for as long as the operator lives.

`Informer.run` pushes objects into a `Sink`, in the order in which the API server changed them, and never ends but by
cancellation (or by a fault of the sink itself):

- a watch that ends cleanly is resumed at once from the last resourceVersion: the server ends several in a burst;
- 410, on the request or as an event, leads to a new listing, of which only the differences are passed on, among them
  the objects that vanished meanwhile;
- a watch on which nothing is heard is resumed at once too, and after several times a new listing is made: nothing may
  have happened, for the server sends no bookmarks before a kind's first event since its own start;
- anything else (5xx, ERROR events, refused, cut in the middle of a line) is waited out with growing, jittered waits and
  resumed; if that bears nothing several times running, with a new listing, and it is told in a warning;
- a listing older than what has been seen (a server whose cache lags) is asked for again; one that stays old means that
  the cluster was restored from a backup, and is believed.

A listing is the beginning of a watch (KEP-3157), one object a line, or, where the server has that switched off, the
pages of a list. Objects are decoded in slices, so that the event loop is never held for long.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

from pydantic_core import from_json

from ganglift.api.model import Object
from ganglift.base.clock import Clock, SystemClock
from ganglift.base.ids import Uid
from ganglift.kube.backoff import Backoff
from ganglift.kube.client import EVERYTHING, INITIAL_EVENTS_END, Client, Selector
from ganglift.kube.decoding import Decoder, Event, Pause, split_event, split_page
from ganglift.kube.errors import (
    Gone,
    Invalid,
    KubeError,
    MalformedAnswer,
    NotServed,
    Request,
    Status,
    StatusError,
    TimedOut,
    error_for,
)
from ganglift.kube.mirror import Mirror, Sink
from ganglift.kube.resources import Resource

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=Object)

_RESUME_AT_MOST = 3
_TELL_AFTER = 3
"""A connection that breaks is nothing to tell of; so many failures in a row are."""
_BELIEVE_OLD_LISTING_AFTER = 5


@dataclass(frozen=True, slots=True)
class Timing:
    """How an informer waits."""

    watch_s: float = 300.0
    """After this the server is to end a watch, so that load spreads over API servers anew; up to a tenth is added."""
    silence_s: float = 90.0
    """Without a byte for this long a watch may be dead and is opened anew; bookmarks come every minute, if at all."""
    brief_s: float = 1.0
    """A watch that ends sooner and without an event has borne nothing."""
    backoff_base_s: float = 0.1
    backoff_max_s: float = 30.0
    page_size: int = 100


class Stale(KubeError):
    """A listing from before what has been seen, or events out of order: what is known can't be built on."""


class Informer(Generic[T]):
    """Keeps a sink in step with one kind. `parse` makes an object of its JSON and raises ValueError if it can't.

    `disordered` is told True before the differences of a listing are passed on, and False after: these come in no
    particular order, all other changes in the order in which they happened. `troubled` is told of each error that keeps
    the mirror from being up to date, and None once it is again.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        parse: Callable[[bytes], T],
        sink: Sink[T],
        *,
        namespace: str | None = None,
        selector: Selector = EVERYTHING,
        timing: Timing | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        disordered: Callable[[bool], None] | None = None,
        troubled: Callable[[KubeError | None], None] | None = None,
    ) -> None:
        self.resource_version = ""
        """Of the last event, bookmark or listing; empty before the first listing and when it has become too old."""
        self.restarts: Counter[str] = Counter()
        """How often a watch was opened anew, by why the last one ended: ended, expired, silent or failed."""
        self.resource = resource
        self._client = client
        self._request = Request("watch", resource.qualified, namespace)
        self._mirror = Mirror(sink)
        self._decoder = Decoder(parse, resource.qualified)
        self._namespace = namespace
        self._selector = selector
        self._timing = timing or Timing()
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()
        self._backoff = Backoff(self._timing.backoff_base_s, self._timing.backoff_max_s, self._rng)
        self._pause = Pause()
        self._problem: KubeError | None = None
        self._is_told = False
        self._silences = 0
        self._open_since: float | None = None
        self._bore = False
        self._last: tuple[int, Uid] = (0, Uid(""))
        self._newest = 0
        self._old_listings = 0
        self._streams_listings = True
        self._disordered = disordered or (lambda _: None)
        self._troubled = troubled or (lambda _: None)

    @property
    def is_synced(self) -> bool:
        """Whether the sink has had a full listing."""
        return self._mirror.filled.is_set()

    async def synced(self) -> None:
        """Return once the sink has had its first full listing."""
        await self._mirror.filled.wait()

    @property
    def problem(self) -> KubeError | None:
        """Why what the sink holds may be behind; None while a watch is open."""
        return None if self._is_settled() else self._problem

    @property
    def unreadable(self) -> int:
        """How many objects could not be decoded and were left out."""
        return self._decoder.unreadable

    async def run(self) -> NoReturn:
        """Mirror until cancelled."""
        while True:
            self._bore = False
            error: KubeError | None = None
            try:
                await self._follow()
            except KubeError as raised:
                error = raised
            if self._bore:
                self._silences = 0
            # Not in the middle of a listing, nor while the watch was being opened.
            is_quiet = isinstance(error, TimedOut) and self._open_since is not None and self.resource_version != ""
            if self._bore or is_quiet or (error is None and self._is_settled()):
                self._backoff.reset()
                self._settle_problem()
            self._open_since = None
            self.restarts["silent" if is_quiet else _why(error)] += 1
            if is_quiet:
                self._listen_again()
            else:
                await self._recover(error)

    def _listen_again(self) -> None:
        """Prepare the next watch after one on which nothing was heard; make sure with a listing once in a while."""
        self._silences += 1
        logger.debug("%s: nothing was heard for %g s, listening anew", self.resource, self._timing.silence_s)
        if self._silences >= _RESUME_AT_MOST:
            self._silences = 0
            self.resource_version = ""

    async def _recover(self, error: KubeError | None) -> None:
        """Prepare the next attempt: list anew where need be, and wait unless going on at once is right."""
        is_routine = error is None or isinstance(error, Gone)
        if isinstance(error, (Gone, Stale)) or self._backoff.failures >= _RESUME_AT_MOST:
            self.resource_version = ""
        if is_routine and (self._bore or self._backoff.failures == 0):
            logger.debug("%s: the watch ended (%s), going on", self.resource, error or "cleanly")
            if not self._bore:
                self._backoff.failures += 1
            return
        if error is not None:
            self._note_problem(error)
        asked_s = (error.retry_after_s or 0.0) if isinstance(error, StatusError) else 0.0
        await self._clock.sleep(max(self._backoff.next_s(), min(asked_s, self._timing.backoff_max_s)))

    async def _follow(self) -> None:
        """One watch, from its opening to its clean end. Raises KubeError for any other end."""
        if not self.resource_version and not self._streams_listings:
            await self._list()
        listing: dict[Uid, T] | None = None if self.resource_version else {}
        # If this listing does not come to an end, the next one is tried the other way.
        self._streams_listings = listing is None
        try:
            async with self._client.watch(
                self.resource,
                resource_version=self.resource_version or None,
                namespace=self._namespace,
                selector=self._selector,
                duration_s=self._timing.watch_s * (1 + self._rng.random() / 10),
                silence_s=self._timing.silence_s,
            ) as lines:
                self._open_since = self._clock.monotonic()
                async for line in lines:
                    listing = await self._take(split_event(line, self._request), listing)
                    await self._pause.if_due()
        except Invalid:
            if listing is None:
                raise
            logger.debug("%s: the server does not list by watch, using pages", self.resource)
            return
        if listing is not None:
            raise MalformedAnswer("the watch ended before it had sent all present objects", self._request)

    async def _take(self, event: Event, listing: dict[Uid, T] | None) -> dict[Uid, T] | None:
        """Act on one event. Return the listing that is still being gathered, None once it is complete."""
        if event.type == "BOOKMARK":
            metadata = event.metadata()
            version = str(metadata.get("resourceVersion") or "")
            if listing is None:
                self._advance(version)
                self._succeed()
            elif INITIAL_EVENTS_END in (metadata.get("annotations") or {}):
                self._streams_listings = True
                await self._complete(listing, version)
                self._settle_problem()
                return None
            return listing
        if event.type == "ERROR":
            raise error_for(Status.from_object(from_json(event.object)), self._request)
        if event.type not in ("ADDED", "MODIFIED", "DELETED"):
            raise MalformedAnswer(f"unknown event type {event.type!r}", self._request)
        if (obj := self._decoder.one(event.object)) is not None:
            if listing is None:
                self._pass_on(obj, is_end=event.type == "DELETED")
            elif event.type == "DELETED":
                listing.pop(obj.uid, None)
            else:
                listing[obj.uid] = obj
        return listing

    def _pass_on(self, obj: T, *, is_end: bool) -> None:
        """Give one change to the sink, unless it has been given already. Raises Stale if it comes out of turn."""
        version = obj.metadata.resource_version
        this = (_number(version), obj.uid)
        if this == self._last:
            return
        if this[0] < self._last[0]:
            raise Stale(f"{self._request}: {obj.key} at {version} came after {self._last[0]}")
        self._last = this
        self._advance(version)
        self._succeed()
        if is_end:
            self._mirror.delete(obj)
        else:
            self._mirror.upsert(obj)

    def _advance(self, version: str) -> None:
        self.resource_version = version
        self._newest = max(self._newest, _number(version))

    def _succeed(self) -> None:
        """Note that the watch works. A listing alone is no such sign: it must not be repeated without a wait."""
        self._bore = True
        self._settle_problem()

    def _note_problem(self, error: KubeError) -> None:
        if self._backoff.failures + 1 >= _TELL_AFTER and not self._is_told:
            level = logging.INFO if isinstance(error, NotServed) else logging.WARNING
            logger.log(level, "%s: not up to date, trying again: %s", self.resource, error)
            self._is_told = True
        self._problem = error
        self._troubled(error)

    def _settle_problem(self) -> None:
        if self._problem is None:
            return
        if self._is_told:
            logger.info("%s: up to date again", self.resource)
        self._problem, self._is_told = None, False
        self._troubled(None)

    async def _list(self) -> None:
        """List page by page. Raises Gone when the server forgets the list before its last page."""
        listed: dict[Uid, T] = {}
        token = ""
        while True:
            body = await self._client.list_page(
                self.resource,
                namespace=self._namespace,
                selector=self._selector,
                limit=self._timing.page_size,
                continue_token=token,
            )
            page = split_page(body, self._request)
            for item in page.items:
                if (obj := self._decoder.one(item)) is not None:
                    listed[obj.uid] = obj
                await self._pause.if_due()
            token = page.continue_token
            if not token:
                await self._complete(listed, page.resource_version)
                return

    async def _complete(self, listed: dict[Uid, T], version: str) -> None:
        """Take a full listing. Raises Stale for one from before what has been seen, a few times."""
        number = _number(version)
        if number < self._newest and self._old_listings < _BELIEVE_OLD_LISTING_AFTER:
            self._old_listings += 1
            raise Stale(f"{self._request}: the listing is of {version}, already seen was {self._newest}")
        if number < self._newest:
            logger.warning("%s: the cluster has gone back in time, from %s to %s", self.resource, self._newest, version)
        self._old_listings = 0
        self._newest = number
        self._last = (number, Uid(""))
        logger.info("%s: listed %d objects at %s", self.resource, len(listed), version)
        self._disordered(True)
        await self._mirror.take(listed, version, self._pause)
        self._disordered(False)
        self._advance(version)

    def _is_settled(self) -> bool:
        since = self._open_since
        return since is not None and self._clock.monotonic() - since >= self._timing.brief_s


def _why(error: KubeError | None) -> str:
    if error is None:
        return "ended"
    return "expired" if isinstance(error, Gone) else "failed"


def _number(version: str) -> int:
    """resourceVersions of one kind are ordered numbers (KEP-5504); anything else is taken as unordered."""
    return int(version) if version.isdecimal() else 0
