"""A real Kubernetes control plane on loopback, with fake GPU nodes: for the demo, the tests and the benchmarks.

It knows nothing of the operator. The binaries are found or built (`binaries`), the processes belong to whoever
started them (`playground`), and each Kubernetes minor is one Go module under `tools/`.
"""

from ganglift.playground.binaries import provide
from ganglift.playground.catalog import kubernetes_version, supported_versions
from ganglift.playground.client import ApiClient
from ganglift.playground.errors import (
    AlreadyRunning,
    BinariesUnavailable,
    BuildFailed,
    ComponentFailed,
    NotAPlayground,
    PlaygroundError,
    RequestFailed,
    UnsupportedVersion,
)
from ganglift.playground.options import Component, FeatureGate, PlaygroundOptions
from ganglift.playground.playground import Playground, Status
from ganglift.playground.report import BuildProgress, Reporter, SilentReporter

__all__ = [
    "AlreadyRunning",
    "ApiClient",
    "BinariesUnavailable",
    "BuildFailed",
    "BuildProgress",
    "Component",
    "ComponentFailed",
    "FeatureGate",
    "NotAPlayground",
    "Playground",
    "PlaygroundError",
    "PlaygroundOptions",
    "Reporter",
    "RequestFailed",
    "SilentReporter",
    "Status",
    "UnsupportedVersion",
    "kubernetes_version",
    "provide",
    "supported_versions",
]
