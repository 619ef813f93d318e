"""A growing list that can be frozen at any moment for the price of what changed since the last time."""

from collections.abc import Iterator
from itertools import chain
from typing import Generic, SupportsIndex, TypeVar

_Item = TypeVar("_Item")
_SIZE = 512


class Chunks(Generic[_Item]):
    """A list frozen at one moment."""

    def __init__(self, chunks: tuple[tuple[_Item, ...], ...], size: int) -> None:
        self._chunks = chunks
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[_Item]:
        return chain.from_iterable(self._chunks)

    def __getitem__(self, at: SupportsIndex) -> _Item:
        number, rest = divmod(range(self._size)[at], _SIZE)
        return self._chunks[number][rest]


class Chunked(Generic[_Item]):
    """A list that grows; items may be replaced, never removed."""

    def __init__(self) -> None:
        self._items: list[_Item] = []
        self._chunks: list[tuple[_Item, ...]] = []
        self._stale: set[int] = set()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[_Item]:
        return iter(self._items)

    def __getitem__(self, at: SupportsIndex) -> _Item:
        return self._items[at]

    def __setitem__(self, at: int, item: _Item) -> None:
        self._items[at] = item
        self._stale.add(at // _SIZE)

    def append(self, item: _Item) -> None:
        self._stale.add(len(self._items) // _SIZE)
        self._items.append(item)

    def frozen(self) -> Chunks[_Item]:
        """Return the list as it is now, for good."""
        for number in sorted(self._stale):
            self._chunks[number : number + 1] = [tuple(self._items[number * _SIZE : (number + 1) * _SIZE])]
        self._stale.clear()
        return Chunks(tuple(self._chunks), len(self._items))
