"""What the tests of this layer share: a fake API server and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.fakes.apiserver import FakeApiServer

from ganglift.kube.client import Limits
from ganglift.kube.http import HttpClient


@pytest.fixture
async def fake() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer() as server:
        yield server


@pytest.fixture
async def client(fake: FakeApiServer) -> AsyncIterator[HttpClient]:
    async with fake.client(Limits(request_timeout_s=5.0)) as client:
        yield client
