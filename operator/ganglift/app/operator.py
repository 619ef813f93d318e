"""The operator as one process: what it starts, in which order, and how it ends.

1. settings and credentials; is the API server there, are our kinds served, are all rights given
2. informers of pods, nodes and what else planning knows, kopf for our kinds and Jobs: these run on every replica, so a
   standby knows the state
3. once the first lists are read: the Lease, and while it is held, the engine

SIGTERM and SIGINT end it in the opposite order; the Lease is let go, so the next replica starts at once. Whatever was
under way is found again in the API by the next leader.
"""

import asyncio
import gc
import logging
import os
import secrets
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import kopf

from ganglift import __version__, handlers
from ganglift.api.classes import PriorityClass
from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.app.cluster import check_kinds, provide_namespace
from ganglift.app.health import serving
from ganglift.app.metrics import Source, registry_of
from ganglift.app.permissions import check_permissions
from ganglift.app.reign import Reign
from ganglift.app.watching import watch
from ganglift.base.clock import SystemClock
from ganglift.base.settings import Settings
from ganglift.engine.engine import Engine
from ganglift.engine.executor import Executor
from ganglift.engine.feeds import NodeFeed, PodFeed, ledger_informers
from ganglift.kube.client import Limits
from ganglift.kube.credentials import Credentials
from ganglift.kube.events import Recorder
from ganglift.kube.http import HttpClient
from ganglift.kube.informer import Informer
from ganglift.kube.lease import Elector
from ganglift.kube.resources import LEASES, NODES, PODS, PRIORITY_CLASSES, Ref

log = logging.getLogger(__name__)

LEASE = "ganglift"
"""Name of the Lease, in the operator's namespace."""
GC_THRESHOLD = (100_000, 50, 1_000)
"""A full collection walks every mirrored pod and holds the event loop: 0.4 s at 20,000 pods with the defaults."""
LEASE_LIMITS = Limits(qps=10, burst=20, max_in_flight=2, request_timeout_s=5)
"""Renewals must not queue behind a gang's requests."""
EVENT_LIMITS = Limits(qps=20, burst=100, max_in_flight=4)
"""News must not slow gangs."""


class _Alone:
    """Leadership without an election: for a single replica, by the user's word."""

    is_leading = True


class Operator:
    """Everything that `ganglift run` runs."""

    def __init__(self, settings: Settings, kubeconfig: Path | None) -> None:
        self._settings = settings
        self._clock = SystemClock()
        self._credentials = Credentials.from_environment(kubeconfig)

    async def run(self) -> None:
        """Run until SIGTERM or SIGINT. Raises GangliftError where there is nothing to run on."""
        gc.set_threshold(*GC_THRESHOLD)
        async with HttpClient(self._credentials, Limits(qps=self._settings.qps)) as client:
            await check_kinds(client)
            await provide_namespace(client, self._settings.namespace)
            await check_permissions(client, self._settings.namespace, LEASE)
            work = asyncio.ensure_future(self._work(client))
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, work.cancel)
            with suppress(asyncio.CancelledError):
                await work

    async def _work(self, client: HttpClient) -> None:
        identity = _identity()
        reign = Reign()
        elector = Elector(
            client.with_limits(LEASE_LIMITS), self._lease, identity, quiesce=reign.ended, clock=self._clock
        )
        recorder = Recorder(client.with_limits(EVENT_LIMITS), instance=identity, clock=self._clock)
        leadership = elector if self._settings.leader_elect else _Alone()
        executor = Executor(client, leadership, recorder)
        engine = Engine(self._settings, executor, self._clock)
        pods = Informer(
            client,
            PODS,
            Pod.model_validate_json,
            PodFeed(engine.cache),
            clock=self._clock,
            disordered=engine.cache.disordered,
        )
        nodes = Informer(client, NODES, Node.model_validate_json, NodeFeed(engine.cache), clock=self._clock)
        classes = Informer(
            client, PRIORITY_CLASSES, PriorityClass.model_validate_json, engine.classes, clock=self._clock
        )
        others = ledger_informers(client, engine.cache.facts, self._clock)
        watches: tuple[Informer[Any], ...] = (pods, nodes, classes, *(informer for informer, _ in others))
        metrics = registry_of(Source(engine, client, leadership, recorder, watches))
        registry = kopf.OperatorRegistry()
        kinds = handlers.register(registry, client, executor, engine, self._clock)

        def is_ready() -> bool:
            is_settled = all(feed.settled.is_set() for _, feed in others)
            return is_settled and all(source.is_synced for source in (pods, nodes, classes, kinds))

        async def lead() -> None:
            log.info("leading", extra={"version": __version__})
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(engine.run(), name="engine")
                tasks.create_task(kinds.run(), name="kinds")

        async with serving(self._settings.http_port, is_ready, metrics), asyncio.TaskGroup() as tasks:
            tasks.create_task(nodes.run(), name="nodes")
            tasks.create_task(pods.run(), name="pods")
            tasks.create_task(classes.run(), name="classes")
            for informer, feed in others:
                tasks.create_task(informer.run(), name=f"watch of {feed.kind.__name__}")
            tasks.create_task(recorder.run(), name="events")
            tasks.create_task(watch(registry, client, self._credentials, self._clock), name="kopf")
            await asyncio.gather(pods.synced(), nodes.synced(), classes.synced(), kinds.synced())
            await asyncio.gather(*(feed.settled.wait() for _, feed in others))
            if self._settings.leader_elect:
                tasks.create_task(elector.run(), name="lease")
                tasks.create_task(reign.run(elector, lead), name="reign")
            else:
                tasks.create_task(lead(), name="reign")

    @property
    def _lease(self) -> Ref:
        return LEASES.ref(LEASE, self._settings.namespace)


def _identity() -> str:
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}"
