"""The cluster at one moment: nodes, what they offer, and who holds what on them. Immutable, may be shared by threads.

Rows of all arrays are nodes in name order, columns are resources.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ganglift.base.ids import NodeName, Uid
from ganglift.plan.nodes import NodeTable
from ganglift.plan.occupants import Occupants
from ganglift.plan.shape import ClaimKey, Exclusive, Shape
from ganglift.plan.volumes import Storage

Counts = NDArray[np.int64]


class Kind(IntEnum):
    """How a pod holds its place.

    BOUND and TERMINATING have it. LIFTED are ungated and may be bound any moment, ASSUMED are being given a place by
    us, RESERVED are gated and nominated, PINNED are pending and can go to that one node only, as a DaemonSet's pods.
    """

    BOUND = 0
    TERMINATING = 1
    LIFTED = 2
    ASSUMED = 3
    RESERVED = 4
    PINNED = 5


class Standing(NamedTuple):
    """A pod that holds room on a node without being bound to it. `slot` is its place among the occupants."""

    node: int
    shape: Shape
    kind: Kind
    slot: int


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """`allocatable` and `used` are units, nodes x resources. `exclusives` and `claims` are what pods hold, by node row.

    `namespaces` has the labels of every namespace, the implied one at least; they are only guessed while
    `namespaces_known` is False, and `namespaces_unknown` says why. `device_resources` are served by device classes
    where no device plugin offers them.
    """

    table: NodeTable
    columns: Mapping[str, int]
    allocatable: Counts
    used: Counts
    exclusives: Mapping[int, tuple[Exclusive, ...]]
    claims: Mapping[int, tuple[ClaimKey, ...]]
    standing: Mapping[Uid, Standing]
    occupants: Occupants
    storage: Storage = field(default_factory=Storage)
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    namespaces_known: bool = False
    namespaces_unknown: str = ""
    device_resources: frozenset[str] = frozenset()
    version: int = 0

    @property
    def names(self) -> tuple[NodeName, ...]:
        return self.table.names

    def holders(self, node: NodeName) -> tuple[Uid, ...]:
        """Return the uids of all pods that hold a place on the node, sorted."""
        at = self.table.position.get(node, -2)
        return tuple(sorted(self.occupants.uids[i] for i in np.flatnonzero(self.occupants.nodes == at)))
