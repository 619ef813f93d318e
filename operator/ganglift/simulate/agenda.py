"""What happens when, in the order in which it was put down where times are the same."""

import heapq
from collections.abc import Callable, Iterator
from itertools import count

Happening = Callable[[], None]


class Agenda:
    """Things that happen at given seconds. What no longer applies checks that itself when its time has come."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Happening]] = []
        self._order = count()

    @property
    def next(self) -> int | None:
        """Return when something happens next."""
        return self._heap[0][0] if self._heap else None

    def put(self, second: int, happening: Happening) -> None:
        heapq.heappush(self._heap, (second, next(self._order), happening))

    def due(self, second: int) -> Iterator[Happening]:
        """Yield what happens up to this second; it may put down more, also for the same second."""
        while self._heap and self._heap[0][0] <= second:
            yield heapq.heappop(self._heap)[2]
