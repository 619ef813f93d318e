"""The books follow events; what they show does not depend on the way there."""

from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import GPU, NodeBuilder, PodBuilder, books, gang, members, node, pod
from tests.support.clusters import random_pod

from ganglift.api.selectors import Requirement
from ganglift.base.ids import Key
from ganglift.plan.books import Books, Kind
from ganglift.plan.plan import plan
from ganglift.plan.selector import PodSelector
from ganglift.plan.snapshot import Snapshot
from ganglift.plan.verdict import Fits
from ganglift.plan.words import words_of

APPS = PodSelector(None, (Requirement(key="app", operator="In", values=("web", "db")),))


def picture(snapshot: Snapshot) -> dict[str, Any]:
    """Everything a snapshot says, free of rows, columns and slots."""
    occupants = snapshot.occupants
    matching = occupants.matching(APPS)
    shown: dict[str, Any] = {"standing": {uid: snapshot.names[s.node] for uid, s in snapshot.standing.items()}}
    for row, name in enumerate(snapshot.names):
        slots = np.flatnonzero(occupants.nodes == row)
        shown[name] = {
            "offers": {r: int(snapshot.allocatable[row, c]) for r, c in snapshot.columns.items()},
            "uses": {r: int(snapshot.used[row, c]) for r, c in snapshot.columns.items() if snapshot.used[row, c]},
            "exclusives": sorted(snapshot.exclusives.get(row, ())),
            "pods": sorted((occupants.uids[s], int(occupants.kinds[s]), occupants.shapes[s].labels) for s in slots),  # type: ignore[union-attr]
            "apps": sorted(occupants.uids[s] for s in slots if matching[s]),
            "repelling": sorted(occupants.uids[s] for s in occupants.repelling if s in slots),
            "facts": snapshot.table.facts[row],
        }
        shown[name]["offers"] = {r: units for r, units in shown[name]["offers"].items() if units}
    return shown


class Story:
    """A random sequence of events, told to books as it goes."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.nodes: dict[str, NodeBuilder] = {}
        self.held: dict[str, tuple[PodBuilder, str, Kind]] = {}
        self.books = Books()

    def tell(self, events: int) -> None:
        for _ in range(events):
            self.rng.choice((self._node, self._place, self._place, self._end_pod, self._end_node, self._look))()

    def _node(self) -> None:
        name = f"n{self.rng.randint(0, 4)}"
        self.nodes[name] = node(name).gpus(self.rng.randint(0, 8)).zone(self.rng.choice("ab"))
        self.books.set_node(self.nodes[name].made)

    def _place(self) -> None:
        name = f"p{self.rng.randint(0, 8)}"
        held = (random_pod(self.rng, name), f"n{self.rng.randint(0, 5)}", self.rng.choice(list(Kind)))
        self.held[name] = held
        self.books.place(held[0].made, held[1], held[2])

    def _end_pod(self) -> None:
        if self.held:
            name = self.rng.choice(sorted(self.held))
            self.books.remove(self.held.pop(name)[0].made.uid)

    def _end_node(self) -> None:
        if self.nodes:
            name = self.rng.choice(sorted(self.nodes))
            del self.nodes[name]
            self.books.remove_node(name)

    def _look(self) -> None:
        self.books.snapshot().occupants.matching(APPS)

    def rebuilt(self) -> Books:
        again = Books()
        happenings = [*self.nodes.values(), *self.held.values()]
        self.rng.shuffle(happenings)
        for one in happenings:
            if isinstance(one, NodeBuilder):
                again.set_node(one.made)
            else:
                again.place(one[0].made, one[1], one[2])
        return again


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32), events=st.integers(0, 60))
def test_books_that_followed_events_equal_books_made_from_a_list(seed: int, events: int) -> None:
    story = Story(seed)
    story.tell(events)
    assert picture(story.books.snapshot()) == picture(story.rebuilt().snapshot())


def test_a_heartbeat_changes_nothing() -> None:
    kept = books([node("n1").gpus(8)])
    before = kept.version
    assert kept.set_node(node("n1").gpus(8).annotation("seen", "now").made) is False
    assert kept.version == before


def test_what_matters_of_a_node_is_a_change() -> None:
    kept = books([node("n1").gpus(8)])
    for changed in (
        node("n1").gpus(7),
        node("n1").gpus(7).label("a", "b"),
        node("n1").gpus(7).label("a", "b").taint("x"),
        node("n1").gpus(7).label("a", "b").taint("x").cordoned(),
        node("n1").gpus(7).label("a", "b").taint("x").cordoned().unready(),
    ):
        assert kept.set_node(changed.made) is True


def test_the_same_place_again_is_no_change() -> None:
    kept = books([node("n1")], [pod("a").on("n1")])
    assert kept.place(pod("a").on("n1").made, "n1", Kind.BOUND) is False
    assert kept.place(pod("a").on("n1").made, "n1", Kind.TERMINATING) is True


def test_pods_of_a_node_that_is_gone_count_again_when_its_name_returns() -> None:
    kept = books([node("n1").gpus(1)], [pod("a").gpu(1).on("n1")])
    kept.remove_node("n1")
    assert kept.snapshot().names == ()
    kept.set_node(node("n1").gpus(1).made)
    verdict = plan(kept.snapshot(), [gang("g", members(1, pod("w").gpu(1)))]).verdicts[Key("default", "g")]
    assert not isinstance(verdict, Fits)


def test_a_node_that_shrank_below_its_use_has_nothing_left_and_owes_nothing() -> None:
    snapshot = books([node("n1").gpus(2)], [pod("a").gpu(4).on("n1")]).snapshot()
    column = snapshot.columns[GPU]
    assert (int(snapshot.allocatable[0, column]), int(snapshot.used[0, column])) == (2, 4)
    verdict = plan(snapshot, [gang("g", members(1, pod("w").gpu(1)))]).verdicts[Key("default", "g")]
    assert "no nvidia.com/gpu free" in words_of(verdict)


def test_books_tell_where_and_how_a_pod_is_counted() -> None:
    kept = books([node("n1")], [pod("a").nominated("n1").gated()])
    uid = pod("a").made.uid
    assert (kept.node_of(uid), kept.kind_of(uid)) == ("n1", Kind.RESERVED)
    assert kept.remove(uid) is True
    assert (kept.node_of(uid), kept.kind_of(uid), kept.remove(uid)) == (None, None, False)


def test_nothing_is_left_of_pods_and_nodes_that_came_and_went() -> None:
    kept = Books()
    for i in range(300):
        kept.set_node(node(f"n{i}").made)
        kept.place(pod(f"p{i}").host_port(80).made, f"n{i}", Kind.BOUND)
        kept.remove(pod(f"p{i}").made.uid)
        kept.remove_node(f"n{i}")
    snapshot = kept.snapshot()
    assert (snapshot.names, snapshot.exclusives, len(snapshot.occupants.uids)) == ((), {}, 1)


def test_a_snapshot_does_not_follow_later_events() -> None:
    kept = books([node("n1").gpus(2)])
    snapshot = kept.snapshot()
    before = picture(snapshot)
    kept.place(pod("a").gpu(1).made, "n1", Kind.BOUND)
    kept.set_node(node("n1").gpus(8).made)
    assert picture(snapshot) == before
