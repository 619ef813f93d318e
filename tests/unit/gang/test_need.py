"""How many members must hold a place: every kind of Job, and plain groups."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import PodBuilder, pod
from tests.kinds import BatchJobBuilder, batch_job, podgroup, stamp

from ganglift.api.names import COMPLETION_INDEX
from ganglift.gang.membership import members_of
from ganglift.gang.need import need_of, parse_indexes

CHILD = batch_job("train").child_of("train").labelled("g").spec(parallelism=4, completions=4)


def member(name: str, index: int | None = None) -> PodBuilder:
    builder = pod(name).gang("g").gated().owner("Job", "train", "uid-train-child")
    return builder if index is None else builder.annotation(COMPLETION_INDEX, str(index))


def need(child: BatchJobBuilder | None, *pods: PodBuilder, min_count: int = 4) -> int:
    group = podgroup("g").gang(min_count).made
    made = child.made if child else None
    return need_of(group, made, members_of(group, [p.made for p in pods], made))


@pytest.mark.parametrize(
    ("what", "child"),
    [
        ("suspended", CHILD.spec(suspend=True)),
        ("being deleted", CHILD.deleting()),
        ("SuccessCriteriaMet", CHILD.condition("SuccessCriteriaMet")),
        ("FailureTarget", CHILD.condition("FailureTarget")),
        ("Complete", CHILD.condition("Complete")),
        ("Failed", CHILD.condition("Failed")),
    ],
)
def test_nobody_is_needed_by_a_job_that_is(what: str, child: BatchJobBuilder) -> None:
    assert need(child) == 0


def test_nobody_is_needed_once_a_recorded_child_is_gone() -> None:
    group = podgroup("g").gang(4).status(childUID="uid-train-child").made
    assert need_of(group, None, members_of(group, [])) == 0


def test_a_basic_group_needs_nobody() -> None:
    group = podgroup("g").made
    assert need_of(group, None, members_of(group, [])) == 0


@pytest.mark.parametrize(
    ("min_count", "parallelism", "completions", "needed"),
    [(4, 4, 4, 4), (3, 4, 4, 3), (4, 2, 4, 2), (4, 4, 2, 2), (4, 0, 4, 0), (4, 4, 100, 4)],
)
def test_it_is_the_least_of_min_count_parallelism_and_what_remains(
    min_count: int, parallelism: int, completions: int, needed: int
) -> None:
    assert need(CHILD.spec(parallelism=parallelism, completions=completions), min_count=min_count) == needed


class TestNonIndexed:
    def test_counts_what_the_status_has_counted_and_what_it_will(self) -> None:
        child = CHILD.status(succeeded=1, uncountedTerminatedPods={"succeeded": ["uid-a"]})
        assert need(child) == 2

    def test_counts_succeeded_pods_that_the_status_does_not_show_yet(self) -> None:
        assert need(CHILD, member("a").phase("Succeeded"), member("b").phase("Succeeded")) == 2

    def test_counts_no_success_twice(self) -> None:
        assert need(CHILD.status(succeeded=1), member("a").phase("Succeeded")) == 3

    def test_never_falls_below_nothing(self) -> None:
        assert need(CHILD.status(succeeded=9)) == 0


class TestIndexed:
    CHILD = CHILD.indexed(6)

    def test_leaves_out_completed_and_failed_indexes(self) -> None:
        assert need(self.CHILD.status(completedIndexes="0,2-3", failedIndexes="5"), min_count=4) == 2

    def test_leaves_out_indexes_of_succeeded_pods_once(self) -> None:
        child = self.CHILD.status(completedIndexes="0-1")
        assert need(child, member("a", 1).phase("Succeeded"), member("b", 4).phase("Succeeded")) == 3

    def test_f1_a_lost_index_beside_a_completed_one_is_still_needed(self) -> None:
        child = CHILD.indexed(3).spec(parallelism=3).status(completedIndexes="0")
        running = member("w-2", 2)._with("spec", "schedulingGates", value=[]).on("n2")
        assert need(child, running, member("w-1-again", 1), min_count=3) == 2

    def test_does_not_count_indexes_that_a_smaller_job_no_longer_has(self) -> None:
        child = CHILD.indexed(3).spec(parallelism=3).status(completedIndexes="1,5-7")
        assert need(child, min_count=3) == 2

    @given(st.sets(st.integers(0, 15)), st.sets(st.integers(0, 15)), st.sets(st.integers(0, 15)))
    def test_equals_the_count_over_sets(self, completed: set[int], failed: set[int], seen: set[int]) -> None:
        failed -= completed
        child = CHILD.indexed(12).spec(parallelism=12)
        child = child.status(completedIndexes=_listed(completed), failedIndexes=_listed(failed))
        pods = [member(f"w-{i}", i).phase("Succeeded") for i in sorted(seen)]
        assert need(child, *pods, min_count=12) == len(set(range(12)) - completed - failed - seen)


class TestWorkQueue:
    CHILD = batch_job("train").child_of("train").labelled("g").spec(parallelism=4, completions=None)

    def test_needs_all_until_the_first_success(self) -> None:
        assert need(self.CHILD, member("a"), member("b")) == 4

    def test_needs_only_who_is_left_after_it(self) -> None:
        assert need(self.CHILD.status(succeeded=1), member("a"), member("b")) == 2


class TestPlainGroup:
    def test_needs_min_count(self) -> None:
        assert need(None, pod("a").gang("g").gated()) == 4

    def test_counts_succeeded_members_of_the_owners_of_live_ones_as_done(self) -> None:
        def owned(name: str) -> PodBuilder:
            return pod(name).gang("g").owner("Job", "j", "uid-j")

        assert need(None, owned("a").phase("Succeeded"), owned("b").gated()) == 3

    def test_does_not_count_what_an_earlier_run_left(self) -> None:
        done = pod("a").gang("g").owner("Job", "j1", "uid-j1").phase("Succeeded").created(0)
        ended = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-30T00:00:10Z"}
        new = pod("b").gang("g").owner("Job", "j2", "uid-j2").gated().created(20)
        assert need(None, done._adding("status", "conditions", item=ended), new) == 4

    def test_counts_a_member_of_another_owner_that_ended_during_this_run(self) -> None:
        ended = {"type": "Ready", "status": "False", "lastTransitionTime": stamp(0)}
        launcher = pod("launcher").gang("g").owner("Job", "launcher", "uid-l").phase("Succeeded").created(0)
        workers = [pod(f"w-{i}").gang("g").owner("StatefulSet", "w", "uid-w").on("n").created(5) for i in range(3)]
        assert need(None, launcher._adding("status", "conditions", item=ended), *workers) == 3


@pytest.mark.parametrize(("text", "intervals"), [("", []), ("3", [(3, 3)]), ("0-2,5,7-8", [(0, 2), (5, 5), (7, 8)])])
def test_index_lists_are_read_as_intervals(text: str, intervals: list[tuple[int, int]]) -> None:
    assert parse_indexes(text) == intervals


def _listed(indexes: set[int]) -> str:
    return ",".join(str(index) for index in sorted(indexes))
