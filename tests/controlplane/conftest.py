"""Playgrounds for tests: shared by their options for the whole run, wiped before each test."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.controlplane import chart
from tests.controlplane.cluster import Cluster
from tests.controlplane.operator import OperatorProcess

from ganglift.playground.errors import PlaygroundError
from ganglift.playground.options import PlaygroundOptions
from ganglift.playground.playground import Playground

CRDS = Path(__file__).parents[2] / "crds"
VERSIONS = ("1.37.2", "1.34.4")

StartCluster = Callable[[PlaygroundOptions], Cluster]
StartOperator = Callable[..., OperatorProcess]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run each proof at its full size")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether proofs run at their full size."""
    return bool(request.config.getoption("--full"))


class _Playgrounds:
    """At most two playgrounds at a time: more would only slow each other down on a small machine."""

    MOST = 2

    def __init__(self) -> None:
        self._running: dict[PlaygroundOptions, Playground] = {}

    def get(self, options: PlaygroundOptions) -> Playground:
        if options in self._running:
            self._running[options] = self._running.pop(options)  # the one used last goes last
        else:
            if len(self._running) >= self.MOST:
                self._running.pop(next(iter(self._running))).down()
            self._running[options] = Playground.start(options)
        return self._running[options]

    def drop(self, playground: Playground) -> None:
        """End a playground that a test has left in no state to be shared."""
        self._running = {options: other for options, other in self._running.items() if other is not playground}
        playground.down()

    def close(self) -> None:
        for playground in self._running.values():
            playground.down()


@pytest.fixture(scope="session")
def playgrounds() -> Iterator[_Playgrounds]:
    pool = _Playgrounds()
    yield pool
    pool.close()


@pytest.fixture
def control_plane(playgrounds: _Playgrounds) -> StartCluster:
    """Gives a wiped cluster on a playground with these options and our CRDs, shared with other tests."""

    def start(options: PlaygroundOptions) -> Cluster:
        try:
            playground = playgrounds.get(_with_crds(options))
        except PlaygroundError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"no control plane here: {error}")
        cluster = Cluster(playground)
        cluster.reset()
        return cluster

    return start


def _with_crds(options: PlaygroundOptions) -> PlaygroundOptions:
    from dataclasses import replace

    return replace(options, crds=(CRDS,))


@pytest.fixture
def cluster(control_plane: StartCluster) -> Cluster:
    """A wiped cluster of the newest version, at default request rates, without nodes."""
    return control_plane(PlaygroundOptions())


@pytest.fixture
def start_operator(tmp_path: Path) -> Iterator[StartOperator]:
    """Starts the operator on a cluster, under the chart's RBAC; ends it after the test and reads its log."""
    started: list[OperatorProcess] = []

    def start(cluster: Cluster, *flags: str, wait: bool = True, has_lease: bool = False) -> OperatorProcess:
        kubeconfig = chart.install(cluster.playground)
        lease = () if has_lease else ("--no-leader-elect",)
        operator = OperatorProcess(kubeconfig, tmp_path, (*lease, *flags))
        started.append(operator)
        operator.start(wait=wait)
        return operator

    yield start
    for operator in started:
        was_running = operator.is_running
        code = operator.stop()
        assert not was_running or code == 0, operator.log[-4000:]
        assert "Traceback" not in operator.log, operator.log[-8000:]


@pytest.fixture
def operator(cluster: Cluster, start_operator: StartOperator) -> OperatorProcess:
    """The operator on `cluster`."""
    return start_operator(cluster)
