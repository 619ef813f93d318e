"""The auditor over a test on a control plane: what independent watches saw is held against the rules when it ends.

The test pays for nothing but the reading of the streams; what was seen is played to the auditor afterwards.
"""

import threading
import time
from collections.abc import Callable, Iterable

from tests.controlplane.watch import Object, Watch
from tests.support.replay import Seen, Span, replay

from ganglift.playground.client import ApiClient

_PATHS = {
    "pods": "/api/v1/pods",
    "nodes": "/api/v1/nodes",
    "jobs.batch": "/apis/batch/v1/jobs",
    "podgroups.scheduling.ganglift.dev": "/apis/scheduling.ganglift.dev/v1beta1/podgroups",
    "workloads.scheduling.ganglift.dev": "/apis/scheduling.ganglift.dev/v1beta1/workloads",
    "jobs.batch.ganglift.dev": "/apis/batch.ganglift.dev/v1/jobs",
}


class Audit:
    """Watches a cluster from `start` on. `attended` and `held` are asked for spans of time when findings are wanted."""

    def __init__(
        self, client: ApiClient, attended: Callable[[], Iterable[Span]], held: Callable[[], Iterable[Span]]
    ) -> None:
        self._attended = attended
        self._held = held
        self._lock = threading.Lock()
        self._seen: list[Seen] = []
        self._watches = [Watch(client, path, self._notes(resource)) for resource, path in _PATHS.items()]

    def start(self) -> None:
        for watch in self._watches:
            watch.start()

    def stop(self) -> None:
        for watch in self._watches:
            watch.stop()

    def findings(self) -> list[str]:
        """What was against the rules until now."""
        for watch in self._watches:
            watch.catch_up()
        with self._lock:
            seen = tuple(self._seen)
        return replay(seen, list(self._attended()), list(self._held()), until=time.monotonic())

    def _notes(self, resource: str) -> Callable[[str, Object], None]:
        def note(kind: str, obj: Object) -> None:
            with self._lock:
                self._seen.append(Seen(time.monotonic(), resource, kind, obj))

        return note
