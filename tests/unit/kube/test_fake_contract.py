"""The fake API server keeps the contract, as each version that it can stand for."""

from collections.abc import AsyncIterator

import pytest
from tests.contract.objects import ObjectContract
from tests.contract.pods import JobContract, PodContract
from tests.contract.server import Server, open_namespace
from tests.contract.streams import StreamContract
from tests.fakes.apiserver import FakeApiServer


@pytest.fixture(params=[37, 34], ids=["1.37", "1.34"])
def minor(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(params=["http", "direct"])
async def server(request: pytest.FixtureRequest, minor: int) -> AsyncIterator[Server]:
    """The fake over HTTP, and asked without it."""
    async with (
        FakeApiServer(minor=minor) as fake,
        fake.client() if request.param == "http" else fake.direct_client() as client,
    ):
        yield await open_namespace(client, minor)


class TestObjects(ObjectContract):
    pass


class TestPods(PodContract):
    pass


class TestJobs(JobContract):
    pass


class TestStreams(StreamContract):
    pass
