"""What the planner is asked: for each group, which members must find a place now."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ganglift.api.scheduling import TopologyConstraint
from ganglift.base.ids import Key, NodeName, Uid
from ganglift.plan.shape import Shape


@dataclass(frozen=True, slots=True)
class Member:
    """A pod that wants a place. Members come in creation order, in which kube-scheduler takes them."""

    uid: Uid
    name: str
    shape: Shape
    created: int = 0


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """A group that waits.

    `need` of the `members` must be placed, all or none; members beyond it, and `extras`, are placed one by one after
    all gangs. `priority` orders the queue, then `created` (any one unit, older first), then `uid`. `anchors` are
    members that hold a place already, with their nodes: they count for topology. `avoid` are nodes not to use. `own`
    are uids whose reservations in the snapshot belong to this group and are given up for the new plan.
    """

    key: Key
    uid: Uid
    need: int
    members: tuple[Member, ...]
    priority: int = 0
    created: int = 0
    topology: tuple[TopologyConstraint, ...] = ()
    anchors: Mapping[Uid, NodeName] = field(default_factory=dict)
    avoid: frozenset[NodeName] = frozenset()
    own: frozenset[Uid] = frozenset()
    extras: tuple[Member, ...] = ()
