"""The command line and the configuration files of each component.

Defaults are Kubernetes' own wherever they shape what a test sees; what differs is named here with its reason.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from ganglift.playground import credentials
from ganglift.playground.options import Component, PlaygroundOptions
from ganglift.playground.state import Ports, StateDir, write_private

_STAGES = Path(__file__).parent / "stages.yaml"
_NATIVE_GATES = ("GenericWorkload=true", "WorkloadWithJob=true")
_NATIVE_API = "scheduling.k8s.io/v1beta1=true"
_KUBERNETES = (Component.APISERVER, Component.CONTROLLER_MANAGER, Component.SCHEDULER)

# A node that bears this label has no kubelet: kwok lets go of it, and of its pods.
NO_KUBELET_LABEL = "playground.ganglift.dev/no-kubelet"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the command lines are made from."""

    identity: str
    options: PlaygroundOptions
    ports: Ports
    state_dir: StateDir

    @property
    def server(self) -> str:
        """The API server's URL."""
        return f"https://127.0.0.1:{self.ports.apiserver}"

    def kubeconfig(self, component: Component) -> Path:
        """The kubeconfig of one component."""
        return self.state_dir.config / f"{component}.kubeconfig"


def arguments(component: Component, plan: Plan) -> list[str]:
    """The component's arguments, without the program."""
    make: dict[Component, Callable[[Plan], list[str]]] = {
        Component.ETCD: _etcd,
        Component.APISERVER: _apiserver,
        Component.CONTROLLER_MANAGER: _controller_manager,
        Component.SCHEDULER: _scheduler,
        Component.KWOK: _kwok,
    }
    return make[component](plan) + _feature_gates(component, plan.options)


def write_static_config(plan: Plan) -> None:
    """Write the files that the components read, but for kubeconfigs: these need the API server's certificate."""
    write_private(plan.state_dir.config / "scheduler.yaml", yaml.safe_dump(_scheduler_config(plan)).encode())
    stages = [_STAGES.read_text(), *(path.read_text() for path in plan.options.stages)]
    settings = yaml.safe_dump(_kwok_config())
    write_private(plan.state_dir.config / "kwok.yaml", "\n---\n".join([settings, *stages]).encode())


def write_kubeconfigs(plan: Plan) -> None:
    """Write the administrator's kubeconfig and the components' own."""
    users = {
        plan.state_dir.kubeconfig: credentials.ADMINISTRATOR,
        plan.kubeconfig(Component.CONTROLLER_MANAGER): credentials.CONTROLLER_MANAGER,
        plan.kubeconfig(Component.SCHEDULER): credentials.SCHEDULER,
        plan.kubeconfig(Component.KWOK): credentials.KUBELETS,
    }
    for path, user in users.items():
        credentials.write_kubeconfig(
            path,
            server=plan.server,
            authority=plan.state_dir.authority,
            user=user,
            token=credentials.token_of(plan.state_dir, user),
        )


def _etcd(plan: Plan) -> list[str]:
    client, peer = (f"http://127.0.0.1:{port}" for port in (plan.ports.etcd, plan.ports.etcd_peer))
    return [
        "--name=playground",
        f"--data-dir={plan.state_dir.etcd_data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=playground={peer}",
        "--unsafe-no-fsync",  # the data need not outlive the machine
        "--quota-backend-bytes=8589934592",
        "--log-level=warn",
    ]


def _apiserver(plan: Plan) -> list[str]:
    runtime_config = list(plan.options.runtime_config)
    if plan.options.native_gang_scheduling:
        runtime_config.append(_NATIVE_API)
    key = credentials.service_account_key(plan.state_dir)
    return [
        f"--etcd-servers=http://127.0.0.1:{plan.ports.etcd}",
        f"--etcd-prefix=/{plan.identity}",  # should the port be another playground's by now, no data are mixed up
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",  # else it looks for an address that other machines could reach
        f"--secure-port={plan.ports.apiserver}",
        "--endpoint-reconciler-type=none",  # a loopback address is no legal endpoint of the `kubernetes` service
        f"--cert-dir={plan.state_dir.credentials}",
        f"--token-auth-file={credentials.tokens_file(plan.state_dir)}",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        *([f"--runtime-config={','.join(runtime_config)}"] if runtime_config else []),
        # Without kubelets nobody would take the not-ready taint off again.
        *([] if plan.options.kubelets else ["--disable-admission-plugins=TaintNodesByCondition"]),
    ]


def _controller_manager(plan: Plan) -> list[str]:
    kubeconfig = plan.kubeconfig(Component.CONTROLLER_MANAGER)
    rates = plan.options.request_rates
    # The TTL controller hints to kubelets how long to cache secrets; on 1,000 nodes it keeps writing for a minute.
    unused = ["ttl-controller"] + ([] if plan.options.kubelets else ["node-lifecycle-controller"])
    return [
        f"--kubeconfig={kubeconfig}",
        *_serving(plan, plan.ports.controller_manager, kubeconfig),
        f"--service-account-private-key-file={credentials.service_account_key(plan.state_dir)}",
        f"--root-ca-file={plan.state_dir.authority}",
        f"--controllers=*,{','.join(f'-{name}' for name in unused)}",
        *([] if rates == "default" else [f"--kube-api-qps={rates}", f"--kube-api-burst={2 * rates}"]),
    ]


def _scheduler(plan: Plan) -> list[str]:
    kubeconfig = plan.kubeconfig(Component.SCHEDULER)
    return [
        f"--config={plan.state_dir.config / 'scheduler.yaml'}",
        *_serving(plan, plan.ports.scheduler, kubeconfig),
    ]


def _serving(plan: Plan, port: int, kubeconfig: Path) -> list[str]:
    """Health and metrics of a component, under the API server's certificate: the host is the same."""
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={plan.state_dir.certificate}",
        f"--tls-private-key-file={plan.state_dir.certificate.with_suffix('.key')}",
        f"--authentication-kubeconfig={kubeconfig}",
        "--authentication-skip-lookup=true",  # there is no authority for clients' certificates to be found
        f"--authorization-kubeconfig={kubeconfig}",
    ]


def _scheduler_config(plan: Plan) -> dict[str, object]:
    connection: dict[str, object] = {"kubeconfig": str(plan.kubeconfig(Component.SCHEDULER))}
    if plan.options.request_rates != "default":
        connection |= {"qps": plan.options.request_rates, "burst": 2 * plan.options.request_rates}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": connection,
        "leaderElection": {"leaderElect": True},
    }


def _kwok(plan: Plan) -> list[str]:
    return [
        f"--kubeconfig={plan.kubeconfig(Component.KWOK)}",
        f"--config={plan.state_dir.config / 'kwok.yaml'}",
        f"--manage-nodes-with-label-selector=!{NO_KUBELET_LABEL}",
        "--node-lease-duration-seconds=40",  # a kubelet's default
        f"--server-address=127.0.0.1:{plan.ports.kwok}",
    ]


def _kwok_config() -> dict[str, object]:
    # One process plays all kubelets, so it works on as many objects at once as a few of them would.
    parallelism = 16
    return {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "options": {
            "podPlayStageParallelism": parallelism,
            "nodePlayStageParallelism": parallelism,
            "nodeLeaseParallelism": parallelism,
            "enableDebuggingHandlers": False,
        },
    }


def _feature_gates(component: Component, options: PlaygroundOptions) -> list[str]:
    gates = [
        f"{gate.name}={str(gate.is_enabled).lower()}" for gate in options.feature_gates if gate.component is component
    ]
    if options.native_gang_scheduling and component in _KUBERNETES:
        gates = [*_NATIVE_GATES, *gates]
    return [f"--feature-gates={','.join(gates)}"] if gates else []
