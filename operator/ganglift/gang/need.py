"""How many members must hold a place now.

A Job's gang needs min(minCount, parallelism, what is still to complete): finished members leave the count on both
sides, so that a replacement of a later loss still starts (native 1.37 is wrong here, kubernetes#142330). A group
without a Job needs minCount less the members that have succeeded in this run.
"""

from bisect import bisect_right
from collections.abc import Iterable
from datetime import UTC, datetime

from ganglift.api.job import BatchJob
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.gang.membership import (
    Membership,
    child_uid_of,
    completion_index,
    controller_uid,
)

_EPOCH = datetime.fromtimestamp(0, UTC)


def need_of(group: PodGroup, child: BatchJob | None, membership: Membership) -> int:
    """Return how many members must be bound for the gang to be whole: 0 for a basic group and when nothing may start.

    `child` is the Job's batch/v1 Job as the API shows it now, None for a plain group, before it is made, and when it is
    gone; a group whose recorded child is gone needs nobody.
    """
    if group.spec.gang is None:
        return 0
    if child is None:
        return 0 if child_uid_of(group) else max(0, group.min_count - succeeded_in_this_run(membership))
    if child.spec.suspend or child.is_deleting or child.is_ending:
        return 0
    return max(0, min(group.min_count, child.spec.parallelism, remaining(child, membership)))


def remaining(child: BatchJob, membership: Membership) -> int:
    """Return how many pods of a Job are still to complete; see KEP-3715, KEP-3850 and KEP-3998 for its kinds."""
    if child.spec.completions is None:
        return _remaining_of_work_queue(child, membership)
    if child.spec.completion_mode == "Indexed":
        return _remaining_indexes(child, membership)
    uncounted = len(child.status.uncounted_terminated_pods.succeeded)
    # The larger of the two, never the sum: the Job's status trails its pods by up to a second.
    done = max(child.status.succeeded + uncounted, len(membership.succeeded))
    return max(0, child.spec.completions - done)


def succeeded_in_this_run(membership: Membership) -> int:
    """Return how many succeeded members of a plain group belong to the run of its live ones.

    Pods of an earlier run may still lie about. A succeeded one belongs to the present run when its owner has live pods,
    or when it ended after the first live one was made.
    """
    live = membership.live
    if not live:
        return len(membership.succeeded)
    owners = {controller_uid(pod) for pod in live} - {""}
    begun = min(pod.metadata.creation_timestamp or _EPOCH for pod in live)
    return sum(1 for pod in membership.succeeded if controller_uid(pod) in owners or _ended(pod) >= begun)


def parse_indexes(text: str) -> list[tuple[int, int]]:
    """Return the intervals of a Job's index list, `0-2,5` -> [(0, 2), (5, 5)]; bounds are inclusive, in order."""
    intervals = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        intervals.append((int(first), int(last or first)))
    return intervals


def _remaining_of_work_queue(child: BatchJob, membership: Membership) -> int:
    has_success = child.status.succeeded or child.status.uncounted_terminated_pods.succeeded or membership.succeeded
    return membership.live_count if has_success else child.spec.parallelism


def _remaining_indexes(child: BatchJob, membership: Membership) -> int:
    completions = child.spec.completions or 0
    done = parse_indexes(child.status.completed_indexes)
    failed = parse_indexes(child.status.failed_indexes)
    ended = _count(done, completions) + _count(failed, completions)
    seen = {index for pod in membership.succeeded if (index := completion_index(pod)) is not None}
    ended += sum(1 for index in seen if index < completions and not _holds(done, index) and not _holds(failed, index))
    return max(0, completions - ended)


def _count(intervals: Iterable[tuple[int, int]], below: int) -> int:
    return sum(max(0, min(last, below - 1) - first + 1) for first, last in intervals)


def _holds(intervals: list[tuple[int, int]], index: int) -> bool:
    at = bisect_right(intervals, (index, index)) - 1
    return any(first <= index <= last for first, last in intervals[max(0, at) : at + 2])


def _ended(pod: Pod) -> datetime:
    """Return when a pod ended, as its conditions show; far in the future where they do not."""
    times = [condition.last_transition_time for condition in pod.status.conditions if condition.last_transition_time]
    return max(times, default=datetime.max.replace(tzinfo=UTC))
