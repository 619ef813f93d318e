"""What a playground is to be: plain values, hashable, so that tests can share playgrounds by their options."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from ganglift.playground.catalog import Version, kubernetes_version
from ganglift.playground.errors import PlaygroundError

_FIRST_WITH_NATIVE_GANGS = Version(1, 37, 0)  # Workload, PodGroup and Job's `scheduling` in one API version (KEP-4671)


class Component(StrEnum):
    """The processes of a control plane, in the order in which they start."""

    ETCD = "etcd"
    APISERVER = "kube-apiserver"
    CONTROLLER_MANAGER = "kube-controller-manager"
    SCHEDULER = "kube-scheduler"
    KWOK = "kwok"


@dataclass(frozen=True, slots=True)
class FeatureGate:
    """One `--feature-gates` entry of one component."""

    component: Component
    name: str
    is_enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaygroundOptions:
    """A control plane and its nodes. Quantities are written as in Kubernetes (`64`, `500m`, `256Gi`)."""

    version: str = "1.37.2"  # 1.37 means the version pinned for that minor
    nodes: int = 0  # named gpu-0, gpu-1, ...
    gpus: int = 1  # nvidia.com/gpu of each node
    cpu: str = "64"
    memory: str = "256Gi"
    pods: int = 110
    # Whether kwok plays the kubelets. Without it nodes are made Ready by hand, are never tainted, and bound pods
    # stay Pending.
    kubelets: bool = True
    # Requests per second: Kubernetes' defaults (controller-manager 20, burst 30, for each controller; scheduler 50,
    # burst 100), or that number (burst twice it) for both.
    request_rates: Literal["default"] | int = "default"
    # The alpha gang scheduling of 1.37: feature gates on all three components, and its API served.
    native_gang_scheduling: bool = False
    feature_gates: tuple[FeatureGate, ...] = ()
    runtime_config: tuple[str, ...] = ()  # as `scheduling.k8s.io/v1beta1=true`
    # CustomResourceDefinitions, files or directories, applied before the controller-manager starts: its garbage
    # collector then knows their kinds at once, not at its next look half a minute later.
    crds: tuple[Path, ...] = ()
    # Files with more kwok Stages. A Stage with a weight above 0 wins over the playground's own.
    stages: tuple[Path, ...] = ()
    state_dir: Path | None = None  # None: a new temporary directory

    def __post_init__(self) -> None:
        if self.nodes < 0 or self.gpus < 0:
            raise PlaygroundError(f"nodes and GPUs can't be negative: {self.nodes} nodes, {self.gpus} GPUs")
        if self.request_rates != "default" and self.request_rates <= 0:
            raise PlaygroundError(f"request rates must be above 0: {self.request_rates}")
        if self.native_gang_scheduling and self.kubernetes < _FIRST_WITH_NATIVE_GANGS:
            raise PlaygroundError(f"native gang scheduling needs Kubernetes 1.37 or newer, not {self.kubernetes}")

    @property
    def kubernetes(self) -> Version:
        """The exact version asked for."""
        return kubernetes_version(self.version)

    @property
    def components(self) -> tuple[Component, ...]:
        """The components this playground has, in the order in which they start."""
        return tuple(each for each in Component if self.kubelets or each is not Component.KWOK)
