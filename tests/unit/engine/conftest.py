"""The engine's tests run in virtual time, and fail where something was left behind in the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
from tests.fakes.looptime import VirtualTimeLoop
from tests.support.fakecluster import FakeCluster


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real_time: runs on an event loop whose time is that of the machine")


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, Callable[[], Any]]:
    if item.get_closest_marker("real_time") is not None:
        return {"real": asyncio.SelectorEventLoop}
    return {"virtual": VirtualTimeLoop}


@pytest.fixture(autouse=True)
async def no_errors_in_the_loop() -> AsyncIterator[None]:
    """Fail a test that left an exception which nobody took, or a task that was thrown away."""
    found: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: found.append(context))
    yield
    assert found == []


@pytest.fixture
async def cluster() -> AsyncIterator[FakeCluster]:
    async with FakeCluster() as cluster:
        yield cluster
