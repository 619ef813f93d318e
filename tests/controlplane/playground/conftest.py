"""Playgrounds of the tests' own, for each version in turn: these tests kill their parts."""

import os
from collections.abc import Iterator

import pytest
from tests.controlplane.playground.looks import PODS, pods
from tests.support.polling import eventually

from ganglift.playground import (
    BinariesUnavailable,
    Component,
    Playground,
    PlaygroundOptions,
    kubernetes_version,
    provide,
)

VERSIONS = ("1.37.2", "1.34.4")


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Each version in turn."""
    return _available(request.param)


@pytest.fixture(scope="module")
def newest() -> str:
    """For what does not depend on the version, or is new."""
    return _available(VERSIONS[0])


def _available(version: str) -> str:
    """Skip, outside CI, where there is neither a binary of it nor a Go to build it."""
    try:
        provide(Component, kubernetes_version(version))
    except BinariesUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    return version


@pytest.fixture(scope="module")
def shared(version: str) -> Iterator[Playground]:
    with Playground.start(PlaygroundOptions(version=version, nodes=2, gpus=2)) as playground:
        yield playground


@pytest.fixture
def playground(shared: Playground) -> Iterator[Playground]:
    """Two nodes of two GPUs, everything running, no pods."""
    yield shared
    for component in shared.options.components:
        shared.start_component(component)
    shared.client.delete(f"{PODS}?gracePeriodSeconds=0")
    eventually(lambda: pods(shared), lambda pods: not pods, within_s=30)
