"""The operator's own HTTP server: /healthz, /readyz, /metrics."""

import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from ganglift.base.errors import GangliftError


class PortUnavailable(GangliftError):
    """The operator's own HTTP server can't listen where it is told to."""

    def __init__(self, port: int, why: str) -> None:
        super().__init__(
            f"port {port} for /healthz, /readyz and /metrics can't be listened on ({why}): "
            "name another with --http-port or the setting httpPort, 0 for any free one"
        )
        self.port = port


@asynccontextmanager
async def serving(port: int, is_ready: Callable[[], bool], metrics: CollectorRegistry) -> AsyncIterator[int]:
    """Serve while the context lasts; gives the port, which is a free one if 0 was asked for.

    /healthz answers as long as the event loop turns; /readyz once the first lists of pods and nodes are read, also on a
    replica that stands by. Raises PortUnavailable.
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
        await web.SockSite(runner, _listen(port)).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _listen(port: int) -> socket.socket:
    """Listen on one port for both versions of IP: two sockets would get two ports where any free one will do."""
    both = socket.has_dualstack_ipv6()
    try:
        return socket.create_server(("", port), family=socket.AF_INET6 if both else socket.AF_INET, dualstack_ipv6=both)
    except OSError as error:
        raise PortUnavailable(port, os.strerror(error.errno) if error.errno else str(error)) from error
