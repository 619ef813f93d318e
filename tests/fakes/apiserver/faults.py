"""What can be made to go wrong, and for which request.

    server.faults.add(on("patch", PODS, subresource="status"), Refuse(internal_error("etcd is away")), times=2)
    server.faults.add(nth_write(7), Drop(performed=True))
    server.faults.add(on("watch", PODS), Distort(after=3, then="cut"))

A fault is looked up when the request arrives, the oldest that matches first. Watches that are already open are reached
through `FakeApiServer.watches`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.fakes.apiserver.refusals import Refusal

from ganglift.kube.resources import Resource

WRITE_VERBS = frozenset({"create", "update", "patch", "delete", "deletecollection"})


@dataclass(frozen=True)
class Seen:
    """One request, as the server understood it."""

    verb: str
    path: str
    resource: Resource | None = None
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    content_type: str = ""
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_write(self) -> bool:
        return self.verb in WRITE_VERBS

    @property
    def is_dry_run(self) -> bool:
        return "dryRun" in self.query or bool(isinstance(self.body, dict) and self.body.get("dryRun"))


@dataclass(frozen=True)
class Refuse:
    """Answer with the refusal; nothing is done."""

    refusal: Refusal


@dataclass(frozen=True)
class Delay:
    """Answer late. With `performed`, the deed is done at once and only the answer is late."""

    seconds: float
    performed: bool = False


@dataclass(frozen=True)
class Hang:
    """Never answer. With `performed`, the deed is done."""

    performed: bool = False


@dataclass(frozen=True)
class Drop:
    """Close the connection instead of answering. With `performed`, the deed is done."""

    performed: bool = False


@dataclass(frozen=True)
class Cut:
    """Do it, send the first half of the answer, and close the connection."""


@dataclass(frozen=True)
class Distort:
    """Send a watch's events wrongly.

    After `after` events it ends cleanly, is cut in the middle of a line, ends cleanly after half a line, falls silent
    (bookmarks included), or sends `error` as an event of type ERROR and ends. Until then events come `late_s` seconds
    late, each twice, or in swapped pairs. The last two are not known to happen; they show that nothing depends on it.
    """

    after: int | None = None
    then: Literal["end", "cut", "half", "silence", "error"] = "end"
    error: Refusal | None = None
    late_s: float = 0.0
    twice: bool = False
    swapped: bool = False


Effect = Refuse | Delay | Hang | Drop | Cut | Distort
Condition = Callable[[Seen], bool]


@dataclass
class Fault:
    when: Condition
    effect: Effect
    times: int | None = 1
    """How often it strikes; None for always."""
    struck: int = 0


class Faults:
    """The faults that are set."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, when: Condition, effect: Effect, *, times: int | None = 1) -> Fault:
        """Let `effect` strike the next `times` requests for which `when` is true."""
        fault = Fault(when, effect, times)
        self._faults.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        self._faults.remove(fault)

    def clear(self) -> None:
        self._faults.clear()

    def strike(self, seen: Seen) -> Effect | None:
        for fault in self._faults:
            if (fault.times is None or fault.struck < fault.times) and fault.when(seen):
                fault.struck += 1
                return fault.effect
        return None


def on(
    verb: str | None = None,
    resource: Resource | None = None,
    *,
    name: str | None = None,
    namespace: str | None = None,
    subresource: str | None = None,
) -> Condition:
    """True for requests that have all the given properties; a subresource that is not given may be any."""
    wanted = {
        key: value
        for key, value in {
            "verb": verb,
            "resource": resource,
            "name": name,
            "namespace": namespace,
            "subresource": subresource,
        }.items()
        if value is not None
    }
    return lambda seen: all(getattr(seen, key) == value for key, value in wanted.items())


def nth_write(number: int, *, of: Condition | None = None) -> Condition:
    """True for the write number `number`, counted from 1 and from now on, among those for which `of` is true."""
    count = 0

    def is_it(seen: Seen) -> bool:
        nonlocal count
        if not seen.is_write or seen.is_dry_run or (of is not None and not of(seen)):
            return False
        count += 1
        return count == number

    return is_it
