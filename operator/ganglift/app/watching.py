"""kopf, as far as it is used: it watches our own kinds and batch/v1 Jobs, and queues events per object.

It writes nothing: no finalizers, no progress annotations, no events, no peering. It ends on some answers
of the API server that are a matter of course (410 on the request, a 5xx that outlasts its patience), so it is started
again; handlers decide from the present state, so nothing is lost between.
"""

import logging
from collections.abc import Awaitable, Callable

import aiohttp
import kopf

from ganglift.base.clock import Clock
from ganglift.kube.credentials import Credentials

log = logging.getLogger(__name__)

RESTART_AFTER_S = 1.0


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


async def watch(
    registry: kopf.OperatorRegistry, credentials: Credentials, clock: Clock, started: Callable[[], None]
) -> None:
    """Run kopf until cancelled, again whenever it ends by itself.

    kopf takes SIGTERM and SIGINT for itself at each start: `started` is called right after, to take them back.
    """
    kopf.on.login(registry=registry)(_login_with(credentials))
    while True:
        try:
            tasks = await kopf.spawn_tasks(registry=registry, settings=_settings(), clusterwide=True, standalone=True)
            started()
            await kopf.run_tasks(tasks)
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            log.warning("watching our kinds was interrupted, starting again", extra={"error": str(error)})
        await clock.sleep(RESTART_AFTER_S)


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


def _login_with(credentials: Credentials) -> Callable[..., Awaitable[kopf.AiohttpSession]]:
    async def login(**_: object) -> kopf.AiohttpSession:
        access = await credentials.access()
        headers = {"Authorization": access.token} if access.token else {}
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=access.ssl), headers=headers, proxy=access.proxy
        )
        return kopf.AiohttpSession(server=access.server, aiohttp_session=session)

    return login
