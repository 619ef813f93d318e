"""Files into an inventory.

What a file holds decides what its objects are: a file with nodes, or a snapshot, shows a cluster, and what bears a uid
in it exists there. Everything else that has no uid, and our kinds and Jobs in files without nodes, is asked for.
Pods with a uid exist wherever they stand, so nodes and pods may be saved to two files.
"""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from ganglift.api.model import Object, ObjectMeta
from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.base.ids import Key
from ganglift.offline.documents import Content, Document, Head, read
from ganglift.offline.inventory import Asked, Inventory
from ganglift.offline.kinds import (
    ASKABLE,
    BY_KIND,
    BY_MODEL,
    BY_NAME,
    NATIVE_GROUP,
    OURS,
    TEMPLATE_OWNERS,
    ClusterKind,
    group_of,
)
from ganglift.offline.problems import InvalidInput, Place, Problem, problems_of

_KEPT_METADATA = ("name", "namespace", "labels", "annotations")


def load(files: Iterable[tuple[str, bytes]], namespace: str = "default", cluster: Inventory | None = None) -> Inventory:
    """Return what the files, given by name and content, hold, added to what is known of a cluster.

    Manifests without a namespace are of the given one. Raises InvalidInput with all that is wrong with the files.
    """
    inventory = cluster or Inventory()
    with without_collection():
        for name, data in files:
            _File(inventory, name, namespace).load(data)
    if inventory.problems:
        raise InvalidInput(inventory.problems)
    return inventory


@contextmanager
def without_collection() -> Iterator[None]:
    """Keep the garbage collector from going over what is being loaded, again and again.

    With it, loading 50,000 pods takes three times as long.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _File:
    """One file on its way into the inventory."""

    def __init__(self, inventory: Inventory, name: str, namespace: str) -> None:
        self._inventory = inventory
        self._name = name
        self._namespace = namespace
        self._undecided: list[Document] = []
        self._counts: Counter[str] = Counter()

    def load(self, data: bytes) -> None:
        content = read(self._name, data)
        for document in content.documents:
            self._take(document, content)
        is_cluster = content.head is not None or bool(self._counts[BY_MODEL[Node].name])
        self._inventory.shows_cluster |= is_cluster
        for document in self._undecided:
            self._decide(document, is_cluster)
        if content.head is not None:
            self._check_counts(content.head)
            self._inventory.listed |= {BY_NAME[name].model for name in content.head.listed if name in BY_NAME}
            self._inventory.taken_at = content.head.metadata.taken_at
            self._inventory.kubernetes = content.head.metadata.kubernetes

    def _take(self, document: Document, content: Content) -> None:
        kind = BY_KIND.get((group_of(document.api_version), document.kind))
        if kind is None or kind.model in ASKABLE:
            self._undecided.append(document)
            return
        one = self._parsed(document, kind, content)
        if one is None:
            return
        if isinstance(one, Pod) and not one.uid:
            self._undecided.append(document)
            return
        self._exists(one, document, kind)
        if isinstance(one, Pod):
            self._inventory.see_nomination(one, document.json or document.data)

    def _exists(self, one: Object, document: Document, kind: ClusterKind) -> None:
        if kind.resource.namespaced and not one.metadata.namespace:
            one = one.model_copy(update={"metadata": one.metadata.model_copy(update={"namespace": self._namespace})})
        self._counts[kind.name] += 1
        if one.uid:
            self._inventory.listed.add(kind.model)
        self._inventory.put(one, document.place)

    def _decide(self, document: Document, is_cluster: bool) -> None:
        group = group_of(document.api_version)
        kind = BY_KIND.get((group, document.kind))
        if kind is None and (group, document.kind) not in TEMPLATE_OWNERS:
            self._pass_over(document, is_cluster)
            return
        metadata = document.data.get("metadata")
        exists = is_cluster and isinstance(metadata, dict) and bool(metadata.get("uid"))
        if not exists:
            self._ask(document)
        elif kind is not None and (one := self._parsed(document, kind)) is not None:
            self._exists(one, document, kind)

    def _pass_over(self, document: Document, is_cluster: bool) -> None:
        """What is no matter of planning is named, unless it lies about in a cluster's file."""
        if group_of(document.api_version) == NATIVE_GROUP:
            words = f"{document.kind} of {document.api_version} is Kubernetes' own and left to kube-scheduler"
            self._inventory.note(f"{_place_of(document)}: {words}; ours has apiVersion {OURS[0]}/...")
        elif not is_cluster:
            self._inventory.note(f"{_place_of(document)}: no matter of planning")

    def _ask(self, document: Document) -> None:
        data = document.data
        metadata = data.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
            message = "is missing: give the object a name (generateName is not enough to tell gangs apart)"
            self._inventory.problems.append(Problem(document.place, message, "metadata.name"))
            return
        key = Key(str(metadata.get("namespace") or self._namespace), name)
        kept = {field: metadata[field] for field in _KEPT_METADATA if field in metadata} | {"namespace": key.namespace}
        place = Place(document.place.file, f"{document.kind} {key}")
        try:
            ObjectMeta.model_validate(kept)
        except ValidationError as error:
            self._inventory.problems += problems_of(error, place, "metadata")
            return
        plain = {field: value for field, value in data.items() if field != "status"} | {"metadata": kept}
        self._inventory.asked.append(Asked(place, document.api_version, document.kind, key, plain))

    def _parsed(self, document: Document, kind: ClusterKind, content: Content | None = None) -> Object | None:
        if document.api_version != kind.resource.api_version and kind.resource.group in OURS:
            message = f"{document.api_version} is not known, write {kind.resource.api_version}"
            self._inventory.problems.append(Problem(document.place, message, "apiVersion"))
            return None
        try:
            if document.json:
                return kind.model.model_validate_json(document.json)
            return kind.model.model_validate(document.data)
        except ValidationError as error:
            if content is not None and any(each["type"] == "json_invalid" for each in error.errors()):
                content.check_syntax()
            self._inventory.problems += problems_of(error, _place_of(document))
            return None

    def _check_counts(self, head: Head) -> None:
        for name, count in head.counts.items():
            if (found := self._counts[name]) != count:
                message = f"{found} of {count} {name} objects are there: the snapshot was cut short or edited"
                self._inventory.problems.append(Problem(Place(self._name), message, f"counts[{name}]"))


def _place_of(document: Document) -> Place:
    """Return the place of an object, by name where it has one."""
    metadata: Any = document.data.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return Place(document.place.file, f"{document.kind} {name}") if isinstance(name, str) else document.place
