"""A real control plane on loopback: etcd, API server, controller-manager, scheduler, and kwok for the kubelets.

    with Playground.start(PlaygroundOptions(nodes=3, gpus=1)) as playground:
        run("kubectl", "--kubeconfig", playground.kubeconfig, "get", "nodes")

A playground belongs to the process that started it and ends with that process, whatever ends it (`guardian`),
unless it was started with `keep_running`. All that is known of it stands in its state directory, so any process of
the same user can attach to it there: to look, to kill and start components, to bring it down.
"""

import contextlib
import secrets
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from ganglift.playground import credentials, nodes, process
from ganglift.playground.binaries import provide
from ganglift.playground.client import UNREACHABLE, ApiClient
from ganglift.playground.control_plane import ControlPlane
from ganglift.playground.errors import AlreadyRunning, NotAPlayground, PlaygroundError
from ganglift.playground.guardian import Guardian
from ganglift.playground.options import Component, PlaygroundOptions
from ganglift.playground.report import Reporter, SilentReporter
from ganglift.playground.state import State, StateDir

_GRACE_S = 30.0


@dataclass(frozen=True, slots=True)
class Status:
    """How a playground fares, as seen from outside."""

    version: str
    server: str
    kubeconfig: Path
    components: Mapping[Component, int | None]  # the pid of each, None where it is not running
    nodes: int | None  # None: the API server does not answer
    usable_nodes: int | None  # Ready and untainted

    @property
    def is_whole(self) -> bool:
        """Whether every component runs."""
        return all(pid is not None for pid in self.components.values())


class Playground:
    """A running control plane; made by `start` or `attach`, not by hand."""

    def __init__(self, state_dir: StateDir, identity: str, guardian: Guardian | None = None) -> None:
        self._state_dir = state_dir
        self._identity = identity
        self._control_plane = ControlPlane(state_dir)
        self._guardian = guardian

    @classmethod
    def start(
        cls,
        options: PlaygroundOptions | None = None,
        *,
        reporter: Reporter | None = None,
        keep_running: bool = False,
    ) -> Self:
        """Start a playground and return once pods can be scheduled; missing binaries are built first, in minutes.

        `keep_running` leaves it up when this process ends; someone has to bring it `down` then. A start that fails,
        or is interrupted, leaves nothing behind. Raises PlaygroundError; BinariesUnavailable where neither binaries
        nor Go are there.
        """
        options = options or PlaygroundOptions()
        reporter = reporter or SilentReporter()
        binaries = provide(options.components, options.kubernetes, reporter=reporter)
        state_dir = StateDir(_directory(options))
        identity = secrets.token_hex(8)
        with state_dir.lock():
            _refuse_if_running(state_dir)
            state_dir.create()
            playground = cls(state_dir, identity, Guardian(state_dir.path, identity))
            try:
                playground._control_plane.launch(identity, options, binaries, reporter)
                if options.nodes:
                    reporter.step(f"adding {options.nodes} nodes")
                    playground.add_nodes(options.nodes)
            except BaseException:
                playground._end()
                raise
        if keep_running:
            playground.release()
        return playground

    @classmethod
    def attach(cls, state_dir: Path) -> Self:
        """The playground in that directory, whoever started it. Raises NotAPlayground."""
        found = StateDir(state_dir.absolute())
        return cls(found, found.read().id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.down()

    @property
    def identity(self) -> str:
        """Tells it from an earlier or later playground in the same directory."""
        return self._identity

    @property
    def state_dir(self) -> Path:
        """Where all its files are."""
        return self._state_dir.path

    @property
    def options(self) -> PlaygroundOptions:
        """What it was started with."""
        return self._state_dir.read().options

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self._state_dir.kubeconfig

    @property
    def server(self) -> str:
        """The API server's URL."""
        return f"https://127.0.0.1:{self._state_dir.read().ports.apiserver}"

    @property
    def client(self) -> ApiClient:
        """Plain requests to the API server as the administrator."""
        return self._control_plane.client()

    def binary(self, name: str) -> Path:
        """A program of this playground's version, `helm` for one; found, or else built."""
        return provide([name], self.options.kubernetes)[name]

    def add_node(
        self,
        name: str,
        *,
        gpus: int | None = None,
        cpu: str | None = None,
        memory: str | None = None,
        pods: int | None = None,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[str] = (),
        resources: Mapping[str, str] | None = None,
        wait: bool = True,
    ) -> None:
        """Add a node, by default of the playground's own shape; with `wait`, return once it is Ready and untainted.

        It is not ready at first, gets its Ready from its kubelet and loses its not-ready taint to the node-lifecycle
        controller, as a real one; without kubelets it is Ready from the start.
        `taints` are written as for kubectl (`gpu=spot:NoSchedule`); `resources` are more extended resources.
        """
        options = self.options
        shape = nodes.NodeShape(
            gpus=options.gpus if gpus is None else gpus,
            cpu=cpu or options.cpu,
            memory=memory or options.memory,
            pods=options.pods if pods is None else pods,
            labels=labels or {},
            taints=taints,
            resources=resources or {},
        )
        manifest = nodes.manifest(name, shape, f"v{options.kubernetes}", is_ready=not options.kubelets)
        nodes.create(self.client, [manifest])
        if wait:
            self._wait_usable({name})

    def add_nodes(self, count: int, *, wait: bool = True) -> list[str]:
        """Add nodes of the playground's own shape, named on from gpu-0; returns their names.

        They are made Ready and untainted at once, as if they had been there for long: a thousand take seconds. A node
        that joins as a real one does, not ready at first, is what `add_node` adds.
        """
        options = self.options
        shape = nodes.NodeShape(gpus=options.gpus, cpu=options.cpu, memory=options.memory, pods=options.pods)
        names = nodes.next_names(self.client, count)
        manifests = [nodes.manifest(name, shape, f"v{options.kubernetes}", is_ready=True) for name in names]
        nodes.create(self.client, manifests, untaint=options.kubelets)
        if wait:
            self._wait_usable(set(names))
        return names

    def delete_node(self, name: str) -> None:
        """Delete a node; its pods are left to the controllers, as in a real cluster."""
        nodes.delete(self.client, name)

    def stop_kubelet(self, name: str) -> None:
        """Make one node's kubelet fall silent: its Ready turns Unknown at once, its pods stay as they are."""
        nodes.stop_kubelet(self.client, name)

    def start_kubelet(self, name: str) -> None:
        """Bring that kubelet back; returns once the node is Ready and untainted."""
        nodes.start_kubelet(self.client, name)
        self._wait_usable({name})

    def kill(self, component: Component | str) -> None:
        """SIGKILL a component, and return when it is gone."""
        with self._state_dir.lock():
            self._control_plane.end(Component(component), grace_s=0)

    def stop_component(self, component: Component | str) -> None:
        """SIGTERM a component, as an orderly shutdown does, and return when it is gone."""
        with self._state_dir.lock():
            self._control_plane.end(Component(component), grace_s=_GRACE_S)

    def start_component(self, component: Component | str) -> None:
        """Start a component that was ended, and return when it is ready.

        A lease that its dead predecessor holds is given up first, so that a new leader need not wait 15 s for it.
        """
        with self._state_dir.lock():
            self._control_plane.start(Component(component))

    def restart(self, component: Component | str) -> None:
        """Kill a component and start it again."""
        with self._state_dir.lock():
            self._control_plane.end(Component(component), grace_s=0)
            self._control_plane.start(Component(component))

    def signal(self, component: Component | str, number: signal.Signals) -> None:
        """Send a component a signal, SIGSTOP and SIGCONT for a start. Raises PlaygroundError when it does not run."""
        running = self._state_dir.read().processes.get(Component(component))
        if running is None or not process.send(running, number):
            raise PlaygroundError(f"{component} does not run")

    def log(self, component: Component | str) -> str:
        """All that a component has written, over all its starts."""
        log = self._state_dir.log(Component(component))
        return log.read_text(errors="replace") if log.exists() else ""

    def token(self, namespace: str, service_account: str, *, seconds: int = 3600) -> str:
        """A token of a service account, as a pod of it would have."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{service_account}/token"
        answer = self.client.post(path, {"spec": {"expirationSeconds": seconds}})
        return str(answer["status"]["token"])

    def token_kubeconfig(self, path: Path, token: str) -> Path:
        """Write a kubeconfig for whoever that token is; returns `path`."""
        authority = self._state_dir.authority
        return credentials.write_kubeconfig(path, server=self.server, authority=authority, user="token", token=token)

    def status(self) -> Status:
        """How it fares; never raises for a component that is down."""
        state = self._state_dir.read()
        found: tuple[int, int] | None = None
        with contextlib.suppress(PlaygroundError, *UNREACHABLE):
            client = replace(self.client, timeout_s=3)
            found = len(client.get("/api/v1/nodes?resourceVersion=0")["items"]), len(nodes.usable(client))
        return Status(
            version=str(state.options.kubernetes),
            server=self.server,
            kubeconfig=self.kubeconfig,
            components={
                each: state.processes[each].pid if each in state.running else None for each in state.options.components
            },
            nodes=found[0] if found else None,
            usable_nodes=found[1] if found else None,
        )

    def release(self) -> None:
        """Let the playground outlive this process."""
        guardian, self._guardian = self._guardian, None
        if guardian is not None:
            guardian.dismiss()

    def down(self, *, keep_logs: bool = False) -> None:
        """End every process and remove the state directory, but `logs/` with `keep_logs`. Harmless the second time."""
        if self._state_dir.path.is_dir():
            with self._state_dir.lock():
                if self._is_there():
                    self._end(keep_logs=keep_logs)
        self.release()

    def _is_there(self) -> bool:
        """Whether the directory still holds this playground, and not another that came after it."""
        try:
            return self._state_dir.read().id == self._identity
        except NotAPlayground:
            return False

    def _end(self, *, keep_logs: bool = False) -> None:
        with contextlib.suppress(NotAPlayground):
            self._control_plane.end_all()
        self._state_dir.clear(keep_logs=keep_logs)
        if not keep_logs:
            self._state_dir.remove()
        self.release()

    def _wait_usable(self, names: set[str]) -> None:
        client = self.client
        culprit = Component.KWOK if self.options.kubelets else Component.APISERVER
        self._control_plane.wait_for(lambda: names <= nodes.usable(client), culprit, "did not make the nodes Ready")


def _directory(options: PlaygroundOptions) -> Path:
    if options.state_dir is not None:
        return options.state_dir.absolute()
    return Path(tempfile.mkdtemp(prefix="ganglift-playground-"))


def _refuse_if_running(state_dir: StateDir) -> None:
    with contextlib.suppress(NotAPlayground):
        state: State = state_dir.read()
        if state.running:
            raise AlreadyRunning(state_dir.path)
