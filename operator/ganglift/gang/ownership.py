"""Whose an object is. Ours is told by the uid of its controller alone, never by its name."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from ganglift.api.job import GangJob
from ganglift.api.model import Object
from ganglift.api.names import BATCH_API, SCHEDULING_API
from ganglift.api.scheduling import Workload
from ganglift.base.ids import Uid
from ganglift.gang.outcome import Waiting
from ganglift.gang.reasons import Reason


class Claim(Enum):
    """What an object of a needed name is to the parent that needs it."""

    FREE = "free"
    OURS = "ours"
    OLD = "old"
    """Of an earlier parent of the same kind and name, or being deleted: it goes by itself."""
    FOREIGN = "foreign"


@dataclass(frozen=True)
class Parent:
    """The object that others are made for."""

    api_version: str
    kind: str
    name: str
    uid: Uid

    @property
    def reference(self) -> dict[str, Any]:
        """The owner reference for what is made.

        `controller` keeps native gang scheduling from making a second group for the child. `blockOwnerDeletion` is
        False, since clusters that enforce owner permissions would refuse True.
        """
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": False,
        }

    def claim_on(self, existing: Object | None) -> Claim:
        """Return what the object found under a needed name is to this parent."""
        if existing is None:
            return Claim.FREE
        owner = existing.controller
        if owner is not None and owner.uid == self.uid:
            return Claim.OURS
        is_former = owner is not None and (owner.api_version, owner.kind, owner.name) == (
            self.api_version,
            self.kind,
            self.name,
        )
        return Claim.OLD if existing.is_deleting or is_former else Claim.FOREIGN


def parent_of_workload(workload: Workload) -> Parent:
    """Return a Workload as the parent of its PodGroups."""
    return Parent(SCHEDULING_API, "Workload", workload.name, workload.uid)


def parent_of_job(job: GangJob) -> Parent:
    """Return our Job as the parent of its child and Workload."""
    return Parent(BATCH_API, "Job", job.name, job.uid)


def obstacle(claim: Claim, what: str) -> Waiting | None:
    """Return what an object found under a needed name means; None where it may be used or made."""
    if claim is Claim.OLD:
        return Waiting(Reason.WAITING_FOR_OLD_JOB, f"{what} of an earlier run is still there, it is waited for")
    if claim is Claim.FOREIGN:
        return Waiting(Reason.NAME_CONFLICT, f"{what} exists and belongs to someone else: rename one of the two")
    return None
