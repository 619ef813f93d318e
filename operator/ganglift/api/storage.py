"""What placement needs of claims, volumes, storage classes and CSI nodes, and nothing else."""

from ganglift.api.model import Model, Object
from ganglift.api.selectors import NodeSelector
from ganglift.base.ids import Key

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""Annotation that the volume controller sets on a claim once claim and volume name each other."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""Annotation that kube-scheduler sets on a claim whose volume is to be made for a pod on that node; it stays."""


class ClaimSpec(Model):
    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] = ()


class ClaimStatus(Model):
    phase: str = ""


class Claim(Object):
    """A PersistentVolumeClaim."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def is_fully_bound(self) -> bool:
        return bool(self.spec.volume_name) and BIND_COMPLETED in self.metadata.annotations

    @property
    def selected_node(self) -> str:
        """The node that kube-scheduler has chosen for the first pod with the claim; empty if none is noted."""
        return self.metadata.annotations.get(SELECTED_NODE, "")


class VolumeNodeAffinity(Model):
    required: NodeSelector | None = None


class CsiSource(Model):
    driver: str = ""
    volume_handle: str = ""


class ClaimRef(Model):
    """The claim that a volume is for."""

    namespace: str = ""
    name: str = ""

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)


class VolumeSpec(Model):
    claim_ref: ClaimRef | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CsiSource | None = None


class PersistentVolume(Object):
    spec: VolumeSpec = VolumeSpec()


class StorageClass(Object):
    volume_binding_mode: str = "Immediate"

    @property
    def waits_for_consumer(self) -> bool:
        return self.volume_binding_mode == "WaitForFirstConsumer"


class CsiAllocatable(Model):
    count: int | None = None


class CsiDriver(Model):
    name: str
    allocatable: CsiAllocatable | None = None


class CsiNodeSpec(Model):
    drivers: tuple[CsiDriver, ...] = ()


class CsiNode(Object):
    """How many volumes of each CSI driver a node takes; it has the node's name."""

    spec: CsiNodeSpec = CsiNodeSpec()


class Namespace(Object):
    """Its labels are what namespace selectors look at."""


class DeviceClassSpec(Model):
    extended_resource_name: str | None = None


class DeviceClass(Object):
    """A class of devices; pods may ask for it by its extended resource name as if a device plugin offered that."""

    spec: DeviceClassSpec = DeviceClassSpec()
