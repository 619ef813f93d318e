"""Plays to the auditor, afterwards, what watches of several kinds saw.

The events are put in the order in which etcd took them, which their versions tell, and played with the times at which
they came: no watch that is late makes anyone look guilty.

What a proxy held back of the operator's lifts was decided when it was asked for: for that long, what was so until then
is believed to be so still. While no operator runs, or it is stopped, nobody is blamed for what is not done.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.support.audit_views import Object
from tests.support.auditor import Auditor

Span = tuple[float, float]
"""From when to when, on the monotonic clock."""

_IN_FLIGHT_S = 2.0
"""How long a request may be on its way on a busy machine."""
_STEP_S = 0.5


@dataclass(frozen=True, slots=True)
class Seen:
    """An event of a watch: when it came, of which kind of object, its type, and the object."""

    at: float
    resource: str
    kind: str
    obj: Object

    @property
    def revision(self) -> int:
        """Where the change stands among all changes of the cluster."""
        return int(self.obj["metadata"]["resourceVersion"])


def replay(seen: Sequence[Seen], attended: Sequence[Span], held: Sequence[Span], *, until: float) -> list[str]:
    """Play to an auditor what was seen, and let time pass between; return what it finds.

    `attended` are the times in which an operator was at work, `held` those in which a proxy held back a lift.
    """
    auditor = Auditor(in_flight_s=_IN_FLIGHT_S)
    now = looked_at = min((one.at for one in seen), default=until)
    for one in (*sorted(seen, key=lambda one: one.revision), None):
        now = max(now, one.at if one is not None else until)
        while looked_at + _STEP_S <= now:
            looked_at += _STEP_S
            auditor.attended_since = _since(attended, looked_at)
            auditor.in_flight_s = _in_flight_s(held, looked_at)
            auditor.pass_time(looked_at)
        if one is not None:
            auditor.in_flight_s = _in_flight_s(held, now)
            auditor.see(now, one.resource, one.kind, one.obj)
    return auditor.findings


def _since(attended: Iterable[Span], at: float) -> float:
    """Since when somebody has been at work without a pause; `at` if nobody is."""
    return min((since for since, until in attended if since <= at < until), default=at)


def _in_flight_s(held: Iterable[Span], at: float) -> float:
    since = min((begun for begun, ended in held if begun <= at <= ended + _IN_FLIGHT_S), default=at)
    return at - since + _IN_FLIGHT_S
