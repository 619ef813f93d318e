"""Whole gangs of any shape: the plan is legal step by step, and nothing that has a plan is refused.

Held against `tests.support.kube_filters` and against trying everything, on random small clusters.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import RACK, ZONE, NodeBuilder, PodBuilder, books, gang, node
from tests.support.clusters import NAMESPACE_LABELS, random_bound, random_nodes, random_pod
from tests.support.kube_filters import World, refusals
from tests.unit.plan.test_filters import with_namespaces

from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.api.scheduling import TopologyConstraint
from ganglift.base.ids import Key
from ganglift.plan.check import still_fits
from ganglift.plan.plan import plan
from ganglift.plan.request import GroupRequest
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.verdict import DoesNotFit, Fits, PlanResult

SEEDS = st.integers(0, 2**32)
KEY = Key("default", "g")


class Case:
    """A random cluster with one random gang of up to four members, of up to two templates."""

    def __init__(self, seed: int, rules: float = 0.3, nodes: int = 5) -> None:
        rng = Random(seed)
        self.nodes = random_nodes(rng, nodes)
        self.bound = random_bound(rng, self.nodes, 4)
        templates = [random_pod(rng, f"t{i}", rules) for i in range(rng.randint(1, 2))]
        self.pods = [_like(rng.choice(templates), f"m{i}") for i in range(rng.randint(1, 4))]
        self.need = len(self.pods) if rng.random() < 0.7 else rng.randint(1, len(self.pods))

    def snapshot(self, more: Sequence[NodeBuilder] = ()) -> Snapshot:
        return with_namespaces(books([*self.nodes, *more], self.bound)).snapshot()

    def group(self) -> GroupRequest:
        return gang("g", tuple(one.member(i) for i, one in enumerate(self.pods)), self.need)

    def world(self) -> World:
        bound = [(one.made, one.made.spec.node_name) for one in self.bound]
        return World([one.made for one in self.nodes], bound, NAMESPACE_LABELS)

    def plan(self) -> PlanResult:
        return plan(self.snapshot(), [self.group()])


def _like(template: PodBuilder, name: str) -> PodBuilder:
    return template._with("metadata", "name", value=name)._with("metadata", "uid", value=f"uid-{name}")


def has_plan(world: World, waiting: Sequence[Pod], need: int, nodes: Sequence[Node] | None = None) -> bool:
    """Whether any order and any of the nodes place so many of the pods, each legal with only the earlier ones bound."""
    if need == 0:
        return True
    for i, one in enumerate(waiting):
        rest = [*waiting[:i], *waiting[i + 1 :]]
        for there in world.nodes if nodes is None else nodes:
            if not refusals(world, one, there) and has_plan(world.with_bound(one, there.name), rest, need - 1, nodes):
                return True
    return False


@settings(max_examples=300, deadline=None)
@given(seed=SEEDS)
def test_each_step_of_a_plan_is_legal_with_only_the_earlier_ones_bound(seed: int) -> None:
    case = Case(seed)
    verdict = case.plan().verdicts[KEY]
    if isinstance(verdict, Fits):
        world = case.world()
        pods = {one.made.uid: one.made for one in case.pods}
        by_name = {one.made.name: one.made for one in case.nodes}
        for placement in verdict.placements:
            assert refusals(world, pods[placement.uid], by_name[placement.node]) == []
            world = world.with_bound(pods[placement.uid], placement.node)


@settings(max_examples=300, deadline=None)
@given(seed=SEEDS)
def test_a_gang_is_refused_only_if_no_order_and_no_nodes_would_do(seed: int) -> None:
    case = Case(seed)
    verdict = case.plan().verdicts[KEY]
    if isinstance(verdict, DoesNotFit):
        assert verdict.proven
        assert not has_plan(case.world(), [one.made for one in case.pods], case.need)
        assert verdict.fit < verdict.need


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS)
def test_never_fewer_than_need_are_placed_and_nobody_twice(seed: int) -> None:
    case = Case(seed)
    result = case.plan()
    verdict = result.verdicts[KEY]
    if isinstance(verdict, Fits):
        placed = [placement.uid for placement in (*verdict.placements, *result.extras.get(KEY, ()))]
        assert len(verdict.placements) == case.need
        assert len(placed) == len(set(placed)) <= len(case.pods)


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS)
def test_the_order_of_the_input_does_not_matter(seed: int) -> None:
    case, other = Case(seed), Case(seed)
    rng = Random(seed)
    rng.shuffle(other.nodes)
    rng.shuffle(other.bound)
    second = replace(case.group(), key=Key("default", "h"), uid=case.group().uid + "h")
    there = plan(case.snapshot(), [case.group(), second])
    back = plan(other.snapshot(), [second, case.group()])
    assert (there.verdicts, there.extras) == (back.verdicts, back.extras)


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS)
def test_a_plan_still_fits_the_snapshot_it_was_made_on(seed: int) -> None:
    case = Case(seed)
    snapshot, group = case.snapshot(), case.group()
    verdict = plan(snapshot, [group]).verdicts[KEY]
    if isinstance(verdict, Fits):
        members = {member.uid: member for member in group.members}
        assert still_fits(snapshot, [(members[p.uid], p.node) for p in verdict.placements]) == ()


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS)
def test_planning_again_over_its_own_reservations_changes_nothing(seed: int) -> None:
    case = Case(seed)
    first = case.plan().verdicts[KEY]
    if isinstance(first, Fits):
        nodes = {placement.uid: placement.node for placement in first.placements}
        waiting = {one.made.uid: one for one in case.pods}
        case.bound += [waiting[uid].gated().nominated(where) for uid, where in nodes.items()]
        again = plan(case.snapshot(), [replace(case.group(), own=frozenset(nodes))]).verdicts[KEY]
        assert isinstance(again, Fits)
        assert {placement.uid: placement.node for placement in again.placements} == nodes


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS)
def test_one_more_free_node_never_makes_a_gang_without_rules_between_pods_unfit(seed: int) -> None:
    case = Case(seed)
    if all(one.member().shape.demand.is_alone for one in case.pods) and isinstance(case.plan().verdicts[KEY], Fits):
        more = case.snapshot([node("n9").gpus(4)])
        assert isinstance(plan(more, [case.group()]).verdicts[KEY], Fits)


@settings(max_examples=200, deadline=None)
@given(seed=SEEDS)
def test_a_required_domain_holds_the_whole_gang_or_no_domain_could(seed: int) -> None:
    case = Case(seed, rules=0.2)
    levels = (TopologyConstraint(key=ZONE), TopologyConstraint(key=RACK))[: 1 + seed % 2]
    verdict = plan(case.snapshot(), [replace(case.group(), topology=levels)]).verdicts[KEY]
    labels = {one.made.name: one.made.metadata.labels for one in case.nodes}
    if isinstance(verdict, Fits):
        domains = {tuple(labels[p.node].get(level.key) for level in levels) for p in verdict.placements}
        assert len(domains) == 1
        assert None not in domains.pop()
        assert all(
            p.pins == tuple((level.key, labels[p.node][level.key]) for level in levels) for p in verdict.placements
        )
    else:
        assert verdict.proven
        domains = {tuple(labels[name].get(level.key) for level in levels) for name in labels}
        for domain in domains:
            inside = [n.made for n in case.nodes if tuple(n.made.metadata.labels.get(o.key) for o in levels) == domain]
            assert None in domain or not has_plan(case.world(), [one.made for one in case.pods], case.need, inside)


@settings(max_examples=150, deadline=None)
@given(seed=SEEDS)
def test_a_preferred_domain_never_keeps_a_gang_from_starting(seed: int) -> None:
    case = Case(seed, rules=0.2)
    preferred = replace(case.group(), topology=(TopologyConstraint(key=RACK, mode="Preferred"),))
    anywhere = case.plan().verdicts[KEY]
    assert isinstance(plan(case.snapshot(), [preferred]).verdicts[KEY], type(anywhere))


@settings(max_examples=150, deadline=None)
@given(seed=SEEDS)
def test_groups_planned_together_never_overcommit_a_node(seed: int) -> None:
    rng = Random(seed)
    nodes = random_nodes(rng, 5)
    bound = random_bound(rng, nodes, 4)
    pods = {f"uid-{g}-{i}": random_pod(rng, f"{g}-{i}", 0.15) for g in "abc" for i in range(rng.randint(1, 4))}
    groups = [
        gang(
            g,
            tuple(one.member() for uid, one in pods.items() if uid.startswith(f"uid-{g}")),
            rng.randint(1, 2),
            created=i,
        )
        for i, g in enumerate("abc")
    ]
    groups = [replace(group, need=min(group.need, len(group.members))) for group in groups]
    result = plan(with_namespaces(books(nodes, bound)).snapshot(), groups)
    placed = [p for verdict in result.verdicts.values() if isinstance(verdict, Fits) for p in verdict.placements]
    placed += [p for extras in result.extras.values() for p in extras]
    world = World([one.made for one in nodes], [(b.made, b.made.spec.node_name) for b in bound], NAMESPACE_LABELS)
    by_name = {one.made.name: one.made for one in nodes}
    for placement in placed:
        refused = refusals(world, pods[placement.uid].made, by_name[placement.node])
        assert not {"NodeResourcesFit", "NodePorts", "TaintToleration", "NodeAffinity"} & set(refused)
        world = world.with_bound(pods[placement.uid].made, placement.node)
