"""A fake API server on loopback: the real client, and the operator as a process, run against it unchanged.

It keeps what ganglift relies on: resourceVersions and their conflicts, uid preconditions, the four patch types, the
status subresource, watches with bookmarks and 410, graceful deletion, finalizers, dependents, dry runs, and the rules
of pods (gates are only ever removed, gated pods are not bound, a bound pod is not nominated). The contract tests hold
it to the real API server's behaviour. It has no scheduler, no controllers but the garbage collector, no RBAC and no
schemas.

It is its own because nothing at hand does this: kmock 0.8 answers HTTP by pattern and stores objects, but knows no
resourceVersions, preconditions, strategic merge, status subresource, or bookmarks, and a fake API server that never
says "conflict" proves nothing.
"""

from tests.fakes.apiserver.api import Api, Target
from tests.fakes.apiserver.faults import Cut, Delay, Distort, Drop, Hang, Refuse, Seen, nth_write, on
from tests.fakes.apiserver.refusals import Refusal
from tests.fakes.apiserver.server import FakeApiServer

__all__ = [
    "Api",
    "Cut",
    "Delay",
    "Distort",
    "Drop",
    "FakeApiServer",
    "Hang",
    "Refusal",
    "Refuse",
    "Seen",
    "Target",
    "nth_write",
    "on",
]
