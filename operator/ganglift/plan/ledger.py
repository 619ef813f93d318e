"""What the books know beside nodes and pods: claims, volumes, storage classes, CSI nodes, namespaces, device classes.

Each kind is unknown until it has been listed once (`listed`), and what depends on it is then named as not judged rather
than guessed, with the reason where one is given (`unknown`). Views are made anew only after a change of their kind.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from ganglift.api.model import Object
from ganglift.api.policy import DisruptionBudget
from ganglift.api.storage import Claim, CsiNode, DeviceClass, Namespace, PersistentVolume, StorageClass
from ganglift.base.ids import NodeName
from ganglift.plan.shape import ClaimKey
from ganglift.plan.terms import implied_labels
from ganglift.plan.volumes import Storage

STORAGE_KINDS: tuple[type[Object], ...] = (Claim, PersistentVolume, StorageClass, CsiNode)
LEDGER_KINDS: tuple[type[Object], ...] = (*STORAGE_KINDS, Namespace, DeviceClass)
"""What a plan can depend on. Disruption budgets are kept as well: they matter to evictions alone."""
_KEPT: tuple[type[Object], ...] = (*LEDGER_KINDS, DisruptionBudget)

T = TypeVar("T", bound=Object)


class Ledger:
    """Mutable; `put`, `drop` and `replace` return whether that changed anything."""

    def __init__(self) -> None:
        self.version = 0
        self._objects: dict[type[Object], dict[Any, Object]] = {kind: {} for kind in _KEPT}
        self._limits: dict[NodeName, dict[str, int]] = {}
        self._volume_of: dict[ClaimKey, str] = {}
        """Of claims that a volume says it is for: that volume's name."""
        self._listed: set[type[Object]] = set()
        self._why_unknown: dict[type[Object], str] = {}
        self._storage: Storage | None = None
        self._views: dict[type[Object], Mapping[Any, Object]] = {}

    def listed(self, kind: type[Object]) -> None:
        """Say that all objects of this kind have been put: from now on, one that is not there does not exist."""
        if kind not in self._listed:
            self._listed.add(kind)
            self._why_unknown.pop(kind, None)
            self._changed(kind)

    def unknown(self, kind: type[Object], why: str) -> None:
        """Say that objects of this kind can't be listed, or no longer, and why, in words for the user."""
        if kind in self._listed or self._why_unknown.get(kind) != why:
            self._listed.discard(kind)
            self._why_unknown[kind] = why
            self._changed(kind)

    def replace(self, kind: type[T], objects: Iterable[T]) -> bool:
        """Take a full list: objects of this kind that are not in it are gone."""
        listed = {_name_of(one): one for one in objects}
        gone = [one for name, one in self._objects[kind].items() if name not in listed]
        changes = [*(self.drop(one) for one in gone), *(self.put(one) for one in listed.values())]
        self.listed(kind)
        return any(changes)

    def put(self, one: Object) -> bool:
        """Take an object as it is now."""
        objects, name = self._objects[type(one)], _name_of(one)
        old = objects.get(name)
        if old is not None:
            self._unfile(old)
        objects[name] = one
        self._file(one)
        if old is not None and _essence(old) == _essence(one):
            return False
        self._changed(type(one))
        return True

    def drop(self, one: Object) -> bool:
        """Take the end of an object."""
        old = self._objects[type(one)].pop(_name_of(one), None)
        if old is None:
            return False
        self._unfile(old)
        self._changed(type(one))
        return True

    # Questions

    def known(self, one: T) -> T | None:
        """Return the object of that kind and name as it was put last."""
        return cast("T | None", self._objects[type(one)].get(_name_of(one)))

    def claim(self, key: ClaimKey) -> Claim | None:
        """Return the claim of that namespace and name."""
        return cast("Claim | None", self._objects[Claim].get(key))

    def has_volume_for(self, key: ClaimKey) -> bool:
        """Whether some volume says that it is for this claim."""
        return key in self._volume_of

    @property
    def namespaces_known(self) -> bool:
        return Namespace in self._listed

    def namespaces(self) -> dict[str, Mapping[str, str]]:
        """Return the labels of all namespaces by name."""
        found = self._objects[Namespace].values()
        return {one.name: implied_labels(one.name) | one.metadata.labels for one in found}

    def asked_of_namespaces(self, annotation: str) -> dict[str, str]:
        """Return the value of the annotation by the names of the namespaces that have it."""
        notes = ((one.name, one.metadata.annotations.get(annotation)) for one in self._objects[Namespace].values())
        return {name: value for name, value in notes if value is not None}

    def device_resources(self) -> frozenset[str]:
        """Return the extended resources that some device class serves."""
        classes = cast("Iterable[DeviceClass]", self._objects[DeviceClass].values())
        return frozenset(one.spec.extended_resource_name for one in classes if one.spec.extended_resource_name)

    def budgets(self) -> tuple[DisruptionBudget, ...]:
        """Return the disruption budgets there are."""
        return tuple(cast("Iterable[DisruptionBudget]", self._objects[DisruptionBudget].values()))

    def why_unknown(self, *kinds: type[Object]) -> str:
        """Return why some of these kinds are not known, empty where they all are or no reason is known."""
        return " and ".join(dict.fromkeys(self._why_unknown[kind] for kind in kinds if kind in self._why_unknown))

    def storage(self) -> Storage:
        """Return claims and volumes as they are now."""
        if self._storage is None:
            self._storage = Storage(
                is_known=self._listed.issuperset(STORAGE_KINDS),
                why_unknown=self.why_unknown(*STORAGE_KINDS),
                claims=self._view(Claim),
                volumes=self._view(PersistentVolume),
                classes=self._view(StorageClass),
                limits=dict(self._limits),
            )
        return self._storage

    # Internals

    def _view(self, kind: type[T]) -> Mapping[Any, T]:
        if kind not in self._views:
            self._views[kind] = dict(self._objects[kind])
        return cast("Mapping[Any, T]", self._views[kind])

    def _file(self, one: Object) -> None:
        if isinstance(one, PersistentVolume) and one.spec.claim_ref is not None:
            self._volume_of[one.spec.claim_ref.key] = one.name
        elif isinstance(one, CsiNode) and (limits := _limits(one)):
            self._limits[NodeName(one.name)] = limits

    def _unfile(self, one: Object) -> None:
        if isinstance(one, PersistentVolume) and one.spec.claim_ref is not None:
            if self._volume_of.get(one.spec.claim_ref.key) == one.name:
                del self._volume_of[one.spec.claim_ref.key]
        elif isinstance(one, CsiNode):
            self._limits.pop(NodeName(one.name), None)

    def _changed(self, kind: type[Object]) -> None:
        if kind is DisruptionBudget:
            return
        self.version += 1
        self._views.pop(kind, None)
        if kind in STORAGE_KINDS:
            self._storage = None


def _name_of(one: Object) -> ClaimKey | str:
    return one.key if isinstance(one, Claim | DisruptionBudget) else one.name


def _essence(one: Object) -> tuple[object, ...]:
    """What of an object can matter: not its version, nor who wrote it when."""
    metadata = one.metadata
    rest = (getattr(one, name) for name in type(one).model_fields if name != "metadata")
    return (metadata.uid, metadata.labels, metadata.annotations, one.is_deleting, *rest)


def _limits(node: CsiNode) -> dict[str, int]:
    return {d.name: d.allocatable.count for d in node.spec.drivers if d.allocatable and d.allocatable.count is not None}
