"""A place for each of some members on a set of nodes, by the cheapest method that is exact for them.

like members, no rules among them        counting (`pack`)
different members, no rules among them   largest first, then an integer programme (`solve`)
members that bear on each other          depth-first search over legal sequences (`search`)
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from ganglift.base.ids import Uid
from ganglift.plan.attempt import Attempt, Place
from ganglift.plan.domains import roomy
from ganglift.plan.nodes import Codes, Mask
from ganglift.plan.pack import pack, preference
from ganglift.plan.relations import Relations
from ganglift.plan.request import Member
from ganglift.plan.room import Room
from ganglift.plan.rules import Affinity, Domains
from ganglift.plan.search import BUDGET, Search, held_back
from ganglift.plan.shape import Demand, collide
from ganglift.plan.solve import solve

_MOST_FOCUSED = 32
_LOOKS_PER_STEP = 12
Former = Mapping[Uid, int]
"""Nodes that members were planned on before."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Which members want a place, how many of them need one, and on which nodes.

    `former` are nodes planned before, by uid, to be kept where they still serve. `near`, domains by node (-1: none),
    asks for few of those where nothing else decides.
    """

    members: Sequence[Member]
    need: int
    usable: Mask
    former: Mapping[Uid, int] = field(default_factory=dict)
    near: Codes | None = None


def place(room: Room, ask: Ask) -> Attempt:
    """Take room for `need` of the members, the first ones if they fit, or for as many as places were found for."""
    before = len(room.taken)
    first = replace(ask, members=ask.members[: ask.need])
    attempt = _place(room, first)
    if len(attempt.places) >= ask.need or ask.need >= len(ask.members):
        return attempt
    room.give_back(len(room.taken) - before)
    return _place(room, ask)


def _place(room: Room, ask: Ask) -> Attempt:
    relations = Relations(room, (member.shape for member in ask.members))
    if any(map(relations.moves, range(len(relations.variants)))) or _exclude_each_other(room, relations):
        return _search(room, relations, ask)
    return _pack(room, relations, ask)


def by_variant(relations: Relations, members: Iterable[Member]) -> list[list[Member]]:
    """Return the members of each variant, in the order given."""
    found: list[list[Member]] = [[] for _ in relations.variants]
    for member in members:
        found[relations.of[member.shape]].append(member)
    return found


def size_of(room: Room, demand: Demand) -> int:
    """Return the largest share that the demand takes of what the biggest node offers, in millionths."""
    biggest = room.biggest()
    shares = (units * 1_000_000 // max(biggest[name], 1) for name, units in demand.requests if name in biggest)
    return max(shares, default=0)


# Members that do not bear on each other


def _pack(room: Room, relations: Relations, ask: Ask) -> Attempt:
    before = len(room.taken)
    masks = [ask.usable & relations.allows(variant) for variant in range(len(relations.variants))]
    groups = by_variant(relations, ask.members)
    nodes = _one_by_one(room, relations, groups, masks, ask)
    proven = True
    if len(nodes) < ask.need and len(groups) > 1:
        taken = room.taken[before:]
        room.give_back(len(taken))
        better, proven = _solve(room, relations, groups, masks, ask.need)
        if not better:
            for shape, node in taken:
                room.take(shape, node)
        nodes = better or nodes
    places = tuple(Place(member, nodes[member.uid]) for member in ask.members if member.uid in nodes)
    return Attempt(places, relations, proven)


def _one_by_one(
    room: Room, relations: Relations, groups: Sequence[Sequence[Member]], masks: Sequence[Mask], ask: Ask
) -> dict[Uid, int]:
    """Pack variant after variant until the needed members have a place; return nodes by uid.

    The variant whose demand is the largest part of a node comes first, or last where not all are needed.
    """
    nodes: dict[Uid, int] = {}
    sign = -1 if ask.need >= len(ask.members) else 1
    sizes = [sign * size_of(room, shape.demand) for shape in relations.variants]
    for variant in sorted(range(len(groups)), key=lambda v: (sizes[v], relations.variants[v].demand.requests, v)):
        demand, mask = relations.variants[variant].demand, masks[variant]
        left = groups[variant][: max(ask.need - len(nodes), 0)]
        left = _those_who_move(room, left, mask, ask.former, nodes) if ask.former else left
        if not left:
            continue
        capacity = np.where(mask, room.capacity(demand), 0)
        count = min(len(left), room.most(demand))
        chosen = pack(capacity, preference(room, demand, capacity, ask.near, count), count)
        room.take_all([member.shape for member in left[: len(chosen)]], chosen)
        nodes.update(zip((member.uid for member in left), chosen.tolist(), strict=False))
    return nodes


def _those_who_move(
    room: Room, members: Sequence[Member], mask: Mask, former: Former, nodes: dict[Uid, int]
) -> list[Member]:
    """Put members of one demand back where they were planned before, if that still is a place; return the others."""
    demand = members[0].shape.demand if members else None
    if demand is None:
        return []
    moving: list[Member] = []
    staying: list[Member] = []
    capacity, put = room.capacity(demand), Counter[int]()
    for member in members:
        node = former.get(member.uid)
        if node is None or not mask[node] or put[node] >= capacity[node]:
            moving.append(member)
            continue
        nodes[member.uid] = node
        if demand.claims:
            room.take(member.shape, node)
            capacity = room.capacity(demand)
        else:
            put[node] += 1
            staying.append(member)
    room.take_all([member.shape for member in staying], np.array([nodes[member.uid] for member in staying], np.intp))
    return moving


def _solve(
    room: Room, relations: Relations, groups: Sequence[Sequence[Member]], masks: Sequence[Mask], need: int
) -> tuple[dict[Uid, int], bool]:
    """Pack exactly; return nodes by uid, none if there is no packing or none was found, and whether that is proven."""
    demands = [shape.demand for shape in relations.variants]
    if any(room.is_delegated(name) for demand in demands for name, _ in demand.requests):
        return {}, False
    alike = _alike(room, demands, masks)
    pools = [[member for variant in variants for member in groups[variant]] for variants in alike]
    firsts = [variants[0] for variants in alike]
    packing = solve(room, [demands[v] for v in firsts], [masks[v] for v in firsts], list(map(len, pools)), need)
    if packing.counts is None:
        return {}, packing.is_proven
    nodes: dict[Uid, int] = {}
    for pool, counts in zip(pools, packing.counts, strict=True):
        for member, node in zip(pool, np.repeat(np.arange(len(counts)), counts).tolist(), strict=False):
            room.take(member.shape, node)
            nodes[member.uid] = node
    return nodes, True


def _alike(room: Room, demands: Sequence[Demand], masks: Sequence[Mask]) -> list[list[int]]:
    """Return the variants in groups that ask for the same and may go to the same nodes, as pods with own claims may."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for variant, (demand, mask) in enumerate(zip(demands, masks, strict=True)):
        places = np.where(mask, room.capacity(demand), 0).tobytes()
        groups.setdefault((demand.requests, demand.exclusives, places), []).append(variant)
    return list(groups.values())


def _exclude_each_other(room: Room, relations: Relations) -> bool:
    """Whether ports, disks or claims for one pod alone make members of different demands exclude each other."""
    demands = list(dict.fromkeys(shape.demand for shape in relations.variants))
    claims = Counter(key for demand in demands if demand.claims for key in set(room.mounts(demand).exclusive))
    holding = [demand.exclusives for demand in demands if demand.exclusives]
    return any(count > 1 for count in claims.values()) or any(
        collide(x, y) for a, b in combinations(holding, 2) for x in a for y in b
    )


# Members that bear on each other


def _search(room: Room, relations: Relations, ask: Ask) -> Attempt:
    groups = by_variant(relations, ask.members)
    packed_last = _packed_last(room, relations) if ask.need >= len(ask.members) else frozenset[int]()
    rest = [group if v in packed_last else [] for v, group in enumerate(groups)]
    at_rest: dict[Uid, int] = {}

    def finish() -> bool:
        before, wanted = len(room.taken), [member for group in rest for member in group]
        masks = [ask.usable & relations.allows(v) for v in range(len(groups))]
        nodes = _one_by_one(room, relations, rest, masks, replace(ask, members=wanted, need=len(wanted)))
        if len(nodes) < len(wanted):
            room.give_back(len(room.taken) - before)
            return False
        at_rest.update(nodes)
        return True

    goal = min(ask.need, len(ask.members)) - sum(map(len, rest))
    for mask, budget in _focuses(room, relations, groups, ask):
        waiting = [group[::-1] if v not in packed_last else [] for v, group in enumerate(groups)]
        search = Search(room, relations, mask, budget, waiting, goal, finish, ask.former)
        outcome = search.run()
        if outcome.is_whole or mask is ask.usable:
            break
        search.clear()
    places = [place for _, place in outcome.sequence]
    places += [Place(member, at_rest[member.uid]) for member in ask.members if member.uid in at_rest]
    proven = outcome.is_exhausted and sum(map(bool, rest)) <= 1
    back = _held_back(relations, outcome.sequence) if outcome.is_whole else frozenset[Uid]()
    return Attempt(tuple(places), relations, proven, in_sequence=True, held_back=back)


def _packed_last(room: Room, relations: Relations) -> frozenset[int]:
    """Return the variants whose members no rule looks at: all of them can wait until the others have their places."""
    demands = [shape.demand for shape in relations.variants]
    return frozenset(
        v
        for v, demand in enumerate(demands)
        if not relations.moves(v) and not demand.exclusives and not room.mounts(demand).exclusive
    )


def _focuses(
    room: Room, relations: Relations, groups: Sequence[Sequence[Member]], ask: Ask
) -> Iterator[tuple[Mask, int]]:
    """Yield where to look, with budgets: single domains that can hold all that want to be near each other, then all.

    The first member of such a gang decides for the rest, so a greedy first step must not be into too small a domain.
    """
    steps = len(ask.members) * _LOOKS_PER_STEP * (len(ask.usable) + 1000)
    domains = _nearness(relations)
    if domains is not None:
        wanted = Counter[Demand]()
        for shape, group in zip(relations.variants, groups, strict=True):
            wanted[shape.demand] += len(group)
        for code in roomy(room, wanted, ask.need, ask.usable, domains.codes)[:_MOST_FOCUSED]:
            yield ask.usable & (domains.codes == code), steps + BUDGET // _MOST_FOCUSED
    yield ask.usable, steps + BUDGET


def _nearness(relations: Relations) -> Domains | None:
    """Return the smallest domains of several nodes that members want to share with each other."""
    wanted = [
        domains
        for rules in relations.rules
        for rule in rules
        if isinstance(rule, Affinity) and any(rule.meets)
        for domains in rule.domains.values()
        if not domains.is_by_node
    ]
    return max(wanted, key=lambda domains: (domains.size, domains.key), default=None)


def _held_back(relations: Relations, sequence: Sequence[tuple[int, Place]]) -> frozenset[Uid]:
    for variant, place_ in reversed(sequence):
        relations.put(variant, place_.node, -1)
    return held_back(relations, sequence)
