"""Whose turn it is to gather where a ResourceQuota is short."""

from __future__ import annotations

from typing import Any

import pytest
from tests.kinds import BatchJobBuilder, PodGroupBuilder, at, batch_job, gang_job, podgroup, stamp

from ganglift.api.names import PARKED, WOKEN
from ganglift.gang.child import child_change
from ganglift.gang.quota import Applicant, is_applicant, park, refusal_in, resume, shortages, take_turns, wake

SHORT = "exceeded quota: q, requested: pods=1, used: pods=6, limited: pods=6"
CHILD = batch_job("train").child_of("train").spec(parallelism=4)
GROUP = podgroup("train-workers").gang(4)


def gang(
    name: str, members: int, exceeded: str = "", parked: bool = False, created: int = 0, **status: Any
) -> Applicant:
    child = batch_job(name).child_of(name).spec(parallelism=4, completions=4)
    if parked:
        child = child.annotation(PARKED, "another").spec(suspend=True)
    group = podgroup(f"{name}-workers").gang(4).meta(creationTimestamp=stamp(created))
    return Applicant(group.status(members=members, need=0 if parked else 4, **status).made, child.made, exceeded)


def names(applicants: tuple[Applicant, ...]) -> list[str]:
    return [applicant.child.name for applicant in applicants]


def no_room(name: str, created: int) -> Applicant:
    """All pods are there, and no room on the nodes."""
    waits = {"type": "Scheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": stamp(0)}
    return gang(name, 4, created=created, conditions=[waits])


def test_nobody_is_parked_where_the_quota_holds_nobody_up() -> None:
    turn = take_turns([gang("a", 2), gang("b", 4)])
    assert (turn.gathers, turn.park, turn.resume) == (None, (), ())


def test_b5_of_two_halves_the_older_gathers_and_the_younger_is_parked() -> None:
    turn = take_turns([gang("young", 3, SHORT, created=5), gang("old", 3, SHORT, created=1)])
    assert turn.gathers is not None
    assert turn.gathers.child.name == "old"
    assert names(turn.park) == ["young"]


def test_the_higher_priority_gathers_first() -> None:
    turn = take_turns([gang("old", 3, SHORT, created=1, priority=0), gang("high", 3, SHORT, created=5, priority=9)])
    assert names(turn.park) == ["old"]


def test_those_that_come_before_the_one_held_up_are_left_alone() -> None:
    turn = take_turns([gang("first", 4, created=0), gang("second", 2, SHORT, created=1)])
    assert turn.park == ()


def test_a_gang_that_only_just_came_is_left_alone() -> None:
    turn = take_turns([gang("old", 3, SHORT, created=1), gang("new", 0, created=9)])
    assert turn.park == ()


def test_an_adopted_job_is_never_parked() -> None:
    first, second = gang("old", 3, SHORT, created=1), gang("young", 3, SHORT, created=5)
    adopted = Applicant(second.group, batch_job("young").made, SHORT)
    turn = take_turns([first, adopted])
    assert turn.gathers == first
    assert turn.park == ()


def test_the_parked_are_resumed_one_at_a_time_in_order() -> None:
    turn = take_turns([gang("b", 0, parked=True, created=2), gang("a", 0, parked=True, created=1)])
    assert names(turn.resume) == ["a"]


def test_nobody_is_resumed_while_another_gathers() -> None:
    turn = take_turns([gang("a", 2, SHORT, created=1), gang("b", 0, parked=True, created=2)])
    assert turn.resume == ()


def test_a_later_gang_without_room_gives_its_quota_up_last_one_first() -> None:
    waiting = [gang("first", 2, SHORT), no_room("a", 1), no_room("b", 2)]
    assert names(take_turns(waiting).park) == ["b"]


def test_not_while_the_pods_of_one_that_was_parked_are_still_going() -> None:
    waiting = [gang("first", 2, SHORT), no_room("a", 1), gang("b", 3, parked=True, created=2)]
    assert take_turns(waiting).park == ()


TOO_SMALL = "exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3"
NEVER_FITS = "the gang needs 4 pods and quota q allows 3: raise the quota, or lower minCount or parallelism"


class TestAGangThatAloneIsOverTheQuota:
    def test_makes_room_for_later_ones(self) -> None:
        turn = take_turns([gang("big", 3, TOO_SMALL, created=1), gang("small", 1, SHORT, created=5)])
        assert turn.gathers is not None
        assert turn.gathers.child.name == "small"
        assert names(turn.park) == ["big"]

    def test_gathers_when_nobody_else_can(self) -> None:
        turn = take_turns([gang("big", 0, TOO_SMALL, parked=True)])
        assert names(turn.resume) == ["big"]

    @pytest.mark.parametrize(
        ("refusal", "words"),
        [
            (TOO_SMALL, NEVER_FITS),
            (SHORT, ""),
            (
                "exceeded quota: g, requested: requests.memory=2Gi,limits.cpu=500m, used: x, limited: "
                "requests.memory=8Gi,limits.cpu=1500m",
                "the gang needs 2 limits.cpu and quota g allows 1500m: raise the quota, or lower minCount or "
                "parallelism",
            ),
            ("exceeded quota: q, requested: pods=?, used: pods=3, limited: pods=3", ""),
            ("no PriorityClass with name no was found", ""),
        ],
    )
    def test_is_told_what_to_change(self, refusal: str, words: str) -> None:
        assert gang("big", 3, refusal).over_limit == words

    def test_is_told_so_while_it_is_parked_too(self) -> None:
        waiting = [gang("small", 1, SHORT, created=5), gang("big", 0, TOO_SMALL, parked=True, created=1)]
        told = {key.name: found.message for key, found in shortages(waiting, take_turns(waiting)).items()}
        parked = "parked while PodGroup small-workers gathers under the quota"
        assert told == {"small-workers": SHORT, "big-workers": f"{NEVER_FITS}; {parked}"}


@pytest.mark.parametrize(
    ("group", "child", "may"),
    [
        (GROUP, CHILD, True),
        (GROUP, CHILD.spec(suspend=True).annotation(PARKED, "x"), True),
        (GROUP, CHILD.spec(suspend=True), False),
        (GROUP, CHILD.condition("Complete"), False),
        (GROUP, CHILD.deleting(), False),
        (GROUP.status(scheduledTime=stamp(0)), CHILD, False),
        (GROUP.status(lifted=1), CHILD, False),
        (GROUP.status(scheduled=1), CHILD, False),
        (podgroup("train-workers"), CHILD, False),
    ],
)
def test_only_gangs_that_have_not_started_take_part(group: PodGroupBuilder, child: BatchJobBuilder, may: bool) -> None:
    assert is_applicant(group.made, child.made) is may


def test_parking_suspends_and_marks_in_one_patch_and_resuming_undoes_both() -> None:
    behind, applicant = gang("first", 2, SHORT), gang("second", 2, SHORT)
    assert park(applicant, behind).body == {
        "metadata": {"uid": "uid-second-child", "annotations": {PARKED: "first-workers"}},
        "spec": {"suspend": True, "activeDeadlineSeconds": None},
    }
    assert resume(applicant).body == {
        "metadata": {"uid": "uid-second-child", "annotations": {PARKED: None}},
        "spec": {"suspend": False},
    }


def test_waking_touches_an_annotation_alone() -> None:
    body = wake(gang("first", 2, SHORT), at(5.5)).body
    assert body == {"metadata": {"uid": "uid-first-child", "annotations": {WOKEN: "2026-11-30T12:00:05Z"}}}


def failed_create(message: str, at_second: int = 0) -> dict[str, Any]:
    return {"reason": "FailedCreate", "message": f"Error creating: {message}", "lastTimestamp": stamp(at_second)}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (f'pods "a-x" is forbidden: {SHORT}', SHORT),
        ('pods "a-x" is forbidden: no PriorityClass with name no was found', "no PriorityClass with name no was found"),
        ('Pod "a-x" is invalid: spec.dnsPolicy: Required value', "spec.dnsPolicy: Required value"),
        ('admission webhook "w" denied the request: no', 'admission webhook "w" denied the request: no'),
    ],
)
def test_a_refusal_is_told_in_the_refusers_words_without_the_pods_name(message: str, words: str) -> None:
    assert refusal_in([failed_create(message)]) == words


def test_the_newest_refusal_counts() -> None:
    events = [failed_create("new", 9), failed_create(f'pods "a-x" is forbidden: {SHORT}', 1)]
    assert refusal_in(events) == "new"


def test_pods_refused_for_another_reason_are_not_held_up_by_a_quota() -> None:
    assert not gang("a", 0, "no PriorityClass with name no was found").is_held_up


class TestAUsersSuspension:
    JOB = gang_job("train").gang().spec(parallelism=4, completions=4)
    PARKED = CHILD.spec(suspend=True, completions=4).annotation(PARKED, "first-workers")

    def test_is_not_undone_by_an_edit_while_parked(self) -> None:
        patch = child_change(self.JOB.spec(parallelism=2).made, self.PARKED.made)
        assert patch is not None
        assert patch.body["spec"] == {"parallelism": 2}

    def test_takes_the_place_of_ours(self) -> None:
        patch = child_change(self.JOB.spec(suspend=True).made, self.PARKED.made)
        assert patch is not None
        assert patch.body == {"metadata": {"uid": "uid-train-child", "annotations": {PARKED: None}}}
