"""The priorities that stand for a gang where it competes."""

import pytest
from tests.builders import pod
from tests.kinds import PodGroupBuilder, podgroup

from ganglift.gang.membership import Membership, members_of
from ganglift.gang.priority import Priorities, mismatch, priorities_of

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
    assert mismatch(GROUP.made, membership, priorities_of(GROUP.made, membership, {})) is None


def test_a_mismatch_is_a_warning_that_names_the_numbers() -> None:
    group, membership = GROUP.spec(priority=500).made, pods(0, 10)
    warning = mismatch(group, membership, priorities_of(group, membership, {}))
    assert warning is not None
    assert warning.is_warning
    assert warning.message.startswith("the group has priority 500 and its pods have 0, 10: room is defended at 0")
