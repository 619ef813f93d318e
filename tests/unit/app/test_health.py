"""The operator's own HTTP server."""

import socket

import pytest
from prometheus_client import CollectorRegistry

from ganglift.app.health import PortUnavailable, serving


async def test_a_used_port_is_named_with_what_to_do() -> None:
    with socket.create_server(("", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortUnavailable, match=rf"port {port} .*Address already in use.*--http-port"):
            async with serving(port, lambda: True, CollectorRegistry()):
                pass
