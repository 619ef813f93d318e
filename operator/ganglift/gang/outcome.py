"""What came of the last look at a gang: the seam between the engine, which decides, and status, which shows.

    Waiting          gather     not enough members, or something that is not room is in the way
    Unschedulable    plan       does not fit
    Reserved         reserve    all places are kept, being confirmed (with the competitor that made a fence necessary)
    FenceUnavailable confirm    there is competition and no fence could be had
    LiftRefused      lift       the API server refused
    Lifting          lift       gates are being removed
    Settling         settle     kube-scheduler binds
    Stuck            settle     failed, and bare pods can't be taken back
    BackOff          any        the next attempt comes later
    Preempting       queue      lower pods are being evicted, their room is reserved
    Held             queue      waits with a hold on named nodes

Each has a `reason` and a `message`; both stay the same as long as nothing changed, so that nothing is written.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from ganglift.base.wording import clause, counted
from ganglift.gang.reasons import Reason
from ganglift.plan.words import unjudged_words


@dataclass(frozen=True)
class Waiting:
    """Not ready to be planned; `gather` makes these, and the engine where something outside the gang is in the way."""

    reason: Reason
    message: str


@dataclass(frozen=True)
class Place:
    """A place in the queue, from 1, of all that wait for room; `ahead` names the nearest of those before it."""

    number: int
    of: int
    ahead: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.ahead:
            return f"first of {self.of} in the queue"
        more = self.number - 1 - len(self.ahead)
        rest = f" and {more} more" if more else ""
        return f"place {self.number} of {self.of} in the queue, behind {', '.join(self.ahead)}{rest}"


@dataclass(frozen=True)
class Unschedulable:
    """The plan says no; `words` are those of the verdict (plan.words), `place` is there where others wait as well."""

    reason: ClassVar[Reason] = Reason.UNSCHEDULABLE
    words: str
    place: Place | None = None

    @property
    def message(self) -> str:
        return self.words if self.place is None else f"{self.words}; {self.place}"


@dataclass(frozen=True)
class Reserved:
    """`placed` members hold a place; `competitor` names the pod that a fence waits for, if any.

    `unjudged` is what the planner has no rule for, here as in the following steps: kube-scheduler may yet refuse.
    """

    reason: ClassVar[Reason] = Reason.RESERVED
    placed: int
    competitor: str = ""
    unjudged: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        words = f"{clause(self.placed, 'member', 'holds', 'hold')} a place"
        fence = f"a fence makes sure that nobody else is on the way there: {self.competitor}" if self.competitor else ""
        return _and(words, fence, unjudged_words(self.unjudged))


@dataclass(frozen=True)
class FenceUnavailable:
    """The fence could not be made, or kube-scheduler did not answer; `why` says which."""

    reason: ClassVar[Reason] = Reason.FENCE_UNAVAILABLE
    why: str
    competitor: str = ""

    @property
    def message(self) -> str:
        against = f" against {self.competitor}" if self.competitor else ""
        return f"no fence{against}: {self.why}"


@dataclass(frozen=True)
class LiftRefused:
    """The API server refused the lift of `pod` in these words."""

    reason: ClassVar[Reason] = Reason.LIFT_REFUSED
    pod: str
    words: str

    @property
    def message(self) -> str:
        return f"removing the gate of pod {self.pod} was refused: {self.words}"


@dataclass(frozen=True)
class Lifting:
    """`lifted` of `of` planned members have lost their gate."""

    reason: ClassVar[Reason] = Reason.LIFTING
    lifted: int
    of: int
    unjudged: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        words = f"{self.lifted} of {counted(self.of, 'member')} released"
        if self.lifted == 0:
            words = f"{counted(self.of, 'member')} being released"
        return _and(words, unjudged_words(self.unjudged))


@dataclass(frozen=True)
class Settling:
    """`bound` of `need` members are bound; `trouble` says what keeps the others, empty if nothing is known."""

    reason: ClassVar[Reason] = Reason.SETTLING
    bound: int
    need: int
    trouble: str = ""
    unjudged: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        words = f"{self.bound} of {counted(self.need, 'member')} bound"
        return _and(f"{words}: {self.trouble}" if self.trouble else words, unjudged_words(self.unjudged))


@dataclass(frozen=True)
class Stuck:
    """These pods have no owner that would make them again, so they stay as they are."""

    reason: ClassVar[Reason] = Reason.STUCK
    bound: int
    need: int
    pods: tuple[str, ...]

    @property
    def message(self) -> str:
        return (
            f"{self.bound} of {counted(self.need, 'member')} bound, and no owner makes these pods again: "
            f"{listed(self.pods)}; delete and create them with their gate"
        )


@dataclass(frozen=True)
class BackOff:
    """The next attempt comes at `until`; `why` is what the last one failed on."""

    reason: ClassVar[Reason] = Reason.BACK_OFF
    until: datetime
    why: str

    @property
    def message(self) -> str:
        return f"{self.why}; next attempt at {self.until:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True)
class Held:
    """Room on these nodes is held until `until`."""

    reason: ClassVar[Reason] = Reason.HELD
    nodes: tuple[str, ...]
    until: datetime
    waits_for: str = ""

    @property
    def message(self) -> str:
        words = f"room is held on {listed(self.nodes)} until {self.until:%Y-%m-%dT%H:%M:%SZ}"
        return f"{words}, waits for {self.waits_for}" if self.waits_for else words


@dataclass(frozen=True)
class Preempting:
    """Pods of lower priority are told to leave these nodes; `trouble` says what keeps them there."""

    reason: ClassVar[Reason] = Reason.PREEMPTING
    victims: int
    nodes: tuple[str, ...]
    trouble: str = ""

    @property
    def message(self) -> str:
        pods = clause(self.victims, "pod", "leaves", "leave")
        words = f"{pods} for it, room is reserved on {listed(self.nodes)}"
        return f"{words}; {self.trouble}" if self.trouble else words


Outcome = (
    Waiting
    | Unschedulable
    | Reserved
    | FenceUnavailable
    | LiftRefused
    | Lifting
    | Settling
    | Stuck
    | BackOff
    | Held
    | Preempting
)


def listed(names: tuple[str, ...], most: int = 3) -> str:
    """Return names as a sentence takes them: the first few, and how many more there are."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def _and(*parts: str) -> str:
    return "; ".join(filter(None, parts))
