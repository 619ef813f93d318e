"""kopf handlers for Workload, PodGroup and Job: what the user declared is brought into being and handed to the loop.

Each handler asks `gang` what should exist now, gives the difference to the executor and returns nothing; it is safe to
repeat, and is repeated by the sweep and by a new leader. Nothing is decided from what changed.
"""

import kopf

from ganglift.base.clock import Clock
from ganglift.engine.executor import Executor
from ganglift.handlers.lifecycle import Kinds
from ganglift.handlers.world import Loop
from ganglift.kube.client import Client

__all__ = ["Kinds", "Loop", "register"]


def register(registry: kopf.OperatorRegistry, client: Client, executor: Executor, loop: Loop, clock: Clock) -> Kinds:
    """Register the handlers with kopf; return what runs them: `synced` on every replica, `run` on the leader."""
    kinds = Kinds(client, executor, loop, clock)
    kinds.register(registry)
    return kinds
