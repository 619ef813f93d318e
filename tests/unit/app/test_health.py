"""The operator's own HTTP server."""

import socket

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Gauge

from ganglift.app.health import PortUnavailable, serving


async def test_a_used_port_is_named_with_what_to_do() -> None:
    with socket.create_server(("", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortUnavailable, match=rf"port {port} .*Address already in use.*--http-port"):
            async with serving(port, lambda: True, CollectorRegistry()):
                pass


async def test_metrics_are_served_as_prometheus_reads_them() -> None:
    metrics = CollectorRegistry()
    Gauge("ganglift_leader", "whether it leads", registry=metrics).set(1)
    async with (
        serving(0, lambda: True, metrics) as port,
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics") as answer,
    ):
        text = await answer.text()
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert "\nganglift_leader 1.0\n" in text


async def test_any_free_port_is_one_for_both_versions_of_ip() -> None:
    async with serving(0, lambda: True, CollectorRegistry()) as port, aiohttp.ClientSession() as session:
        hosts = ["127.0.0.1", *(["[::1]"] if socket.has_dualstack_ipv6() else [])]
        for host in hosts:
            async with session.get(f"http://{host}:{port}/readyz") as answer:
                assert answer.status == 200
