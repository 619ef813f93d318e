"""The order in which groups are planned, and whether a later one may pass an earlier one that waits."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from ganglift.base.ids import Key
from ganglift.plan.request import GroupRequest


class Policy(StrEnum):
    """BACKFILL: a gang that fits may pass one that does not. STRICT: all wait for the first that does not fit."""

    BACKFILL = "backfill"
    STRICT = "strict"


Exceptions = Mapping[str, Policy]
"""Policies of namespaces that have one of their own."""
NO_EXCEPTIONS: Exceptions = MappingProxyType({})


class Line:
    """Who waits for whom while groups are planned in order.

    Where the policy is strict for the whole cluster, a group waits for the first that does not fit, wherever that is;
    where its namespace alone asks for it, for the first of that namespace. A namespace may also opt out.
    """

    def __init__(self, default: Policy, exceptions: Exceptions = NO_EXCEPTIONS) -> None:
        self._default = default
        self._exceptions = exceptions
        self._first: Key | None = None
        self._first_in: dict[str, Key] = {}

    def blocker(self, key: Key) -> Key | None:
        """Return the group that this one has to wait for."""
        if self._exceptions.get(key.namespace, self._default) is Policy.BACKFILL:
            return None
        return self._first if self._default is Policy.STRICT else self._first_in.get(key.namespace)

    def failed(self, key: Key) -> None:
        """Take note that the group does not fit."""
        self._first = self._first or key
        self._first_in.setdefault(key.namespace, key)


def policies(asked: Mapping[str, str]) -> tuple[dict[str, Policy], dict[str, str]]:
    """Return the policies of namespaces from what each asks for, and what is asked for and is no policy."""
    known = {name: Policy(word) for name, word in asked.items() if word in set(Policy)}
    return known, {name: word for name, word in asked.items() if name not in known}


def no_policy_words(namespace: str, word: str, default: Policy) -> str:
    """Return what there is to say of a policy that does not exist."""
    names = " and ".join(Policy)
    return f"namespace {namespace} asks for queue policy {word!r}, there are {names}; {default} is used"


def in_order(groups: Iterable[GroupRequest]) -> list[GroupRequest]:
    """Return the groups in queue order: priority, then age, then uid."""
    return sorted(groups, key=lambda group: (-group.priority, group.created, group.uid))
