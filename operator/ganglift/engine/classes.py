"""The cluster's PriorityClasses, as their informer shows them: what a group's class is worth."""

from collections.abc import Sequence

from ganglift.api.classes import PriorityClass


class Classes:
    """Sink of the informer of PriorityClasses; `values` are by name."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    def replace(self, objects: Sequence[PriorityClass], resource_version: str) -> None:
        self.values = {found.name: found.value for found in objects}

    def upsert(self, obj: PriorityClass) -> None:
        self.values[obj.name] = obj.value

    def delete(self, obj: PriorityClass) -> None:
        self.values.pop(obj.name, None)
