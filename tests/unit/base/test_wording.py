"""Singular and plural in sentences."""

import pytest

from ganglift.base.wording import amount_of, counted


@pytest.mark.parametrize(("count", "said"), [(0, "0 pods"), (1, "1 pod"), (2, "2 pods")])
def test_one_thing_is_singular_and_none_or_several_are_plural(count: int, said: str) -> None:
    assert counted(count, "pod") == said


@pytest.mark.parametrize(
    ("resource", "units", "said"),
    [
        ("pods", 1, "1 pod"),
        ("pods", 3, "3 pods"),
        ("nvidia.com/gpu", 2, "2 nvidia.com/gpu"),
        ("cpu", 1500, "1500m cpu"),
    ],
)
def test_amounts_have_the_name_of_their_resource(resource: str, units: int, said: str) -> None:
    assert amount_of(resource, units) == said
