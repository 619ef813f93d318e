"""Asking the planner, in a worker thread, so that the loop goes on meanwhile."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from ganglift.base.ids import Key
from ganglift.plan.plan import plan
from ganglift.plan.queue import Exceptions, Policy
from ganglift.plan.request import GroupRequest
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.verdict import PlanResult

log = logging.getLogger(__name__)


async def ask(
    snapshot: Snapshot,
    requests: Sequence[GroupRequest],
    policy: Policy,
    exceptions: Exceptions,
    blaming: Callable[[Key], AbstractContextManager[None]],
) -> PlanResult:
    """Return the plan of all these groups.

    Where the planner breaks because of one of them, that one is left out: `blaming` puts it down to the group.
    """
    try:
        return await asyncio.to_thread(plan, snapshot, requests, policy, exceptions)
    except Exception:
        log.exception("these groups could not be planned together, each is tried by itself")
    sound: list[GroupRequest] = []
    for request in requests:
        with blaming(request.key):
            await asyncio.to_thread(plan, snapshot, [request], policy)
            sound.append(request)
    return await asyncio.to_thread(plan, snapshot, sound, policy, exceptions)
