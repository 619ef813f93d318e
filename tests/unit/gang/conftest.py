"""Fixtures of the tests of Jobs."""

import pytest
from tests.jobcluster import JOB, Cluster


@pytest.fixture
def running() -> Cluster:
    """The Job after it was expanded, its writes forgotten."""
    cluster = Cluster(JOB)
    cluster.settle()
    cluster.writes.clear()
    return cluster
