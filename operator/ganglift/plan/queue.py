"""The order in which groups are planned, and whether a later one may pass an earlier one that waits."""

from collections.abc import Iterable
from enum import StrEnum

from ganglift.plan.request import GroupRequest


class Policy(StrEnum):
    """BACKFILL: a gang that fits may pass one that does not. STRICT: all wait for the first that does not fit."""

    BACKFILL = "backfill"
    STRICT = "strict"


def in_order(groups: Iterable[GroupRequest]) -> list[GroupRequest]:
    """Return the groups in queue order: priority, then age, then uid."""
    return sorted(groups, key=lambda group: (-group.priority, group.created, group.uid))
