"""kopf, as far as it is used: it watches our own kinds and batch/v1 Jobs, and queues events per object.

It writes nothing: no finalizers, no progress annotations, no events, no peering. It runs on an event loop and a
thread of its own: at its end kopf cancels every task of the loop it finds, and at its start it takes the process's
signals. It ends on answers of the API server that are a matter of course (410 on the request, a 5xx that outlasts its
patience), so it is started again; handlers decide from the present state, so nothing is lost between.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

import aiohttp
import kopf

from ganglift.app.cluster import KindsNotServed, check_kinds
from ganglift.base.clock import Clock
from ganglift.kube.client import Client
from ganglift.kube.credentials import Access, Credentials
from ganglift.kube.errors import KubeError

log = logging.getLogger(__name__)

RESTART_AFTER_S = 1.0
STOP_TIMEOUT_S = 5.0


class _NoProgress(kopf.ProgressStorage):
    """Keeps nothing on the objects: handlers are level-triggered and need no record of what they have done."""

    def fetch(self, *, key: str, body: kopf.Body) -> None:
        return None

    def store(self, *, key: str, record: kopf.ProgressRecord, body: kopf.Body, patch: kopf.Patch) -> None:
        return None

    def purge(self, *, key: str, body: kopf.Body, patch: kopf.Patch) -> None:
        return None

    def touch(self, *, body: kopf.Body, patch: kopf.Patch, value: str | None) -> None:
        return None

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        return essence


async def watch(registry: kopf.OperatorRegistry, client: Client, credentials: Credentials, clock: Clock) -> None:
    """Run kopf until cancelled, again whenever it ends by itself. Handlers are called on kopf's thread."""
    kopf.on.login(registry=registry)(_login_with(credentials, asyncio.get_running_loop()))
    while True:
        await _watch_once(registry)
        await clock.sleep(RESTART_AFTER_S)
        await _served(client, clock)


async def _served(client: Client, clock: Clock) -> None:
    """Return once all our kinds are served: kopf looks for them at its start only."""
    problem = ""
    while True:
        try:
            await check_kinds(client)
        except (KindsNotServed, KubeError) as error:
            if str(error) != problem:
                problem = str(error)
                log.warning("our kinds can't be watched, trying again", extra={"error": problem})
        else:
            return
        await clock.sleep(RESTART_AFTER_S)


async def _watch_once(registry: kopf.OperatorRegistry) -> None:
    """Run kopf until it ends by itself; when cancelled, give it a while to end."""
    loop, ended, stop = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def body() -> None:
        _run(registry, stop)
        # The loop is closed where kopf took so long that nobody waits for it any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(ended.set)

    # A daemon, and none of the loop's executor, which the end of the loop waits for: kopf does not always end.
    threading.Thread(target=body, name="kopf", daemon=True).start()
    try:
        await ended.wait()
    except asyncio.CancelledError:
        stop.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await ended.wait()
        raise


def _run(registry: kopf.OperatorRegistry, stop: threading.Event) -> None:
    try:
        asyncio.run(_operate(registry, stop))
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - whatever ends kopf, watching goes on
        log.warning("watching our kinds was interrupted, starting again", extra={"error": str(error)})


async def _operate(registry: kopf.OperatorRegistry, stop: threading.Event) -> None:
    try:
        await kopf.operator(registry=registry, settings=_settings(), clusterwide=True, standalone=True, stop_flag=stop)
    finally:
        # kopf awaits the flag on a thread of this loop's executor, and the end of the loop awaits that thread.
        stop.set()


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.persistence.finalizer = "scheduling.ganglift.dev/unused"
    settings.persistence.progress_storage = _NoProgress()
    settings.networking.error_backoffs = (0.2, 0.5, 1, 2, 5)
    settings.watching.server_timeout = 300
    settings.process.ultimate_exiting_timeout = None
    return settings


def _login_with(
    credentials: Credentials, loop: asyncio.AbstractEventLoop
) -> Callable[..., Awaitable[kopf.AiohttpSession]]:
    async def login(**_: object) -> kopf.AiohttpSession:
        # Credentials belong to the operator's own loop.
        access: Access = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(credentials.access(), loop))
        headers = {"Authorization": access.token} if access.token else {}
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=access.ssl), headers=headers, proxy=access.proxy
        )
        return kopf.AiohttpSession(server=access.server, aiohttp_session=session)

    return login
