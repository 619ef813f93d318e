"""What all models share: camelCase on the wire, frozen in memory, unknown fields ignored, metadata of every object.

Lists become tuples. Maps stay dicts and are never changed after parsing.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from ganglift.base.ids import Key, Uid


class Model(BaseModel):
    """Base of all API models."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore")

    def wire(self) -> dict[str, Any]:
        """Return the object as the API takes it: camelCase, times in RFC 3339, unset and null fields left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other fields; what cached properties made of the old ones is not carried along."""
        copied = super().model_copy(update=update, deep=deep)
        fields = type(copied).model_fields
        if len(copied.__dict__) > len(fields):
            for name in copied.__dict__.keys() - fields.keys():
                del copied.__dict__[name]
        return copied


class OwnerReference(Model):
    api_version: str = ""
    kind: str
    name: str
    uid: Uid
    controller: bool = False


class ObjectMeta(Model):
    name: str
    namespace: str = ""
    uid: Uid = Uid("")
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class Object(Model):
    """An object with metadata."""

    metadata: ObjectMeta

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def uid(self) -> Uid:
        return self.metadata.uid

    @property
    def is_deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @cached_property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        return next((owner for owner in self.metadata.owner_references if owner.controller), None)


class Condition(Model):
    """metav1.Condition; pods and Jobs leave `reason`, `message` or `observedGeneration` out."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None
    last_transition_time: datetime | None = None

    @property
    def is_true(self) -> bool:
        return self.status == "True"


def condition_of(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """Return the condition of that type, or None."""
    return next((condition for condition in conditions if condition.type == kind), None)
