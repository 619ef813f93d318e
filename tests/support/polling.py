"""Wait for what comes by itself, never longer than needed and never for ever."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_POLL_S = 0.05


def eventually(ask: Callable[[], T], holds: Callable[[T], bool], *, within_s: float) -> T:
    """Ask until the answer holds and return it; AssertionError with the last answer when time is up."""
    deadline = time.monotonic() + within_s
    while not holds(answer := ask()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {within_s:g} s, the last answer was:\n{answer}")
        time.sleep(_POLL_S)
    return answer
