"""Real API servers keep the contract that the fake is held to."""

from collections.abc import AsyncIterator

import pytest
from tests.contract.objects import ObjectContract
from tests.contract.pods import JobContract, PodContract
from tests.contract.server import Server, open_namespace
from tests.contract.streams import StreamContract
from tests.controlplane.cluster import Cluster
from tests.controlplane.playgrounds import on_both_versions

from ganglift.kube.credentials import Credentials
from ganglift.kube.http import HttpClient


@pytest.fixture
async def server(cluster: Cluster) -> AsyncIterator[Server]:
    """A namespace of its own."""
    credentials = Credentials.from_environment(cluster.playground.kubeconfig)
    async with HttpClient(credentials) as client:
        yield await open_namespace(client, cluster.playground.options.kubernetes.minor)


@on_both_versions
class TestObjects(ObjectContract):
    pass


@on_both_versions
class TestPods(PodContract):
    pass


@on_both_versions
class TestJobs(JobContract):
    pass


@on_both_versions
class TestStreams(StreamContract):
    pass
