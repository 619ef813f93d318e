"""Single values against single rules."""

import pytest

from ganglift.api.node import Taint
from ganglift.api.selectors import LabelSelector, Requirement, Toleration
from ganglift.plan.match import first_untolerated, is_valid, matches_labels, matches_value, tolerates

TAINT = Taint(key="gpu", value="spot", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(key="gpu", operator="Equal", value="spot"), True),
        (Toleration(key="gpu", value="spot", operator=""), True),
        (Toleration(key="gpu", operator="Equal", value="other"), False),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(operator="Exists"), True),
        (Toleration(operator="Exists", effect="NoExecute"), False),
        (Toleration(operator="Exists", effect="NoSchedule"), True),
        (Toleration(key="gpu", operator="Gt", value="1"), False),
    ],
)
def test_tolerations(toleration: Toleration, expected: bool) -> None:
    assert tolerates((toleration,), TAINT) is expected


def test_only_hard_taints_keep_pods_off_and_the_first_is_told() -> None:
    soft = Taint(key="old", effect="PreferNoSchedule")
    hard = Taint(key="new", effect="NoExecute")
    assert first_untolerated((), (soft, TAINT, hard)) == TAINT
    assert first_untolerated((Toleration(key="gpu", operator="Exists"),), (soft, TAINT, hard)) == hard
    assert first_untolerated((), (soft,)) is None


@pytest.mark.parametrize(
    ("operator", "values", "value", "expected"),
    [
        ("In", ("a", "b"), "a", True),
        ("In", ("a", "b"), "c", False),
        ("In", ("a",), None, False),
        ("NotIn", ("a",), "b", True),
        ("NotIn", ("a",), "a", False),
        ("NotIn", ("a",), None, True),
        ("Exists", (), "", True),
        ("Exists", (), None, False),
        ("DoesNotExist", (), None, True),
        ("DoesNotExist", (), "a", False),
        ("Gt", ("3",), "4", True),
        ("Gt", ("3",), "3", False),
        ("Gt", ("3",), "four", False),
        ("Gt", ("3",), None, False),
        ("Lt", ("3",), "-7", True),
        ("Lt", ("3",), "1_0", False),
        ("Lt", ("3",), "99999999999999999999", False),
    ],
)
def test_requirements(operator: str, values: tuple[str, ...], value: str | None, expected: bool) -> None:
    requirement = Requirement(key="k", operator=operator, values=values)
    assert is_valid(requirement)
    assert matches_value(requirement, value) is expected


@pytest.mark.parametrize(
    ("operator", "values"),
    [("In", ()), ("NotIn", ()), ("Exists", ("a",)), ("Gt", ("a",)), ("Lt", ("1", "2")), ("Near", ("a",))],
)
def test_requirements_that_do_not_parse_are_not_valid(operator: str, values: tuple[str, ...]) -> None:
    assert not is_valid(Requirement(key="k", operator=operator, values=values))


def test_a_missing_label_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert matches_labels(None, {"a": "b"}) is False
    assert matches_labels(LabelSelector(), {"a": "b"}) is True
    both = LabelSelector(match_labels={"a": "b"}, match_expressions=(Requirement(key="c", operator="Exists"),))
    assert matches_labels(both, {"a": "b"}) is False
    assert matches_labels(both, {"a": "b", "c": ""}) is True
