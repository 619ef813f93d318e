"""What the books know beside nodes and pods: claims, volumes, storage classes, CSI nodes, namespaces, device classes.

Each kind is unknown until it has been listed once (`listed`), and what depends on it is then named as not judged rather
than guessed. Views are made anew only after a change.
"""

from collections.abc import Mapping

from ganglift.api.model import Object
from ganglift.api.storage import Claim, CsiNode, DeviceClass, Namespace, PersistentVolume, StorageClass
from ganglift.base.ids import NodeName
from ganglift.plan.terms import implied_labels
from ganglift.plan.volumes import Storage

_STORAGE = (Claim, PersistentVolume, StorageClass, CsiNode)


class Ledger:
    """Mutable; `put` and `drop` return whether that changed anything."""

    def __init__(self) -> None:
        self.version = 0
        self._objects: dict[type[Object], dict[tuple[str, str], Object]] = {}
        self._listed: set[type[Object]] = set()
        self._storage: Storage | None = None

    def listed(self, kind: type[Object]) -> None:
        """Say that all objects of this kind have been put: from now on, one that is not there does not exist."""
        self._listed.add(kind)
        self._changed()

    def put(self, one: Object) -> bool:
        """Take an object as it is now."""
        objects = self._objects.setdefault(type(one), {})
        old = objects.get(one.key)
        objects[one.key] = one
        if old is not None and _essence(old) == _essence(one):
            return False
        self._changed()
        return True

    def drop(self, one: Object) -> bool:
        """Take the end of an object."""
        if self._objects.get(type(one), {}).pop(one.key, None) is None:
            return False
        self._changed()
        return True

    @property
    def namespaces_known(self) -> bool:
        return Namespace in self._listed

    def namespaces(self) -> dict[str, Mapping[str, str]]:
        """Return the labels of all namespaces by name."""
        found = self._objects.get(Namespace, {}).values()
        return {one.name: implied_labels(one.name) | one.metadata.labels for one in found}

    def device_resources(self) -> frozenset[str]:
        """Return the extended resources that some device class serves."""
        classes = (one for one in self._objects.get(DeviceClass, {}).values() if isinstance(one, DeviceClass))
        return frozenset(one.spec.extended_resource_name for one in classes if one.spec.extended_resource_name)

    def storage(self) -> Storage:
        """Return claims and volumes as they are now."""
        if self._storage is None:
            self._storage = self._make_storage()
        return self._storage

    def _make_storage(self) -> Storage:
        claims, volumes, classes, nodes = (tuple(self._objects.get(kind, {}).values()) for kind in _STORAGE)
        return Storage(
            is_known=self._listed.issuperset(_STORAGE),
            claims={(c.metadata.namespace, c.name): c for c in claims if isinstance(c, Claim)},
            volumes={v.name: v for v in volumes if isinstance(v, PersistentVolume)},
            classes={c.name: c for c in classes if isinstance(c, StorageClass)},
            limits={NodeName(n.name): limits for n in nodes if isinstance(n, CsiNode) and (limits := _limits(n))},
        )

    def _changed(self) -> None:
        self.version += 1
        self._storage = None


def _essence(one: Object) -> tuple[object, ...]:
    """What of an object can matter: not its version, nor who wrote it when."""
    metadata = one.metadata
    rest = (getattr(one, name) for name in type(one).model_fields if name != "metadata")
    return (metadata.uid, metadata.labels, metadata.annotations, one.is_deleting, *rest)


def _limits(node: CsiNode) -> dict[str, int]:
    return {d.name: d.allocatable.count for d in node.spec.drivers if d.allocatable and d.allocatable.count is not None}
