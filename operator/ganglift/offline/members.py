"""Pods that are asked for: made from templates and joined to their groups."""

from datetime import datetime

from ganglift.api.model import ObjectMeta
from ganglift.api.names import GATE, GROUP_LABEL
from ganglift.api.pod import Named, Pod
from ganglift.api.scheduling import PodGroup
from ganglift.api.storage import Claim, ClaimSpec, StorageClass
from ganglift.base.ids import Key
from ganglift.offline.checks import MOST_PODS
from ganglift.offline.defaults import Defaults
from ganglift.offline.inventory import Asked, Inventory
from ganglift.offline.offered import Offered
from ganglift.offline.owners import Replicas
from ganglift.offline.problems import InvalidInput, Place, Problem, invalid

_PLANNED_CLASS = "planned"
"""A storage class, of a name that no cluster has in it, that waits for its consumer: for claims yet to be made."""


class Members:
    """Takes pods into the inventory. `groups` are those that got members."""

    def __init__(self, inventory: Inventory, defaults: Defaults) -> None:
        self.groups: dict[Key, None] = {}
        self._inventory = inventory
        self._defaults = defaults
        self._offered = Offered(inventory)
        self._count = 0
        self._problems: list[Problem] = []
        for claim in [claim for claim in inventory.all(Claim) if not claim.uid]:
            self._await_claim(claim.key)

    def add(self, replicas: Replicas, created: datetime) -> None:
        """Take the pods of one template. Raises InvalidInput for a template that the API server would refuse."""
        self._count += len(replicas.seats)
        if self._count > MOST_PODS:
            raise invalid(replicas.place, f"with this there are more than {MOST_PODS} pods, which no cluster can have")
        pods = replicas.pods(self._defaults, created)
        if not pods or not self._joins(pods[0], replicas.place, replicas.path):
            return
        for pod in pods:
            self._put(pod)
        for seat in replicas.seats:
            for claim in seat.claims.values():
                self._await_claim(Key(replicas.namespace, claim))

    def add_pod(self, asked: Asked, created: datetime) -> None:
        """Take a single pod; one with a nodeName runs there."""
        pod = self._defaults.pod(asked.data, asked.place, "")
        metadata = pod.metadata.model_copy(update={"uid": asked.uid, "creation_timestamp": created})
        pod = pod.model_copy(update={"metadata": metadata})
        if pod.is_bound or self._joins(pod, asked.place, ""):
            self._put(pod)

    def finish(self) -> None:
        """Raise InvalidInput if there were pods whose group is nowhere."""
        if self._problems:
            raise InvalidInput(self._problems)

    def _joins(self, pod: Pod, place: Place, path: str) -> bool:
        """Whether a pod is a member of a group, and what there is to say of it."""
        field = f"{path}.metadata.labels" if path else "metadata.labels"
        if pod.group is None:
            self._inventory.note(f"{place}: no gang, there is no label {GROUP_LABEL} in {field}")
            return False
        group = self._inventory.get(PodGroup, pod.group)
        if group is None:
            words = f"there is no PodGroup {pod.group}, neither in the files nor in the cluster"
            self._problems.append(Problem(place, words, f"{field}[{GROUP_LABEL}]"))
            return False
        self.groups[pod.group] = None
        if group.spec.gang is not None and not pod.has_gate:
            words = (
                f"the gate {GATE} is missing and taken to be added by the admission policy; without it nothing waits"
            )
            self._inventory.note(f"{place}: {words}")
        for found, words in self._offered.pod_findings(pod, path):
            self._inventory.note(f"{place}: {found}: {words}")
        return True

    def _put(self, pod: Pod) -> None:
        group = self._inventory.get(PodGroup, pod.group) if pod.group is not None else None
        if group is not None and group.spec.gang is not None and not pod.has_gate and not pod.is_bound:
            gates = (*pod.spec.scheduling_gates, Named(name=GATE))
            pod = pod.model_copy(update={"spec": pod.spec.model_copy(update={"scheduling_gates": gates})})
        self._inventory.put(pod)
        for volume in pod.spec.volumes:
            if volume.ephemeral is not None:
                self._await_claim(Key(pod.metadata.namespace, f"{pod.name}-{volume.name}"))

    def _await_claim(self, key: Key) -> None:
        """Have a claim that is made together with its pod, or by a manifest: it is not there to be bound yet."""
        known = self._inventory.get(Claim, key)
        if known is None or not known.uid:
            metadata = ObjectMeta(name=key.name, namespace=key.namespace)
            self._inventory.put(Claim(metadata=metadata, spec=ClaimSpec(storage_class_name=_PLANNED_CLASS)))
            named = ObjectMeta(name=_PLANNED_CLASS)
            self._inventory.put(StorageClass(metadata=named, volume_binding_mode="WaitForFirstConsumer"))
