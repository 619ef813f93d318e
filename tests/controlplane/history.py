"""An independent watch: what an observer who knows nothing but the Kubernetes API saw happen to pods, in order.

It shares no code and no connection with the operator, so that what it says can be held against the operator: names are
spelled out here once more, and the stream is read as it comes. Each pod, told by its uid, has a `Life`.

    with History(cluster.playground.client) as history:
        ...
        history.catch_up()
        assert not any(life.was_bound for life in history.lives("train-workers"))
"""

import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from tests.controlplane.watch import Object, Watch

from ganglift.playground.client import ApiClient

_PODS = "/api/v1/pods"
_GATE = "scheduling.ganglift.dev/gang"
_GROUP = "scheduling.ganglift.dev/pod-group"


@dataclass(frozen=True, slots=True)
class Event:
    """A pod as it was when the API server told of it; `at` is the time of arrival on the monotonic clock."""

    at: float
    kind: str
    pod: Object

    @property
    def is_gated(self) -> bool:
        return any(gate["name"] == _GATE for gate in self.pod["spec"].get("schedulingGates", ()))

    @property
    def node(self) -> str:
        return str(self.pod["spec"].get("nodeName", ""))

    @property
    def nominated(self) -> str:
        return str(self.pod.get("status", {}).get("nominatedNodeName", ""))

    @property
    def is_leaving(self) -> bool:
        """Whether it is deleted, or being deleted."""
        return self.kind == "DELETED" or "deletionTimestamp" in self.pod["metadata"]

    @property
    def is_refused(self) -> bool:
        """Whether kube-scheduler has tried to place it and found no node."""
        conditions = self.pod.get("status", {}).get("conditions", ())
        return any(c["type"] == "PodScheduled" and c.get("reason") == "Unschedulable" for c in conditions)


@dataclass(frozen=True, slots=True)
class Trouble:
    """A member that was let loose and found no node: from when, and until it got a place or was taken back."""

    pod: str
    began: float
    ended: float | None

    def lasted_s(self, now: float) -> float:
        return (now if self.ended is None else self.ended) - self.began


@dataclass(frozen=True, slots=True)
class Life:
    """All events of one pod, in order; there is at least one."""

    events: tuple[Event, ...]

    @classmethod
    def of(cls, pod: Object) -> Self:
        """The life of a pod of which only the present is known."""
        return cls((Event(time.monotonic(), "ADDED", pod),))

    @property
    def name(self) -> str:
        return str(self.events[0].pod["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.events[0].pod["metadata"]["namespace"])

    @property
    def group(self) -> str:
        return str(self.events[0].pod["metadata"].get("labels", {}).get(_GROUP, ""))

    @property
    def owner(self) -> str:
        """The uid of its controller, empty if it has none."""
        owners = self.events[0].pod["metadata"].get("ownerReferences", ())
        return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")

    @property
    def ungated_at(self) -> float | None:
        """When it was first seen without our gate."""
        return next((event.at for event in self.events if not event.is_gated), None)

    @property
    def bound_at(self) -> float | None:
        return next((event.at for event in self.events if event.node), None)

    @property
    def gone_at(self) -> float | None:
        """When it was gone from the API; its node's room is free from then on."""
        return next((event.at for event in self.events if event.kind == "DELETED"), None)

    @property
    def was_bound(self) -> bool:
        return self.bound_at is not None

    @property
    def was_ungated(self) -> bool:
        return self.ungated_at is not None

    @property
    def node(self) -> str:
        """The node it was bound to; empty if it never was."""
        return self.events[-1].node

    @property
    def nominations(self) -> tuple[str, ...]:
        """The nodes that room was kept on for it before it was bound, one after the other."""
        nodes = [event.nominated for event in self.events if event.nominated and not event.node]
        return tuple(node for at, node in enumerate(nodes) if at == 0 or nodes[at - 1] != node)

    @property
    def is_there(self) -> bool:
        return not self.events[-1].is_leaving

    @property
    def holds_place(self) -> bool:
        """Whether it is bound and stays, as far as can be seen."""
        return bool(self.node) and self.is_there

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """The times in which it was let loose without having a place."""
        found: list[Trouble] = []
        began, nomination = None, ""
        for event in self.events:
            if began is None:
                if event.is_refused and not (event.is_gated or event.node or event.is_leaving):
                    began = event.at
            elif event.node or event.is_leaving or event.nominated not in ("", nomination):
                found.append(Trouble(self.name, began, event.at))
                began = None
            nomination = event.nominated
        return (*found, Trouble(self.name, began, None)) if began is not None else tuple(found)


class History:
    """Watches the pods of all namespaces from `with` on."""

    def __init__(self, client: ApiClient) -> None:
        self._events: dict[str, list[Event]] = {}
        self._lock = threading.Lock()
        self._watch = Watch(client, _PODS, self._note)

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._watch.stop()
        if kind is None:
            self._watch.check()

    def lives(self, group: str | None = None, *, namespace: str = "default") -> list[Life]:
        """The pods seen in the namespace, or of them the group's, in the order of their first events."""
        with self._lock:
            lives = [Life(tuple(events)) for events in self._events.values()]
        return [life for life in lives if life.namespace == namespace and (group is None or life.group == group)]

    def catch_up(self) -> None:
        """Return when all that the API shows now has been seen here."""
        self._watch.catch_up()

    def _note(self, kind: str, pod: Object) -> None:
        with self._lock:
            self._events.setdefault(pod["metadata"]["uid"], []).append(Event(time.monotonic(), kind, pod))
