"""The kinds that the operator touches, and where they live in the API.

A `Resource` is a kind as the API server serves it; a `Ref` is the place of one object of it. Both are values:
they can be compared, hashed and used as keys, and a wrong combination (a namespace on a Node) is refused when made.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind at one version. `group` is empty for the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As in an object's `apiVersion`: `v1`, `batch/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """As kubectl and RBAC messages write it: `pods`, `jobs.batch`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def base_path(self) -> str:
        """Path of the group and version: `/api/v1`, `/apis/batch/v1`."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str | None = None) -> str:
        """Path of the collection; of all namespaces if `namespace` is None.

        Raises ValueError for a namespace on a cluster-wide kind.
        """
        if namespace is None:
            return f"{self.base_path}/{self.plural}"
        if not self.namespaced:
            raise ValueError(f"{self.qualified} have no namespace, got {namespace!r}")
        return f"{self.base_path}/namespaces/{quote(namespace, safe='')}/{self.plural}"

    def ref(self, name: str, namespace: str | None = None) -> Ref:
        """The place of the object of that name."""
        return Ref(self, name, namespace)

    def __str__(self) -> str:
        return self.qualified


@dataclass(frozen=True, slots=True)
class Ref:
    """Where one object lives. Not which one: it may be deleted and made anew, so writes name a uid too."""

    resource: Resource
    name: str
    namespace: str | None = None

    def __post_init__(self) -> None:
        if self.resource.namespaced != bool(self.namespace):
            rule = "need a namespace" if self.resource.namespaced else "have no namespace"
            raise ValueError(f"{self.resource.qualified} {rule}, got {self.namespace!r}")
        if not self.name:
            raise ValueError(f"a reference to one of {self.resource.qualified} needs a name")

    def path(self, subresource: str | None = None) -> str:
        """Path of the object or of its subresource (`status`, `eviction`, `binding`, `scale`)."""
        path = f"{self.resource.path(self.namespace)}/{quote(self.name, safe='')}"
        return path if subresource is None else f"{path}/{subresource}"

    def __str__(self) -> str:
        place = self.name if self.namespace is None else f"{self.namespace}/{self.name}"
        return f"{self.resource.qualified} {place}"


PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
PERSISTENT_VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
PERSISTENT_VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
RESOURCE_QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
CORE_EVENTS = Resource("", "v1", "events", "Event")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
BATCH_JOBS = Resource("batch", "v1", "jobs", "Job")
CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
POD_DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
CSI_NODES = Resource("storage.k8s.io", "v1", "csinodes", "CSINode", namespaced=False)
DEVICE_CLASSES = Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)
RUNTIME_CLASSES = Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False)
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)

ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)

WORKLOADS = Resource("scheduling.ganglift.dev", "v1beta1", "workloads", "Workload")
POD_GROUPS = Resource("scheduling.ganglift.dev", "v1beta1", "podgroups", "PodGroup")
JOBS = Resource("batch.ganglift.dev", "v1", "jobs", "Job")
