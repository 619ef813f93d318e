"""Which kinds mean something to planning, and as what.

Objects of the cluster are read into models. Our kinds, batch/v1 Jobs and pods may also be asked for by a manifest, and
so may the owners of pods that have a template. All other kinds are passed over.
"""

from dataclasses import dataclass

from ganglift.api.classes import PriorityClass, RuntimeClass
from ganglift.api.job import BatchJob, GangJob
from ganglift.api.model import Object
from ganglift.api.names import BATCH_GROUP, SCHEDULING_GROUP
from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup, Workload
from ganglift.api.storage import Claim, CsiNode, DeviceClass, Namespace, PersistentVolume, StorageClass
from ganglift.kube import resources
from ganglift.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class ClusterKind:
    """A kind that the planner looks at in a cluster. `lacking`: what can't be told where its objects are not known."""

    resource: Resource
    model: type[Object]
    lacking: str = ""

    @property
    def name(self) -> str:
        """How snapshots name it: `Pod`, `Job.batch`."""
        group = self.resource.group
        return f"{self.resource.kind}.{group}" if group else self.resource.kind


_VOLUMES = "where volume claims let pods go"

CLUSTER_KINDS = (
    ClusterKind(resources.NODES, Node),
    ClusterKind(resources.PODS, Pod),
    ClusterKind(resources.NAMESPACES, Namespace, "which namespaces a selector means"),
    ClusterKind(resources.PERSISTENT_VOLUME_CLAIMS, Claim, _VOLUMES),
    ClusterKind(resources.PERSISTENT_VOLUMES, PersistentVolume, _VOLUMES),
    ClusterKind(resources.STORAGE_CLASSES, StorageClass, _VOLUMES),
    ClusterKind(resources.CSI_NODES, CsiNode, _VOLUMES),
    ClusterKind(resources.DEVICE_CLASSES, DeviceClass, "which resources device classes serve"),
    ClusterKind(resources.PRIORITY_CLASSES, PriorityClass, "the priorities that manifests name"),
    ClusterKind(resources.RUNTIME_CLASSES, RuntimeClass, "the overhead of runtime classes that manifests name"),
    ClusterKind(resources.BATCH_JOBS, BatchJob, "how many members of a batch/v1 Job are still to complete"),
    ClusterKind(resources.WORKLOADS, Workload, "which Workloads there are"),
    ClusterKind(resources.POD_GROUPS, PodGroup, "which gangs there are"),
    ClusterKind(resources.JOBS, GangJob, "which Jobs of ours there are"),
)

BY_KIND = {(kind.resource.group, kind.resource.kind): kind for kind in CLUSTER_KINDS}
BY_MODEL = {kind.model: kind for kind in CLUSTER_KINDS}
BY_NAME = {kind.name: kind for kind in CLUSTER_KINDS}

OURS = (SCHEDULING_GROUP, BATCH_GROUP)
ASKABLE = (GangJob, BatchJob, PodGroup, Workload)
"""Kinds that stand in the cluster or are asked for; pods too, but a pod of the cluster is told by its uid alone."""

TEMPLATE_OWNERS = {
    ("apps", "Deployment"),
    ("apps", "ReplicaSet"),
    ("apps", "StatefulSet"),
    ("batch", "CronJob"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
    ("jobset.x-k8s.io", "JobSet"),
}
NATIVE_GROUP = "scheduling.k8s.io"


def group_of(api_version: str) -> str:
    """Return the API group of an `apiVersion`, empty for the core group."""
    group, slash, _ = api_version.rpartition("/")
    return group if slash else ""
