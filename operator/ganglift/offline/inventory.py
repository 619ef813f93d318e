"""All that is known of a cluster, and what is asked of it, as objects."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar, cast

from pydantic_core import from_json

from ganglift.api.model import Object
from ganglift.api.names import FIELD_MANAGER
from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.base.ids import Key, Uid
from ganglift.engine.nominations import author_of_nomination
from ganglift.offline.checks import node_findings, pod_findings
from ganglift.offline.kinds import BY_MODEL, CLUSTER_KINDS, group_of
from ganglift.offline.problems import Place, Problem

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True)
class Asked:
    """An object that a manifest asks for and the cluster does not have yet. `data` is as a user writes it."""

    place: Place
    api_version: str
    kind: str
    key: Key
    data: dict[str, Any]

    @property
    def uid(self) -> Uid:
        """Stands for the uid that the API server would give it."""
        return Uid(f"asked/{group_of(self.api_version)}/{self.kind}/{self.key}")


@dataclass(slots=True)
class Inventory:
    """Mutable until it is planned. `listed` are kinds of which every object is here: what is not does not exist."""

    listed: set[type[Object]] = field(default_factory=set)
    nominators: dict[Uid, str] = field(default_factory=dict)
    """Of gated pods that someone else than ganglift has nominated: who that is."""
    asked: list[Asked] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    """What the user should know beside the verdicts, each once, in order."""
    shows_cluster: bool = False
    """Whether there are nodes, or a cluster that is known to have none."""
    taken_at: datetime | None = None
    kubernetes: str = ""
    _objects: dict[type[Object], dict[Key, Object]] = field(
        default_factory=lambda: {kind.model: {} for kind in CLUSTER_KINDS}
    )
    _places: dict[tuple[type[Object], Key], Place] = field(default_factory=dict)

    def all(self, model: type[T]) -> Iterable[T]:
        """Return all objects of a kind."""
        return cast("dict[Key, T]", self._objects[model]).values()

    def get(self, model: type[T], key: Key) -> T | None:
        """Return the object of that name."""
        return cast("dict[Key, T]", self._objects[model]).get(key)

    def count(self, model: type[Object]) -> int:
        return len(self._objects[model])

    def put(self, one: Object, place: Place | None = None) -> None:
        """Take an object, in the place of another of its name; what is wrong with it is noted as a problem.

        With a place, there must be no other of its name, unless it is the same object once more.
        """
        objects = self._objects[type(one)]
        if place is not None:
            for path, message in _findings(one):
                self.problems.append(Problem(named(place, one), message, path))
            other = objects.get(one.key)
            if other is not None and (not one.uid or other.uid != one.uid):
                where = self._places[type(one), one.key]
                self.problems.append(Problem(named(place, one), f"there is another of that name in {where}"))
            self._places[type(one), one.key] = place
        objects[one.key] = one

    def drop(self, one: Object) -> None:
        """Take the end of an object."""
        self._objects[type(one)].pop(one.key, None)

    def note(self, words: str) -> None:
        self.notes[words] = None

    def see_nomination(self, pod: Pod, raw: bytes | Mapping[str, Any]) -> None:
        """Note who has nominated a gated pod, if that was not us; `raw` is its JSON, with `managedFields`."""
        if not (pod.has_gate and pod.nominated):
            return
        author = author_of_nomination(from_json(raw) if isinstance(raw, bytes) else raw)
        if author not in ("", FIELD_MANAGER):
            self.nominators[pod.uid] = author


def named(place: Place, one: Object) -> Place:
    """Return a place with the object's kind and name."""
    kind = BY_MODEL[type(one)].resource.kind
    return Place(place.file, f"{kind} {one.key if one.metadata.namespace else one.name}")


def _findings(one: Object) -> Iterator[tuple[str, str]]:
    if isinstance(one, Pod):
        return pod_findings(one)
    return node_findings(one) if isinstance(one, Node) else iter(())
