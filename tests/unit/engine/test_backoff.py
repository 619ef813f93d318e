"""Pauses between the starts of a gang."""

from random import Random

import pytest

from ganglift.engine.backoff import Backoff


@pytest.fixture
def backoff() -> Backoff:
    return Backoff(base_s=1.0, max_s=300.0, rng=Random(1))


def test_each_pause_is_twice_the_last_up_to_the_longest(backoff: Backoff) -> None:
    pauses = [backoff.fail(0.0) for _ in range(12)]
    for number, pause in enumerate(pauses):
        expected = min(2.0**number, 300.0)
        assert expected <= pause <= expected * 1.1


def test_gangs_that_fail_together_do_not_come_back_together() -> None:
    pauses = {Backoff(1.0, 300.0, Random(seed)).fail(0.0) for seed in range(20)}
    assert len(pauses) == 20


def test_a_gang_may_fail_for_weeks(backoff: Backoff) -> None:
    for _ in range(2000):
        pause = backoff.fail(0.0)
    assert pause <= 330.0


def test_nothing_is_waited_for_after_the_pause(backoff: Backoff) -> None:
    pause = backoff.fail(100.0)
    assert backoff.is_waiting(100.0 + pause - 0.01)
    assert not backoff.is_waiting(100.0 + pause)


def test_more_room_cuts_a_long_pause_short_but_not_the_shortest(backoff: Backoff) -> None:
    for _ in range(6):
        backoff.fail(100.0)
    backoff.wake()
    assert backoff.is_waiting(100.9)
    assert not backoff.is_waiting(101.0)


def test_the_pause_after_one_that_was_cut_short_is_longer_still(backoff: Backoff) -> None:
    for _ in range(3):
        backoff.fail(100.0)
    backoff.wake()
    assert backoff.fail(101.0) >= 8.0


def test_more_room_starts_no_pause_where_there_is_none(backoff: Backoff) -> None:
    backoff.wake()
    assert not backoff.is_waiting(0.0)


def test_a_gang_that_was_scheduled_begins_anew(backoff: Backoff) -> None:
    for _ in range(6):
        backoff.fail(100.0)
    backoff.reset()
    assert not backoff.is_waiting(100.0)
    assert backoff.fail(100.0) <= 1.1
