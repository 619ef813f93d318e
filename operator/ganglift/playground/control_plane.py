"""The processes of one playground: start them in order, wait until each is ready, say what went wrong where one is not.

Every step is written into the state file at once, so that whoever comes later, the guardian above all, knows all
processes there are.
"""

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ganglift.playground import commands, crds, credentials, process
from ganglift.playground.client import UNREACHABLE, ApiClient
from ganglift.playground.errors import ComponentFailed, PlaygroundError, RequestFailed
from ganglift.playground.options import Component, PlaygroundOptions
from ganglift.playground.ports import TAKEN, choose_ports
from ganglift.playground.readiness import is_ready, release_leases
from ganglift.playground.report import Reporter
from ganglift.playground.state import State, StateDir

_POLL_S = 0.03
_READY_TIMEOUT_S = 90.0
_LOG_TAIL_LINES = 20
_PORT_ATTEMPTS = 3
_BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
_DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """The processes that the state file in `state_dir` names. Whoever changes them holds the directory's lock."""

    state_dir: StateDir

    def launch(
        self, identity: str, options: PlaygroundOptions, binaries: Mapping[str, Path], reporter: Reporter
    ) -> None:
        """Start all components on free ports, again on others when one was taken meanwhile.

        The state directory was just made. Raises ComponentFailed; some components may still run then.
        """
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            self.state_dir.write(State(id=identity, options=options, ports=choose_ports(), binaries=binaries))
            try:
                self._start_all(reporter)
            except ComponentFailed as failure:
                self.end_all()
                if TAKEN not in failure.log_tail or attempt == _PORT_ATTEMPTS:
                    raise
                reporter.step(f"{failure.component} found its port taken: starting again on other ports")
                self.state_dir.create()
            else:
                return

    def start(self, component: Component) -> None:
        """Start one component and wait until it is ready; nothing to do when it runs. Raises ComponentFailed.

        When the API server or etcd comes back, components that have ended for want of it are started too, as a kubelet
        would start them; those that were ended on purpose stay so.
        """
        state = self.state_dir.read()
        if component not in state.options.components:
            raise PlaygroundError(f"this playground has no {component}")
        self._start_one(component)
        if component in (Component.ETCD, Component.APISERVER):
            for dependant in state.options.components:
                if dependant in state.processes:
                    self._start_one(dependant)

    def _start_one(self, component: Component) -> None:
        if component in self.running():
            return
        with contextlib.suppress(RequestFailed, *UNREACHABLE):  # then a lease runs out by itself
            release_leases(component, self.client())
        self._spawn(component)
        self.wait_ready(component)

    def end(self, component: Component, *, grace_s: float) -> None:
        """End one component and wait until it is gone."""
        state = self.state_dir.read()
        if component in state.processes:
            process.end([state.processes[component]], grace_s=grace_s)
            self.state_dir.write(state.with_process(component, None))

    def end_all(self) -> None:
        """End every component at once and without grace: nothing of theirs is kept."""
        process.end(self.state_dir.read().processes.values())

    def wait_ready(self, component: Component) -> None:
        """Wait until the component does its work. Raises ComponentFailed when it ends or takes too long."""
        ports = self.state_dir.read().ports
        self.wait_for(lambda: is_ready(component, ports, self.client()), component, "was not ready")

    def wait_for(self, condition: Callable[[], bool], component: Component, complaint: str) -> None:
        """Poll until `condition` holds. Raises ComponentFailed when the component behind it ends, or at a deadline."""
        deadline = time.monotonic() + _READY_TIMEOUT_S
        while True:
            holds = condition()
            self._raise_if_ended(component)  # also when it holds: another process may have answered on a taken port
            if holds:
                return
            if time.monotonic() > deadline:
                what = f"{complaint} after {_READY_TIMEOUT_S:.0f} s"
                raise ComponentFailed(component, what, None, self.log_tail(component))
            time.sleep(_POLL_S)

    def running(self) -> tuple[Component, ...]:
        """The components whose processes are there."""
        return self.state_dir.read().running

    def client(self) -> ApiClient:
        """Requests as the administrator."""
        token = credentials.token_of(self.state_dir, credentials.ADMINISTRATOR)
        return ApiClient(self.state_dir.read().ports.apiserver, self.state_dir.certificate, token)

    def log_tail(self, component: Component) -> str:
        """The last lines of its log."""
        log = self.state_dir.log(component)
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return "\n".join(lines[-_LOG_TAIL_LINES:])

    def _start_all(self, reporter: Reporter) -> None:
        plan = self._plan()
        credentials.write_tokens(self.state_dir)
        credentials.write_service_account_key(self.state_dir)
        commands.write_static_config(plan)
        self._start_together((Component.ETCD, Component.APISERVER), reporter)
        credentials.write_authority(self.state_dir)
        commands.write_kubeconfigs(plan)
        self.client().post(_BINDINGS, credentials.controller_manager_binding())
        crds.apply(self.client(), plan.options.crds)
        self._start_together([each for each in plan.options.components if each not in self.running()], reporter)
        # Pods of the default namespace are refused until its service account is there.
        self.wait_for(self._default_account_is_there, Component.CONTROLLER_MANAGER, "made no default service account")
        for component in plan.options.components:
            self._raise_if_ended(component)

    def _raise_if_ended(self, component: Component) -> None:
        running = self.state_dir.read().processes.get(component)
        if running is None:
            raise PlaygroundError(f"{component} does not run: it was ended")
        if not process.is_running(running):
            code = process.exit_code(running)
            raise ComponentFailed(component, f"ended (exit code {code})", code, self.log_tail(component))

    def _start_together(self, components: Sequence[Component], reporter: Reporter) -> None:
        reporter.step(f"starting {', '.join(components)}")
        for component in components:
            self._spawn(component)
        for component in components:
            self.wait_ready(component)

    def _default_account_is_there(self) -> bool:
        try:
            self.client().get(_DEFAULT_ACCOUNT)
        except (RequestFailed, *UNREACHABLE):
            return False
        return True

    def _spawn(self, component: Component) -> None:
        state = self.state_dir.read()
        command = [str(state.binaries[component]), *commands.arguments(component, self._plan())]
        environment = {"PATH": os.defpath, "HOME": str(self.state_dir.path)}  # nothing of the user's shell leaks in

        def record(started: process.ProcessId) -> None:
            self.state_dir.write(state.with_process(component, started))

        process.spawn(command, self.state_dir.log(component), environment, record)

    def _plan(self) -> commands.Plan:
        state = self.state_dir.read()
        return commands.Plan(state.id, state.options, state.ports, self.state_dir)
