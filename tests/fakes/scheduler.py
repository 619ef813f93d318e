"""A fake kube-scheduler on the fake API server: slow to see, quick to decide, slow to write, as the real one.

It reads pods and nodes from one ordered stream, decides from what it has read, and writes what it has decided one after
another, so that a pod it had decided about before it read a nomination is still bound onto that room later. A test
drives it step by step (`read`, `decide`, `write`), or runs it as a task (`run`).

What it keeps of the real one: a nominated node is tried first; nominations, of gated pods too, count against pods of
equal or lower priority; a pod that finds no place is marked Unschedulable and loses its nomination, unless it may not
preempt or waits for its victims to leave; it is tried again after a back-off when something has changed. 1.34 forgets
the nominations of gated pods when it is restarted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.fakes.apiserver.api import Target
from tests.fakes.apiserver.core import Core
from tests.fakes.apiserver.deletion import delete
from tests.fakes.apiserver.pods import set_condition
from tests.fakes.apiserver.refusals import Refusal
from tests.fakes.apiserver.store import Change, Place, Stored
from tests.support.kube_filters import World, refusals

from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.base.ids import Uid
from ganglift.kube.client import PatchType
from ganglift.kube.resources import LEASES, NODES, PODS, Resource

BACKOFF_FIRST_S, BACKOFF_LONGEST_S = 1.0, 10.0
NAME = "default-scheduler"


@dataclass
class _Attempt:
    """A pod in the queue: how often it was tried, when it may be tried again, and whether there is reason to."""

    order: int
    tries: int = 0
    not_before: float = 0.0
    is_worth_it: bool = True


class FakeScheduler:
    """See the module. `sees_late_s` is how long events take to reach it."""

    def __init__(self, core: Core, *, sees_late_s: float = 0.001, write_every_s: float = 0.0) -> None:
        self._core = core
        self._sees_late_s = sees_late_s
        self._write_every_s = write_every_s
        self._unread: deque[tuple[Resource, Change]] = deque()
        self._woken = asyncio.Event()
        self._may_run = asyncio.Event()
        self._may_run.set()
        self._order = 0
        self._processes = 0
        core.api.store.observe(self._notice)
        self.restart()

    def restart(self) -> None:
        """Begin anew with a list, as a new process does: what was decided and not written is lost."""
        self._take_lease()
        self.pods: dict[Uid, Pod] = {}
        self.nodes: dict[str, Node] = {}
        self.decided: dict[Uid, str] = {}
        self.writes: deque[Callable[[], None]] = deque()
        self._queue: dict[Uid, _Attempt] = {}
        self._victims: dict[Uid, frozenset[Uid]] = {}
        self._unheeded: set[Uid] = set()
        self._placed: dict[Uid, Pod] = {}
        self._unread.clear()
        for stored in self._core.api.store.table(NODES).objects.values():
            self._take(NODES, Change("ADDED", stored, None))
        for stored in self._core.api.store.table(PODS).objects.values():
            self._take(PODS, Change("ADDED", stored, None))
        if self._core.api.minor < 35:
            self._unheeded = {uid for uid, pod in self.pods.items() if pod.is_gated}
        self._woken.set()

    def _take_lease(self) -> None:
        """Lead, as the real one does: its Lease names the process."""
        self._processes += 1
        name, api = "kube-scheduler", self._core.api
        lease = {"metadata": {"name": name}, "spec": {"holderIdentity": f"{name}-{self._processes}"}}
        target = api.target(LEASES, "kube-system", name)
        if api.store.get(LEASES, ("kube-system", name)) is None:
            api.create(target, lease)
        else:
            api.patch(target, PatchType.MERGE, lease)

    def stop(self) -> None:
        """Stand still in the middle of whatever is under way, as after SIGSTOP."""
        self._may_run.clear()

    def go_on(self) -> None:
        self._may_run.set()

    # Steps

    def read(self, at_most: int | None = None) -> int:
        """Take the next events; return how many there were."""
        count = len(self._unread) if at_most is None else min(at_most, len(self._unread))
        for _ in range(count):
            self._take(*self._unread.popleft())
        return count

    def decide(self) -> bool:
        """Look at the pod whose turn it is; return False where it is nobody's."""
        pod = self._next()
        if pod is None:
            return False
        node = self._place_for(pod)
        if node is not None:
            del self._queue[pod.uid]
            self.decided[pod.uid] = node
            self._placed[pod.uid] = pod
            self.writes.append(partial(self._bind, pod, node))
        else:
            self._fail(pod)
        return True

    def write(self) -> bool:
        """Carry out the oldest decision; return False where none is left."""
        if not self.writes:
            return False
        self.writes.popleft()()
        return True

    def work(self) -> None:
        """Read, decide and write all that there is now."""
        while self.read() or self.decide() or self.write():
            pass

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._may_run.wait()
            self.read()
            while self.decide():
                pass
            if self.writes:
                await asyncio.sleep(self._write_every_s)
                await self._may_run.wait()
                self.write()
                continue
            self._woken.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._next_in_s())
            await asyncio.sleep(self._sees_late_s)

    # What it sees

    def _notice(self, resource: Resource, place: Place, change: Change) -> None:
        if resource in (PODS, NODES):
            self._unread.append((resource, change))
            self._woken.set()

    def _take(self, resource: Resource, change: Change) -> None:
        if resource == NODES:
            node = Node.model_validate_json(change.stored.json)
            self.nodes.pop(node.name, None)
            if change.type != "DELETED":
                self.nodes[node.name] = node
                self._try_again(self._queue)
        elif change.type == "DELETED":
            self._forget(Uid(change.stored.uid))
        else:
            self._take_pod(Pod.model_validate_json(change.stored.json))

    def _take_pod(self, pod: Pod) -> None:
        old = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        self._placed.pop(pod.uid, None)
        if pod.is_bound or pod.nominated or pod.uid in self.decided:
            self._placed[pod.uid] = pod
        self._unheeded.discard(pod.uid)
        if pod.is_bound:
            self.decided.pop(pod.uid, None)
        if not self._is_pending(pod):
            self._queue.pop(pod.uid, None)
        elif pod.uid not in self._queue and pod.uid not in self.decided:
            self._order += 1
            self._queue[pod.uid] = _Attempt(self._order)
        elif old is not None and (old.spec, old.nominated) != (pod.spec, pod.nominated):
            self._try_again([pod.uid])
        if old is not None and (_gave_way(old, pod)):
            self._try_again(self._queue)

    def _forget(self, uid: Uid) -> None:
        for index in (self.pods, self.decided, self._queue, self._victims, self._placed):
            index.pop(uid, None)
        self._try_again(self._queue)

    def _try_again(self, uids: Iterable[Uid]) -> None:
        for uid in uids:
            if uid in self._queue:
                self._queue[uid].is_worth_it = True

    @staticmethod
    def _is_pending(pod: Pod) -> bool:
        ours = pod.spec.scheduler_name == NAME and not pod.spec.scheduling_group
        return ours and not (pod.is_bound or pod.is_gated or pod.is_over or pod.is_deleting)

    # What it decides

    def _next(self) -> Pod | None:
        now = self._core.clock.monotonic()
        due = [uid for uid, attempt in self._queue.items() if attempt.is_worth_it and attempt.not_before <= now]
        first = min(due, key=lambda uid: (-self.pods[uid].spec.priority, self._queue[uid].order), default=None)
        return self.pods[first] if first is not None else None

    def _next_in_s(self) -> float | None:
        times = [attempt.not_before for attempt in self._queue.values() if attempt.is_worth_it]
        return max(0.0, min(times) - self._core.clock.monotonic()) if times else None

    def _place_for(self, pod: Pod) -> str | None:
        nominated = self.nodes.get(pod.nominated)
        if nominated is not None and self._fits(pod, nominated):
            return nominated.name
        return next((name for name in sorted(self.nodes) if self._fits(pod, self.nodes[name])), None)

    def _fits(self, pod: Pod, node: Node, without: Iterable[Uid] = ()) -> bool:
        """Whether the pod fits with and without the nominations that it must respect."""
        gone = {pod.uid, *without}
        others = [other for uid, other in self._placed.items() if uid not in gone]
        held = [(other, name) for other in others if (name := self._held(other))]
        if refusals(World(tuple(self.nodes.values()), held), pod, node):
            return False
        kept = [
            (other, other.nominated)
            for other in others
            if self._is_nominated(other) and other.spec.priority >= pod.spec.priority
        ]
        return not kept or not refusals(World(tuple(self.nodes.values()), held + kept), pod, node)

    def _held(self, pod: Pod) -> str:
        return "" if pod.is_over else pod.spec.node_name or self.decided.get(pod.uid, "")

    def _is_nominated(self, pod: Pod) -> bool:
        is_open = not (pod.is_over or pod.is_bound) and pod.uid not in self.decided
        return bool(pod.nominated) and is_open and pod.uid not in self._unheeded

    def _fail(self, pod: Pod) -> None:
        attempt = self._queue[pod.uid]
        pause_s = min(BACKOFF_FIRST_S * 2.0**attempt.tries, BACKOFF_LONGEST_S)
        attempt.tries, attempt.is_worth_it = attempt.tries + 1, False
        attempt.not_before = self._core.clock.monotonic() + pause_s
        nominated = pod.nominated
        if pod.spec.preemption_policy != "Never" and not self._waits_for_victims(pod):
            nominated = self._preempt(pod)
        self.writes.append(partial(self._mark, pod, nominated))

    def _waits_for_victims(self, pod: Pod) -> bool:
        return bool(pod.nominated) and any(uid in self.pods for uid in self._victims.get(pod.uid, ()))

    def _preempt(self, pod: Pod) -> str:
        """Choose victims, have them deleted, and return the node; an empty name where that helps nobody."""
        options = [(len(victims), name) for name in self.nodes if (victims := self._victims_on(pod, name))]
        if not options:
            return ""
        name = min(options)[1]
        victims = self._victims_on(pod, name)
        self._victims[pod.uid] = frozenset(victim.uid for victim in victims)
        self.writes.extend(partial(self._delete, victim) for victim in victims)
        for other in self.pods.values():
            if self._is_nominated(other) and other.nominated == name and other.spec.priority < pod.spec.priority:
                self.writes.append(partial(self._unnominate, other))
        return name

    def _victims_on(self, pod: Pod, name: str) -> list[Pod]:
        lower = [o for o in self.pods.values() if o.spec.node_name == name and o.spec.priority < pod.spec.priority]
        lower = [other for other in lower if not (other.is_over or other.is_deleting)]
        if not self._fits(pod, self.nodes[name], [other.uid for other in lower]):
            return []
        for spared in sorted(lower, key=lambda other: (-other.spec.priority, other.name)):
            rest = [other for other in lower if other is not spared]
            if rest and self._fits(pod, self.nodes[name], [other.uid for other in rest]):
                lower = rest
        return lower

    # What it writes

    def _bind(self, pod: Pod, node: str) -> None:
        try:
            self._core.api.bind(self._target(pod), {"metadata": {"uid": pod.uid}, "target": {"name": node}})
        except Refusal:
            self.decided.pop(pod.uid, None)

    def _mark(self, pod: Pod, nominated: str) -> None:
        """Write the condition and, where this attempt changed it, the nomination, whatever stands there by now."""
        obj = self._stored(pod)
        if obj is None:
            return
        message = f"0/{len(self.nodes)} nodes are available"
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        set_condition(obj, condition, self._core.api.store.timestamp())
        if nominated != pod.nominated:
            obj["status"].pop("nominatedNodeName", None)
            obj["status"] |= {"nominatedNodeName": nominated} if nominated else {}
        self._core.api.commit(self._target(pod), obj)

    def _unnominate(self, pod: Pod) -> None:
        if (obj := self._stored(pod)) is not None:
            obj["status"].pop("nominatedNodeName", None)
            self._core.api.commit(self._target(pod), obj)

    def _delete(self, victim: Pod) -> None:
        with suppress(Refusal):
            delete(self._core.api, self._target(victim), {"preconditions": {"uid": victim.uid}})

    def _stored(self, pod: Pod) -> dict[str, Any] | None:
        stored: Stored | None = self._core.api.store.get(PODS, (pod.metadata.namespace, pod.name))
        return stored.copy() if stored is not None and stored.uid == pod.uid else None

    def _target(self, pod: Pod) -> Target:
        return self._core.api.target(PODS, pod.metadata.namespace, pod.name)


def _gave_way(old: Pod, new: Pod) -> bool:
    """Whether a pod holds less than before."""
    ended = new.is_over and not old.is_over
    return ended or (bool(old.nominated) and old.nominated != new.nominated and not new.is_bound)
