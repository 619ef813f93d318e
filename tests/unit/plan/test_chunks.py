"""A list that freezes cheaply."""

import pytest

from ganglift.plan.chunks import Chunked


def test_a_frozen_list_keeps_what_it_was() -> None:
    items = Chunked[int]()
    for i in range(1300):
        items.append(i)
    frozen = items.frozen()
    items[700] = -1
    items.append(-2)
    assert (list(frozen), len(frozen)) == (list(range(1300)), 1300)
    again = items.frozen()
    assert (again[700], again[1300], len(again)) == (-1, -2, 1301)
    assert [frozen[i] for i in (0, 511, 512, 1299, -1)] == [0, 511, 512, 1299, 1299]


def test_there_is_nothing_beyond_its_end() -> None:
    with pytest.raises(IndexError):
        Chunked[int]().frozen()[0]
