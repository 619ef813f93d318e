"""The priorities that stand for a gang where it competes."""

import pytest
from tests.builders import pod
from tests.kinds import PodGroupBuilder, podgroup

from ganglift.gang.membership import Membership, members_of
from ganglift.gang.outcome import Waiting
from ganglift.gang.priority import Priorities, priorities_of, priority_trouble
from ganglift.gang.reasons import Reason

GROUP = podgroup("g").gang(2)
CLASSES = {"high": 1000}


def pods(*priorities: int) -> Membership:
    return members_of(GROUP.made, [pod(f"w-{i}").gang("g").priority(p).made for i, p in enumerate(priorities)])


@pytest.mark.parametrize(
    ("group", "members", "expected"),
    [
        (GROUP, (5, 5), Priorities(queue=5, room=5, preemptor=5, victim=5)),
        (GROUP.spec(priority=500), (0, 10), Priorities(queue=500, room=0, preemptor=0, victim=500)),
        (GROUP.spec(priority=5), (10, 20), Priorities(queue=5, room=10, preemptor=5, victim=20)),
        (GROUP.spec(priorityClassName="high"), (1000,), Priorities(1000, 1000, 1000, 1000)),
        (GROUP.spec(priorityClassName="unknown"), (7,), Priorities(7, 7, 7, 7)),
        (GROUP.status(priority=3), (), Priorities(3, 3, 3, 3)),
    ],
)
def test_room_counts_the_lowest_pod_and_a_victim_the_highest(
    group: PodGroupBuilder, members: tuple[int, ...], expected: Priorities
) -> None:
    assert priorities_of(group.made, pods(*members), CLASSES) == expected


def test_equal_priorities_are_no_mismatch() -> None:
    membership = pods(5, 5)
    assert priority_trouble(GROUP.made, membership, {}) is None


@pytest.mark.parametrize(
    ("group", "members", "words"),
    [
        (
            GROUP.spec(priority=500),
            (0, 10),
            "the group has priority 500 and its pods have 0, 10: room is defended at 0",
        ),
        (GROUP, (-10, 5), "the group names no priority and its pods have -10, 5: room is defended at -10"),
    ],
)
def test_a_mismatch_names_the_numbers(group: PodGroupBuilder, members: tuple[int, ...], words: str) -> None:
    trouble = priority_trouble(group.made, pods(*members), {})
    remedy = "give them all the same PriorityClass"
    assert trouble == Waiting(Reason.PRIORITY_MISMATCH, f"{words}; {remedy}")


def test_a_class_that_does_not_exist_is_told() -> None:
    trouble = priority_trouble(GROUP.spec(priorityClassName="gone").made, pods(7), CLASSES)
    assert trouble is not None
    assert (trouble.reason, trouble.message[:34]) == (Reason.INVALID, "PriorityClass gone does not exist:")


def test_a_priority_that_the_group_states_needs_no_class() -> None:
    group = GROUP.spec(priorityClassName="gone", priority=7)
    assert priority_trouble(group.made, pods(7), CLASSES) is None
