"""Who holds the room that a gang lacks: what `busy` nodes of a verdict would offer if their pods were gone.

The snapshot knows pods by uid. Whoever knows their names and owners sums the shares up to `Holder`s.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from ganglift.base.ids import NodeName, Uid
from ganglift.plan.shape import Demand
from ganglift.plan.snapshot import Kind, Snapshot
from ganglift.plan.verdict import CauseKind, DoesNotFit


@dataclass(frozen=True, slots=True)
class Share:
    """What one pod holds of one resource, in units, on one node, and how."""

    uid: Uid
    node: NodeName
    kind: Kind
    resource: str
    units: int


@dataclass(frozen=True, slots=True)
class Holder:
    """What all pods of one owner hold. `who` is its name for people, `kind` None where room is only planned for it.

    `since` is when the first of the pods was bound, as the API writes times; empty where that is not known.
    """

    who: str
    kind: Kind | None
    resource: str
    units: int
    pods: int
    nodes: tuple[NodeName, ...]
    since: str = ""


def lacking(verdict: DoesNotFit) -> tuple[str, ...]:
    """Return the resources that some node has too little of."""
    return tuple(count.cause.subject for count in verdict.causes if count.cause.kind is CauseKind.INSUFFICIENT)


def shares(snapshot: Snapshot, verdict: DoesNotFit, ignoring: Collection[Uid] = ()) -> Iterator[Share]:
    """Yield what pods hold, on the verdict's busy nodes, of the resources that are short; those of `ignoring` aside."""
    wanted, occupants = lacking(verdict), snapshot.occupants
    for name in verdict.busy:
        at = snapshot.table.position.get(name, -2)
        for slot in np.flatnonzero(occupants.nodes == at):
            shape, uid = occupants.shapes[int(slot)], occupants.uids[int(slot)]
            if shape is None or uid in ignoring:
                continue
            for resource, units in asked(shape.demand, wanted):
                yield Share(uid, name, Kind(occupants.kinds[slot]), resource, units)


def asked(demand: Demand, resources: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield what a demand asks of these resources."""
    return ((resource, units) for resource, units in demand.requests if resource in resources)
