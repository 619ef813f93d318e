"""The operator's own HTTP server: /healthz, /readyz, /metrics."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4


@asynccontextmanager
async def serving(port: int, is_ready: Callable[[], bool], metrics: CollectorRegistry) -> AsyncIterator[int]:
    """Serve while the context lasts; gives the port, which is a free one if 0 was asked for.

    /healthz answers as long as the event loop turns; /readyz once the first lists of pods and nodes are read, also on a
    replica that stands by.
    """

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        ready = is_ready()
        return web.Response(
            text="ok\n" if ready else "the first lists are not read yet\n", status=200 if ready else 503
        )

    async def metricsz(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(metrics), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metricsz)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, None, port)
        await site.start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
