"""Rules between pods: topology spread, pod affinity, pod anti-affinity in both directions.

Each rule is a count of pods by domain (the nodes with one value of a node label), taken once from the snapshot and kept
in step as members are placed, so that asking where a member may go now costs a few array operations. Meaning as in
kube-scheduler's PodTopologySpread and InterPodAffinity filters.

Two classes of pods are counted apart. *Sure* ones are bound, or members of this gang placed earlier in the sequence:
they will be bound when the member is looked at. *Other* ones only hold a nomination: they may be bound by then, or not,
so they count against a place and never in favour of one (kube-scheduler itself looks at both cases on a node).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ganglift.api.selectors import TopologySpreadConstraint
from ganglift.plan.nodes import Codes, Mask
from ganglift.plan.room import Room, Rows
from ganglift.plan.selector import PodSelector
from ganglift.plan.shape import Shape
from ganglift.plan.snapshot import Counts, Kind
from ganglift.plan.verdict import Cause, CauseKind

_UNBOUNDED = 2**62


class Census:
    """Counts the pods that selectors mean: occupants of the snapshot, and what earlier groups took in this pass."""

    def __init__(self, room: Room) -> None:
        self._room = room
        occupants = room.snapshot.occupants
        self._present = occupants.nodes >= 0
        for slot in room.released_slots:
            self._present[slot] = False
        self._sure = self._present & (occupants.kinds <= Kind.TERMINATING)
        self._lasting = occupants.kinds != Kind.TERMINATING

    def nodes(self, selectors: Iterable[PodSelector], *, lasting: bool = False) -> tuple[Codes, Codes]:
        """Return the nodes of sure and of other pods that all selectors mean, a node once for each pod.

        With `lasting`, pods that are being deleted are left out.
        """
        occupants = self._room.snapshot.occupants
        selectors = tuple(selectors)
        mask = self._present & self._lasting if lasting else self._present.copy()
        for selector in selectors:
            mask &= occupants.matching(selector)
        taken = np.array(self._room.taken_by(selectors), np.int32).reshape(-1, 2)
        own = taken[:, 0] >= self._room.group_start
        sure = np.concatenate((occupants.nodes[mask & self._sure], taken[own, 1]))
        return sure, np.concatenate((occupants.nodes[mask & ~self._sure], taken[~own, 1]))


@dataclass(slots=True)
class Domains:
    """One node label: `codes` by node, -1 where it is absent, and how many values there are."""

    key: str
    codes: Codes
    size: int

    def count(self, nodes: Codes) -> Counts:
        """Return how many of the nodes are in each domain."""
        codes = self.codes[nodes]
        return np.bincount(codes[codes >= 0], minlength=self.size).astype(np.int64)

    def over_nodes(self, by_domain: Mask, absent: bool) -> Mask:
        """Return a value by node from one by domain, and from one for nodes without the label."""
        mask: Mask = np.append(by_domain, absent)[self.codes]
        return mask

    def marks(self, nodes: Rows, state: Counts) -> Counts:
        """Return numbers that differ where nodes are not interchangeable: in other domains of several nodes each.

        Domains of one node each (hostnames) are told apart by their state alone.
        """
        codes = self.codes[nodes]
        if self.is_by_node:
            return np.append(state, -1)[codes]
        return codes.astype(np.int64)

    @property
    def is_by_node(self) -> bool:
        """Whether every domain is a single node."""
        return self.size == int((self.codes >= 0).sum())


class Spread:
    """A DoNotSchedule spread constraint. `meets[w]` says whether placing a pod of variant w counts."""

    def __init__(self, domains: Domains, constraint: TopologySpreadConstraint, eligible: Mask) -> None:
        self.domains = domains
        self._max_skew = constraint.max_skew
        self._min_domains = constraint.min_domains or 1
        self.eligible = eligible
        """Nodes whose pods count, by the constraint's node policies."""
        self._is_domain = domains.count(np.flatnonzero(eligible).astype(np.int32)) > 0
        self.sure = np.zeros(domains.size, np.int64)
        self.other = np.zeros(domains.size, np.int64)
        self.meets: list[bool] = []
        self.counts_itself = False

    def begin(self, sure: Codes, other: Codes) -> None:
        """Count the pods that are there."""
        self.sure = self.domains.count(sure[self.eligible[sure]])
        self.other = self.domains.count(other[self.eligible[other]])

    def is_moved_by(self, variant: int) -> bool:
        """Whether placing a pod of that variant counts here."""
        return self.meets[variant]

    def put(self, variant: int, node: int, times: int) -> None:
        """Count a member on a node, or no longer."""
        if self.meets[variant] and self.eligible[node]:
            self.sure[self.domains.codes[node]] += times

    def allows(self) -> Mask:
        """Return the nodes that keep the skew within bounds."""
        within = self.sure + self.other + int(self.counts_itself) - self.least() <= self._max_skew
        return self.domains.over_nodes(within, False)

    def least(self) -> int:
        """Return the global minimum: 0 while there are fewer domains than minDomains."""
        if int(self._is_domain.sum()) < self._min_domains:
            return 0
        return int(self.sure[self._is_domain].min())

    def bears(self, node: int, more: int) -> bool:
        """Whether the next pod may go to the node although `more` counted pods are nominated to that same node.

        kube-scheduler looks at a node once with the pods nominated to it counted as if they were there.
        """
        domain = self.domains.codes[node]
        more = more if self.eligible[node] else 0
        self.sure[domain] += more
        within = int(self.sure[domain] + self.other[domain]) + int(self.counts_itself) - self.least() <= self._max_skew
        self.sure[domain] -= more
        return within

    def most(self, variant: int, capacity: Counts, reach: Counts) -> int:
        """Return a number of further pods of the variant that can't be exceeded whatever is placed in whatever order.

        `capacity` is how many of it each node takes, `reach` how many of all waiting pods that count here. No domain
        can end above the least domain plus maxSkew, and the least can't rise above what its nodes take.
        """
        inside = (capacity > 0) & (self.domains.codes >= 0)
        if not (self.meets[variant] and self.counts_itself) or not self.eligible[inside].all():
            return _UNBOUNDED
        codes = self.domains.codes[inside]
        held = np.bincount(codes, weights=capacity[inside], minlength=self.domains.size)
        at_best = self.sure + np.bincount(
            self.domains.codes[self.eligible], weights=reach[self.eligible], minlength=self.domains.size
        )
        enough = int(self._is_domain.sum()) >= self._min_domains
        least = int(at_best[self._is_domain].min()) if enough and self._is_domain.any() else 0
        left = np.maximum(least + self._max_skew - self.sure - self.other, 0)
        return int(np.minimum(held, left).sum())

    def marks(self, nodes: Rows) -> list[Counts]:
        """Return what tells nodes apart for this rule: lists of a number for each."""
        domains = self.domains
        return [
            domains.marks(nodes, self.sure),
            domains.marks(nodes, self.other),
            self.eligible[nodes].astype(np.int64),
        ]

    def causes(self) -> list[tuple[Cause, Mask]]:
        """Return why nodes are refused, with those nodes."""
        lacks = self.domains.codes < 0
        return [
            (Cause(CauseKind.NO_LABEL, self.domains.key), lacks),
            (Cause(CauseKind.SPREAD, self.domains.key), ~lacks & ~self.allows()),
        ]


class UnselectiveSpread(Spread):
    """A constraint with an empty selector: kube-scheduler counts no pod that is bound, and all that are nominated.

    It leaves bound pods out as it counts (`countPodsMatchSelector`), yet adds pods nominated to the node that it looks
    at by another way (`updateWithPod`), which does not. So members bear on each other only while they wait for a node.
    """

    def begin(self, sure: Codes, other: Codes) -> None:
        self._nominated = np.bincount(other[self.eligible[other]], minlength=len(self.eligible)).astype(np.int64)

    def put(self, variant: int, node: int, times: int) -> None:
        """Count nothing: a member placed earlier is bound by then."""

    def allows(self) -> Mask:
        mask: Mask = (self.domains.codes >= 0) & (self._nominated + 1 <= self._max_skew)
        return mask

    def bears(self, node: int, more: int) -> bool:
        nominated = int(self._nominated[node]) + (more if self.eligible[node] else 0)
        return nominated + 1 <= self._max_skew

    def most(self, variant: int, capacity: Counts, reach: Counts) -> int:
        """Return no bound: the next one can always wait until the earlier ones are bound."""
        return _UNBOUNDED

    def marks(self, nodes: Rows) -> list[Counts]:
        return [self._nominated[nodes], *super().marks(nodes)]


class Affinity:
    """The required affinity terms of one variant together: near one pod that meets all of them."""

    def __init__(self, domains: dict[str, Domains]) -> None:
        self.domains = domains
        self.sure = {key: np.zeros(one.size, np.int64) for key, one in domains.items()}
        self._any_other = False
        self.meets: list[bool] = []
        self.counts_itself = False

    def begin(self, sure: Codes, other: Codes) -> None:
        self.sure = {key: one.count(sure) for key, one in self.domains.items()}
        self._any_other = any(bool(one.count(other).any()) for one in self.domains.values())

    def is_moved_by(self, variant: int) -> bool:
        return self.meets[variant]

    def put(self, variant: int, node: int, times: int) -> None:
        if self.meets[variant]:
            for key, one in self.domains.items():
                if (code := one.codes[node]) >= 0:
                    self.sure[key][code] += times

    def _is_first(self) -> bool:
        """Whether the next pod may go to any domain: it means itself, and there is nobody else that it means."""
        return self.counts_itself and not self._any_other and not any(c.any() for c in self.sure.values())

    def allows(self) -> Mask:
        """Return the nodes near a pod that is meant, or any with the labels if there is none and it means itself."""
        first = self._is_first()
        mask: Mask | None = None
        for key, one in self.domains.items():
            near = one.over_nodes(np.ones(one.size, np.bool_) if first else self.sure[key] > 0, False)
            mask = near if mask is None else mask & near
        assert mask is not None, "there is at least one term"
        return mask

    def most(self, variant: int, capacity: Counts, _reach: Counts) -> int:
        """Return a number of further pods of the variant that can't be exceeded: what one domain takes, or those begun.

        There is no such number where pods of other variants can begin further domains, or several labels count.
        """
        if any(meets for other, meets in enumerate(self.meets) if other != variant) or len(self.domains) > 1:
            return _UNBOUNDED
        ((key, domains),) = self.domains.items()
        if self._is_first():
            inside = domains.codes >= 0
            return int(np.bincount(domains.codes[inside], weights=capacity[inside], minlength=1).max())
        return int(capacity[domains.over_nodes(self.sure[key] > 0, False)].sum())

    def marks(self, nodes: Rows) -> list[Counts]:
        return [one.marks(nodes, self.sure[key]) for key, one in self.domains.items()]

    def causes(self) -> list[tuple[Cause, Mask]]:
        return [(Cause(CauseKind.AFFINITY, ", ".join(self.domains)), ~self.allows())]


class Apart:
    """What keeps one variant off domains of one label: its own anti-affinity, and that of others against it.

    `weights[w]` is how many such terms, either way, placing a pod of variant w adds in its domain.
    """

    def __init__(self, domains: Domains, variants: int) -> None:
        self.domains = domains
        self.blocked = np.zeros(domains.size, np.int64)
        self.weights = [0] * variants

    def block(self, nodes: Codes) -> None:
        """Count pods on these nodes that exclude the variant."""
        self.blocked += self.domains.count(nodes)

    def is_moved_by(self, variant: int) -> bool:
        return self.weights[variant] > 0

    def put(self, variant: int, node: int, times: int) -> None:
        if self.weights[variant] and (code := self.domains.codes[node]) >= 0:
            self.blocked[code] += times * self.weights[variant]

    def allows(self) -> Mask:
        """Return the nodes where nobody excludes the variant; those without the label never do."""
        return self.domains.over_nodes(self.blocked == 0, True)

    def most(self, variant: int, capacity: Counts, _reach: Counts) -> int:
        """Return a number of further pods of the variant that can't be exceeded: one for each domain that is open."""
        if not self.weights[variant]:
            return _UNBOUNDED
        codes = self.domains.codes[(capacity > 0) & self.allows()]
        if (codes < 0).any():
            return _UNBOUNDED
        return int(np.count_nonzero(np.bincount(codes, minlength=1)))

    def marks(self, nodes: Rows) -> list[Counts]:
        return [self.domains.marks(nodes, self.blocked)]

    def causes(self) -> list[tuple[Cause, Mask]]:
        return [(Cause(CauseKind.ANTI_AFFINITY, self.domains.key), ~self.allows())]


Rule = Spread | Affinity | Apart


def eligible_nodes(room: Room, shape: Shape, constraint: TopologySpreadConstraint) -> Mask:
    """Return the nodes whose pods a constraint counts: with all the pod's spread labels, and by its node policies."""
    table = room.snapshot.table
    mask = np.ones(len(table), np.bool_)
    for one in shape.demand.spread:
        mask &= table.column(one.topology_key).codes >= 0
    if constraint.node_affinity_policy == "Honor":
        mask &= table.affine(shape.demand)
    if constraint.node_taints_policy == "Honor":
        mask &= table.tolerated(shape.demand)
    return mask
