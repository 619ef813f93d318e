"""Identifiers, so that a name can't be passed where a uid is meant."""

from typing import NamedTuple, NewType

Uid = NewType("Uid", str)
NodeName = NewType("NodeName", str)
ResourceName = NewType("ResourceName", str)


class Key(NamedTuple):
    """Namespace and name of a namespaced object: what a user calls it. A uid says which incarnation is meant."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"
