"""Outcomes in words, and the list of reasons."""

import pytest
from tests.kinds import at

from ganglift.gang.outcome import (
    BackOff,
    FenceUnavailable,
    Held,
    Lifting,
    LiftRefused,
    Outcome,
    Reserved,
    Settling,
    Stuck,
    listed,
)
from ganglift.gang.reasons import Reason

OPEN = ("resource claim imex",)


@pytest.mark.parametrize(
    ("outcome", "reason", "message"),
    [
        (Reserved(4), Reason.RESERVED, "4 members hold a place"),
        (Reserved(1), Reason.RESERVED, "1 member holds a place"),
        (
            Reserved(4, "ns/other"),
            Reason.RESERVED,
            "4 members hold a place; a fence makes sure that nobody else is on the way there: ns/other",
        ),
        (
            FenceUnavailable("no answer in 15 s", "ns/x"),
            Reason.FENCE_UNAVAILABLE,
            "no fence against ns/x: no answer in 15 s",
        ),
        (LiftRefused("w-0", "denied"), Reason.LIFT_REFUSED, "removing the gate of pod w-0 was refused: denied"),
        (Reserved(4, unjudged=OPEN), Reason.RESERVED, "4 members hold a place; not judged: resource claim imex"),
        (Lifting(0, 4), Reason.LIFTING, "4 members being released"),
        (Lifting(2, 4), Reason.LIFTING, "2 of 4 members released"),
        (Lifting(2, 4, OPEN), Reason.LIFTING, "2 of 4 members released; not judged: resource claim imex"),
        (Settling(3, 4), Reason.SETTLING, "3 of 4 members bound"),
        (Settling(0, 1, "w-0 was refused"), Reason.SETTLING, "0 of 1 member bound: w-0 was refused"),
        (
            Settling(0, 1, "w-0 was refused", OPEN),
            Reason.SETTLING,
            "0 of 1 member bound: w-0 was refused; not judged: resource claim imex",
        ),
        (BackOff(at(60), "no room"), Reason.BACK_OFF, "no room; next attempt at 2026-11-30T12:01:00Z"),
        (
            Held(("n1", "n2"), at(0), "train"),
            Reason.HELD,
            "room is held on n1, n2 until 2026-11-30T12:00:00Z, waits for train",
        ),
        (
            Stuck(3, 4, ("a",)),
            Reason.STUCK,
            "3 of 4 members bound, and no owner makes these pods again: a; delete and create them with their gate",
        ),
    ],
)
def test_an_outcome_says_counts_and_causes(outcome: Outcome, reason: Reason, message: str) -> None:
    assert (outcome.reason, outcome.message) == (reason, message)


@pytest.mark.parametrize(
    ("names", "words"), [(("a",), "a"), (("a", "b", "c"), "a, b, c"), (("a", "b", "c", "d", "e"), "a, b, c and 2 more")]
)
def test_long_lists_are_cut(names: tuple[str, ...], words: str) -> None:
    assert listed(names) == words


@pytest.mark.parametrize("reason", list(Reason), ids=str)
def test_a_reason_is_a_camel_case_word_with_its_paragraph(reason: Reason) -> None:
    assert reason.isalpha()
    assert reason[0].isupper()
    assert reason.text.endswith(".")
