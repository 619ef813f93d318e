"""Playgrounds for tests: shared by their options for the whole run, wiped before each test, audited during it.

An auditor holds what independent watches saw of each cluster against the rules, and fails the test. A test in which
someone else than the operator breaks a rule is marked `breaks(RULE, reason=...)`, one that nobody can watch
`unaudited(reason=...)`.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from tests.controlplane import chart
from tests.controlplane.audit import Audit, Span
from tests.controlplane.cluster import Cluster
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.controlplane.playgrounds import NEWEST
from tests.controlplane.proxy import Proxy

from ganglift.playground.errors import PlaygroundError
from ganglift.playground.options import PlaygroundOptions
from ganglift.playground.playground import Playground

CRDS = Path(__file__).parents[2] / "crds"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "breaks(rule, reason): someone else than the operator breaks this rule")
    config.addinivalue_line("markers", "unaudited(reason): no watch can outlive what happens here")


StartCluster = Callable[[PlaygroundOptions], Cluster]
StartOperator = Callable[..., OperatorProcess]


class Playgrounds:
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
def playgrounds() -> Iterator[Playgrounds]:
    pool = Playgrounds()
    yield pool
    pool.close()


class Audits:
    """The audits of one test, and who acts in it: operators, and proxies that hold back what they ask for."""

    def __init__(self, *, is_on: bool = True) -> None:
        self._is_on = is_on
        self.operators: list[OperatorProcess] = []
        self.proxies: list[Proxy] = []
        self._running: list[Audit] = []
        self._stack = ExitStack()

    def watch(self, cluster: Cluster) -> None:
        if not self._is_on:
            return
        audit = Audit(cluster.playground.client, self._attended, self._held)
        self._stack.callback(audit.stop)
        audit.start()
        self._running.append(audit)

    def findings(self) -> list[str]:
        """What was against the rules until now, a sentence each."""
        return [finding for audit in self._running for finding in audit.findings()]

    def close(self) -> None:
        self._stack.close()

    def _attended(self) -> Iterator[Span]:
        return (span for operator in self.operators for span in operator.attended)

    def _held(self) -> Iterator[Span]:
        return (span for proxy in self.proxies for span in proxy.held_lifts)


@pytest.fixture
def audits(request: pytest.FixtureRequest) -> Iterator[Audits]:
    """The auditors of every cluster of the test; the test fails where they find anything."""
    audits = Audits(is_on=request.node.get_closest_marker("unaudited") is None)
    yield audits
    try:
        findings = audits.findings()
    finally:
        audits.close()
    broken = {mark.args[0] for mark in request.node.iter_markers("breaks")}
    found = [finding for finding in findings if finding.partition(":")[0] not in broken]
    assert not found, "\n".join(found)


@pytest.fixture
def control_plane(playgrounds: Playgrounds, audits: Audits) -> StartCluster:
    """Gives a wiped cluster on a playground with these options and our CRDs, shared with other tests."""

    def start(options: PlaygroundOptions) -> Cluster:
        cluster = Cluster(running(playgrounds, _with_crds(options)))
        cluster.reset()
        audits.watch(cluster)
        return cluster

    return start


@pytest.fixture
def playground_without_crds(playgrounds: Playgrounds) -> Playground:
    """A playground with a node and without our CRDs, for who installs them; each test clears up before itself."""
    return running(playgrounds, PlaygroundOptions(nodes=1))


def running(playgrounds: Playgrounds, options: PlaygroundOptions) -> Playground:
    """The playground with these options. Skips the test, except in CI, where there is none to be had."""
    try:
        return playgrounds.get(options)
    except PlaygroundError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no control plane here: {error}")


def _with_crds(options: PlaygroundOptions) -> PlaygroundOptions:
    return replace(options, crds=(CRDS,))


@pytest.fixture
def cluster(control_plane: StartCluster, request: pytest.FixtureRequest) -> Cluster:
    """A wiped cluster without nodes: of the newest version at default request rates, or as `playgrounds.on` says."""
    return control_plane(getattr(request, "param", NEWEST))


@pytest.fixture
def history(cluster: Cluster) -> Iterator[History]:
    """What an independent watch of the API sees on `cluster` during the test."""
    with History(cluster.playground.client) as watching:
        yield watching


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[Proxy]:
    """A proxy before the API server of `cluster`, for an operator to go through."""
    with Proxy(cluster.playground) as passing:
        yield passing


@pytest.fixture
def start_operator(tmp_path: Path, audits: Audits) -> Iterator[StartOperator]:
    """Starts the operator on a cluster, under the chart's RBAC; ends it after the test and reads its log."""
    started: list[OperatorProcess] = []

    def start(
        cluster: Cluster, *flags: str, wait: bool = True, has_lease: bool = False, through: Proxy | None = None
    ) -> OperatorProcess:
        kubeconfig = chart.install(cluster.playground)
        if through is not None:
            audits.proxies.append(through)
            kubeconfig = through.kubeconfig(like=kubeconfig)
        lease = () if has_lease else ("--no-leader-elect",)
        operator = OperatorProcess(kubeconfig, tmp_path / f"operator-{len(started)}.log", (*lease, *flags))
        started.append(operator)
        audits.operators.append(operator)
        operator.start(wait=wait)
        return operator

    yield start
    for operator in started:
        was_running = operator.is_running
        code = operator.stop()
        assert not was_running or code == 0, operator.log[-4000:]
        assert "Traceback" not in operator.log, operator.log[-8000:]
        assert '"level": "ERROR"' not in operator.log, operator.log[-8000:]


@pytest.fixture
def operator(cluster: Cluster, start_operator: StartOperator) -> OperatorProcess:
    """The operator on `cluster`."""
    return start_operator(cluster)
