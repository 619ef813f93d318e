"""Leader election on a Lease (coordination.k8s.io/v1): at any moment at most one process acts.

The rule is client-go's, with its figures. A candidate takes the Lease when its holder has let it go, or has not renewed
it for the Lease's duration *as seen by the candidate's own monotonic clock*: clocks of machines are never compared. A
leader counts from the moment *before* it sent its last successful renewal and stops after `renew_deadline_s`, which is
shorter, so it has stopped before anyone else may start, also when its requests hang or its process was frozen:
`is_leading` looks at the clock each time it is asked.

A holder that ends cleanly lets go, and the next one starts at once.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic_core import from_json

from ganglift.base.clock import Clock, SystemClock
from ganglift.kube.client import Client, PatchType
from ganglift.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from ganglift.kube.resources import LEASES, Ref

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """In seconds; `retry_s < renew_deadline_s < duration_s`."""

    duration_s: float = 15.0
    """How long others wait for a sign of life before they take over."""
    renew_deadline_s: float = 10.0
    """How long a leader goes on without a renewal."""
    retry_s: float = 2.0
    """Between renewals, and between a candidate's looks."""

    def __post_init__(self) -> None:
        if not 0 < self.retry_s < self.renew_deadline_s < self.duration_s:
            raise ValueError(f"0 < retry_s < renew_deadline_s < duration_s must hold: {self}")


@dataclass(frozen=True, slots=True)
class _Record:
    """What the Lease said when read last, and since when it has said so, by our own clock."""

    holder: str
    duration_s: float
    transitions: int
    version: str
    seen_at: float

    def is_expired(self, now: float) -> bool:
        return not self.holder or now >= self.seen_at + self.duration_s


class Elector:
    """One candidate for one Lease.

    `client` should have limits of its own, so that a renewal waits behind nobody's requests. `identity` must be unique
    to this process. `quiesce` is awaited before the Lease is let go: it returns once nothing is being written any more.
    """

    def __init__(
        self,
        client: Client,
        ref: Ref,
        identity: str,
        *,
        timing: LeaseTiming | None = None,
        quiesce: Callable[[], Awaitable[None]] | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        if ref.resource != LEASES or not identity:
            raise ValueError(f"an election needs a Lease and an identity, got {ref} and {identity!r}")
        self.identity = identity
        self._client = client
        self._ref = ref
        self._timing = timing or LeaseTiming()
        self._quiesce = quiesce
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()
        self._record: _Record | None = None
        self._leads_until = float("-inf")
        self._leading = asyncio.Event()
        self._lost = asyncio.Event()
        self._lost.set()
        self._problem = ""

    @property
    def is_leading(self) -> bool:
        """Whether this process may act, now. Cheap: ask before each write."""
        return self._clock.monotonic() < self._leads_until

    @property
    def holder(self) -> str:
        """Identity of the holder last seen; empty if there is none."""
        return self._record.holder if self._record is not None else ""

    async def leading(self) -> None:
        """Return once this process leads."""
        await self._leading.wait()

    async def lost(self) -> None:
        """Return once this process does not lead: at the latest when its deadline passes, before others may start."""
        await self._lost.wait()

    async def run(self) -> NoReturn:
        """Win, hold, and after a loss compete again, until cancelled; then let go."""
        try:
            while True:
                await self._win()
                await self._hold()
        finally:
            await self._let_go()

    async def _win(self) -> None:
        told = ""
        while not await self._attempt(self._timing.renew_deadline_s):
            if self.holder not in ("", told, self.identity):
                told = self.holder
                logger.info("standing by: the Lease %s is held by %s", self._ref, told)
            await self._clock.sleep(self._timing.retry_s * (1 + self._rng.random() / 5))
        self._lost.clear()
        self._leading.set()
        logger.info("leading as %s", self.identity)

    async def _hold(self) -> None:
        """Renew until that fails for too long, or somebody else holds the Lease."""
        while (remaining_s := self._leads_until - self._clock.monotonic()) > 0:
            await self._clock.sleep(min(self._timing.retry_s, remaining_s))
            remaining_s = self._leads_until - self._clock.monotonic()
            # Half the deadline, so that one request that hangs leaves time for another.
            timeout_s = min(remaining_s, self._timing.renew_deadline_s / 2)
            if remaining_s <= 0 or not (await self._attempt(timeout_s) or self.holder == self.identity):
                break
        self._stop()
        logger.warning("no longer leading: %s", self._why_lost())

    def _why_lost(self) -> str:
        """Say whose the Lease is by now, or that it was not renewed: no answer came, or the process stood still."""
        if self.holder in ("", self.identity):
            return f"the Lease {self._ref} was not renewed within {self._timing.renew_deadline_s:g} s"
        return f"the Lease {self._ref} is held by {self.holder}"

    def _stop(self) -> None:
        self._leads_until = float("-inf")
        self._leading.clear()
        self._lost.set()

    async def _attempt(self, timeout_s: float) -> bool:
        """Take or renew the Lease within `timeout_s`; return whether that succeeded. Nothing is lost by a failure."""
        sent_at = self._clock.monotonic()
        try:
            is_ours = await self._take(sent_at + timeout_s)
        except KubeError as error:
            if not self._problem:
                logger.warning("the Lease %s can't be taken or renewed, trying again: %s", self._ref, error)
            self._problem = str(error)
            return False
        self._problem = ""
        if is_ours:
            self._leads_until = sent_at + self._timing.renew_deadline_s
        return is_ours

    async def _take(self, deadline: float) -> bool:
        if self.is_leading and self._record is not None:
            try:
                await self._write(self._record, deadline)
            except (Conflict, NotFound):
                logger.debug("the Lease %s has changed, reading it", self._ref)
            else:
                return True
        try:
            self._see(await self._client.get(self._ref, timeout_s=self._left(deadline)))
        except NotFound:
            return await self._create(deadline)
        record = self._record
        assert record is not None
        if record.holder != self.identity and not record.is_expired(self._clock.monotonic()):
            return False
        try:
            await self._write(record, deadline)
        except Conflict:
            return False
        return True

    async def _create(self, deadline: float) -> bool:
        record, now = self._record, self._clock.monotonic()
        # Deleting a Lease does not end its holder: it is waited for as if the Lease were still there.
        if record is not None and record.holder != self.identity and not record.is_expired(now):
            return False
        body = {"metadata": {"name": self._ref.name}, "spec": self._spec(record)}
        timeout_s = self._left(deadline)
        try:
            self._see(await self._client.create(LEASES, body, namespace=self._ref.namespace, timeout_s=timeout_s))
        except AlreadyExists:
            return False
        return True

    async def _write(self, record: _Record, deadline: float) -> None:
        body = {"metadata": {"resourceVersion": record.version}, "spec": self._spec(record)}
        await self._patch(body, self._left(deadline))

    async def _patch(self, body: dict[str, Any], timeout_s: float) -> None:
        self._see(await self._client.patch(self._ref, body, patch_type=PatchType.MERGE, timeout_s=timeout_s))

    def _spec(self, record: _Record | None) -> dict[str, Any]:
        now = self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec: dict[str, Any] = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self._timing.duration_s),
            "renewTime": now,
        }
        if record is None or record.holder != self.identity:
            spec |= {"acquireTime": now, "leaseTransitions": 0 if record is None else record.transitions + 1}
        return spec

    def _see(self, body: bytes) -> None:
        """Note what the Lease says; a change of it is a sign of life as of now."""
        lease = from_json(body)
        spec, version = lease.get("spec") or {}, str(lease["metadata"]["resourceVersion"])
        if self._record is not None and self._record.version == version:
            return
        self._record = _Record(
            holder=str(spec.get("holderIdentity") or ""),
            duration_s=float(spec.get("leaseDurationSeconds") or 0),
            transitions=int(spec.get("leaseTransitions") or 0),
            version=version,
            seen_at=self._clock.monotonic(),
        )

    def _left(self, deadline: float) -> float:
        return max(0.001, deadline - self._clock.monotonic())

    async def _let_go(self) -> None:
        remaining_s = self._leads_until - self._clock.monotonic()
        self._stop()
        if remaining_s <= 0:
            return
        try:
            async with asyncio.timeout(remaining_s):
                if self._quiesce is not None:
                    await self._quiesce()
                await self._clear_holder()
        except (TimeoutError, KubeError) as error:
            logger.warning("the Lease %s could not be let go, the next leader waits for its end: %r", self._ref, error)
        else:
            logger.info("let go of the Lease %s", self._ref)

    async def _clear_holder(self) -> None:
        # A renewal that was cut off may have reached the server: then the version is not the one we know.
        self._see(await self._client.get(self._ref, timeout_s=self._timing.retry_s))
        if self._record is not None and self._record.holder == self.identity:
            body = {
                "metadata": {"resourceVersion": self._record.version},
                "spec": {"holderIdentity": "", "leaseDurationSeconds": 1},
            }
            await self._patch(body, self._timing.retry_s)
