"""Whom to evict for a gang: hand-made cases, and any small case against every set of victims there is."""

from collections.abc import Collection
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import NodeBuilder, PodBuilder, books, gang, members, node, pod

from ganglift.api.scheduling import TopologyConstraint
from ganglift.base.ids import Uid
from ganglift.plan import preempt as module
from ganglift.plan.plan import plan
from ganglift.plan.preempt import Preemption, preempt
from ganglift.plan.request import GroupRequest
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.vacate import slots_of, without_pods
from ganglift.plan.verdict import Fits
from ganglift.plan.victims import Evictable

HIGH = 100
WORKER = pod("w").gpu(1)


def low(name: str, priority: int = 0, *, unit: str = "", started: int = 0, budgets: tuple[str, ...] = ()) -> Evictable:
    return Evictable(Uid(f"uid-{name}"), priority, unit or name, started, budgets)


def names(found: Preemption | None) -> list[str] | None:
    return None if found is None else [uid.removeprefix("uid-") for uid in found.victims]


def running(name: str, on: str, gpus: int = 1) -> PodBuilder:
    return pod(name).gpu(gpus).on(on)


def test_nobody_is_evicted_where_the_gang_fits_anyway() -> None:
    snapshot = books([node("n").gpus(2)], [running("a", "n")]).snapshot()
    assert names(preempt(snapshot, gang("g", members(1, WORKER)), HIGH, [low("a")])) == []


def test_d3_nobody_is_evicted_where_the_whole_gang_would_still_not_fit() -> None:
    nodes = [node("n1").gpus(2), node("n2").gpus(2)]
    snapshot = books(nodes, [running("a", "n1", 2), running("b", "n2"), running("c", "n2")]).snapshot()
    evictable = [low("a"), low("b"), low("c", HIGH)]
    assert preempt(snapshot, gang("g", members(4, WORKER)), HIGH, evictable) is None


def test_d5_one_low_pod_that_fills_the_node_gives_way_to_two() -> None:
    snapshot = books([node("n").gpus(8)], [running("a", "n", 8)]).snapshot()
    found = preempt(snapshot, gang("g", members(2, WORKER.gpu(2))), HIGH, [low("a")])
    assert names(found) == ["a"]
    assert found is not None
    assert [place.node for place in found.fits.placements] == ["n", "n"]


def test_d1_equal_priority_is_never_evicted() -> None:
    snapshot = books([node("n").gpus(1)], [running("a", "n")]).snapshot()
    assert preempt(snapshot, gang("g", members(1, WORKER)), HIGH, [low("a", HIGH)]) is None


def test_one_big_pod_is_preferred_to_two_small_ones() -> None:
    nodes = [node("n1").gpus(2), node("n2").gpus(2)]
    snapshot = books(nodes, [running("a", "n1"), running("b", "n1"), running("c", "n2", 2)]).snapshot()
    evictable = [low("a"), low("b"), low("c", 50)]
    assert names(preempt(snapshot, gang("g", members(1, WORKER.gpu(2))), HIGH, evictable)) == ["c"]


def test_the_lower_goes_before_the_higher_and_the_younger_before_the_older() -> None:
    nodes = [node(f"n{i}").gpus(1) for i in range(3)]
    snapshot = books(nodes, [running("a", "n0"), running("b", "n1"), running("c", "n2")]).snapshot()
    one = gang("g", members(1, WORKER))
    assert names(preempt(snapshot, one, HIGH, [low("a", 9, started=9), low("b", 5), low("c", 9)])) == ["b"]
    assert names(preempt(snapshot, one, HIGH, [low("a", started=1), low("b", started=3), low("c", started=2)])) == ["b"]


def test_what_goes_together_is_evicted_together_and_counts_as_its_highest() -> None:
    nodes = [node("n1").gpus(1), node("n2").gpus(1)]
    snapshot = books(nodes, [running("a", "n1"), running("b", "n2")]).snapshot()
    one = gang("g", members(1, WORKER))
    assert names(preempt(snapshot, one, HIGH, [low("a", unit="x"), low("b", unit="x")])) == ["a", "b"]
    assert preempt(snapshot, one, HIGH, [low("a", unit="x"), low("b", HIGH, unit="x")]) is None


def test_a_pod_under_a_budget_is_spared_where_another_will_do_even_a_higher_one() -> None:
    nodes = [node("n1").gpus(1), node("n2").gpus(1)]
    snapshot = books(nodes, [running("a", "n1"), running("b", "n2")]).snapshot()
    evictable = [low("a", budgets=("p",)), low("b", 50)]
    one = gang("g", members(1, WORKER))
    assert names(preempt(snapshot, one, HIGH, evictable, {"p": 0})) == ["b"]
    assert names(preempt(snapshot, one, HIGH, evictable, {"p": 1})) == ["a"]
    assert names(preempt(snapshot, gang("g", members(2, WORKER)), HIGH, evictable, {"p": 0})) == ["a", "b"]


def test_d7_room_of_pods_that_leave_counts_as_coming_and_nobody_else_goes() -> None:
    nodes = [node("n1").gpus(1), node("n2").gpus(1), node("n3").gpus(1)]
    pods = [running("a", "n1").terminating(), running("b", "n2").terminating(), running("c", "n3")]
    found = preempt(books(nodes, pods).snapshot(), gang("g", members(2, WORKER)), HIGH, [low("c")])
    assert found is not None
    assert (found.victims, found.leaving) == ((), ("uid-a", "uid-b"))


def test_a_required_rack_is_cleared_as_far_as_needed_and_no_other() -> None:
    nodes = [node(f"n{i}").gpus(4).rack(f"r{i % 2}") for i in range(4)]
    pods = [running(f"p{i}-{j}", f"n{i}") for i in range(4) for j in range(4)]
    group = gang("g", members(6, WORKER), topology=(TopologyConstraint(key="topology.kubernetes.io/rack"),))
    evictable = [low(one.made.name, 1 if one.made.spec.node_name in ("n0", "n2") else 0) for one in pods]
    found = preempt(books(nodes, pods).snapshot(), group, HIGH, evictable)
    assert found is not None
    assert len(found.victims) == 6
    assert {uid[4:6] for uid in found.victims} == {"p1", "p3"}


def test_where_members_spread_the_planner_is_asked_and_nobody_goes_in_vain() -> None:
    nodes = [node(f"n{i}").gpus(2).zone("a" if i < 5 else "b") for i in range(6)]
    pods = [running(f"p{i}-{j}", f"n{i}") for i in range(6) for j in range(2)]
    like = WORKER.gang("g").spread("topology.kubernetes.io/zone")
    found = preempt(
        books(nodes, pods).snapshot(), gang("g", members(4, like)), HIGH, [low(one.made.name) for one in pods]
    )
    assert found is not None
    assert len(found.victims) == 4
    assert sum(uid.startswith("uid-p5") for uid in found.victims) == 2


# Any small case


def is_enough(snapshot: Snapshot, group: GroupRequest, chosen: Collection[Evictable]) -> bool:
    slots = slots_of(snapshot, {one.uid for one in chosen}).values()
    (verdict,) = plan(without_pods(snapshot, slots), [group]).verdicts.values()
    return isinstance(verdict, Fits)


def fewest(snapshot: Snapshot, group: GroupRequest, evictable: list[Evictable]) -> int | None:
    """Size of the smallest set of victims, whole units only; None where there is none."""
    units: dict[str, list[Evictable]] = {}
    for one in evictable:
        units.setdefault(one.unit, []).append(one)
    able = [unit for unit in units.values() if max(one.priority for one in unit) < HIGH]
    sets = (list(chain.from_iterable(c)) for n in range(len(able) + 1) for c in combinations(able, n))
    return min((len(one) for one in sets if is_enough(snapshot, group, one)), default=None)


@st.composite
def cases(draw: st.DrawFn, *, together: bool) -> tuple[Snapshot, GroupRequest, list[Evictable]]:
    count = draw(st.integers(1, 4))
    nodes: list[NodeBuilder] = [node(f"n{i}").gpus(draw(st.integers(1, 6))) for i in range(count)]
    left = [int(one.wire["status"]["allocatable"]["nvidia.com/gpu"]) for one in nodes]
    pods: list[PodBuilder] = []
    for i in range(draw(st.integers(1, 7))):
        at, gpus = draw(st.integers(0, count - 1)), draw(st.integers(1, 3))
        if left[at] >= gpus:
            left[at] -= gpus
            pods.append(running(f"p{i}", f"n{at}", gpus))
    evictable = [
        low(
            one.made.name,
            draw(st.sampled_from((0, 5, HIGH))),
            unit=draw(st.sampled_from(("x", "y", ""))) if together else "",
        )
        for one in pods
    ]
    group = gang("g", members(draw(st.integers(1, 5)), WORKER.gpu(draw(st.integers(1, 3)))))
    return books(nodes, pods).snapshot(), group, evictable


@given(cases(together=True))
def test_victims_are_as_few_as_can_be_and_never_of_equal_priority(
    case: tuple[Snapshot, GroupRequest, list[Evictable]],
) -> None:
    snapshot, group, evictable = case
    found = preempt(snapshot, group, HIGH, evictable)
    least = fewest(snapshot, group, evictable)
    assert (None if found is None else len(found.victims)) == least
    if found is not None:
        victims = {one.uid: one for one in evictable if one.uid in found.victims}
        assert all(one.priority < HIGH for one in victims.values())
        assert is_enough(snapshot, group, victims.values())


@given(cases(together=False))
def test_counting_finds_as_few_victims_as_trying_every_set(
    case: tuple[Snapshot, GroupRequest, list[Evictable]],
) -> None:
    snapshot, group, evictable = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EXACT_UNITS", -1)
        found = preempt(snapshot, group, HIGH, evictable)
    assert (None if found is None else len(found.victims)) == fewest(snapshot, group, evictable)


@given(cases(together=True))
def test_where_units_span_nodes_none_of_the_victims_could_stay(
    case: tuple[Snapshot, GroupRequest, list[Evictable]],
) -> None:
    snapshot, group, evictable = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EXACT_UNITS", -1)
        found = preempt(snapshot, group, HIGH, evictable)
    assert (found is None) == (fewest(snapshot, group, evictable) is None)
    if found is not None:
        victims = [one for one in evictable if one.uid in found.victims]
        assert is_enough(snapshot, group, victims)
        for unit in {one.unit for one in victims}:
            assert not is_enough(snapshot, group, [one for one in victims if one.unit != unit])
