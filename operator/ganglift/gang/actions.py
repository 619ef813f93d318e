"""What should be done to the API, as values: `gang` says it, the engine's executor does it, tests compare it.

A sequence of actions is in order, and each is safe to repeat: names are deterministic, patches carry the uid of the
object they mean, so that a process killed between two of them is followed by one that finds the rest to do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any

from ganglift.base.ids import Key, Uid

Body = Mapping[str, Any]


class Kind(StrEnum):
    """Kinds that actions touch; the executor knows their paths."""

    WORKLOAD = "Workload"
    POD_GROUP = "PodGroup"
    GANG_JOB = "GangJob"
    """Our Job, batch.ganglift.dev."""
    BATCH_JOB = "BatchJob"
    """The built-in Job, batch/v1."""
    POD = "Pod"


class PatchType(Enum):
    """How the API server is to read a patch; the value is its content type."""

    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    JSON = "application/json-patch+json"


@dataclass(frozen=True)
class Create:
    """Make this object. `body` is whole: apiVersion, kind, metadata with namespace and name, spec.

    `is_trial`: only ask whether it would be made.
    """

    kind: Kind
    body: Body
    is_trial: bool = False

    @property
    def key(self) -> Key:
        metadata = self.body["metadata"]
        return Key(metadata["namespace"], metadata["name"])


@dataclass(frozen=True)
class Patch:
    """Change this object if it is still the one with that uid; the patch names the uid itself."""

    kind: Kind
    key: Key
    uid: Uid
    body: Body
    type: PatchType = PatchType.MERGE
    subresource: str = ""


@dataclass(frozen=True)
class Delete:
    """Delete this object if it is still the one with that uid, its dependents in the background."""

    kind: Kind
    key: Key
    uid: Uid


@dataclass(frozen=True)
class Evict:
    """Ask for a pod's eviction, which respects PodDisruptionBudgets; `is_trial`: only ask whether it would be done."""

    key: Key
    uid: Uid
    is_trial: bool = False


@dataclass(frozen=True)
class Announce:
    """Record an event about this object."""

    kind: Kind
    key: Key
    uid: Uid
    reason: str
    message: str
    is_warning: bool = False


Action = Create | Patch | Delete | Evict | Announce


@dataclass(frozen=True)
class Step:
    """What to do now, in order. `is_final`: what exists then is all that is wanted until something changes.

    Otherwise the world is to be looked at again at once, with what the actions made. `again_at`: look again then.
    """

    actions: tuple[Action, ...] = ()
    is_final: bool = True
    again_at: datetime | None = None


def merge(kind: Kind, key: Key, uid: Uid, body: Body) -> Patch:
    """Return a JSON merge patch that holds for the object of that uid only."""
    return Patch(kind, key, uid, _with_uid(body, uid))


def merge_status(kind: Kind, key: Key, uid: Uid, status: Body) -> Patch:
    """Return a JSON merge patch of an object's status."""
    return Patch(kind, key, uid, _with_uid({"status": status}, uid), subresource="status")


def strategic(kind: Kind, key: Key, uid: Uid, body: Body, subresource: str = "") -> Patch:
    """Return a strategic merge patch, for built-in kinds only: the API server refuses it for custom resources."""
    return Patch(kind, key, uid, _with_uid(body, uid), PatchType.STRATEGIC, subresource)


def _with_uid(body: Body, uid: Uid) -> Body:
    return {**body, "metadata": {"uid": uid, **body.get("metadata", {})}}
