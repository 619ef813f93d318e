"""What the watch has shown of pods and nodes, indexed for the questions that the loop asks.

The cache is written by the two informers only. It keeps the planner's books in step with each event, so that a
snapshot costs an array copy, and it numbers the events: since kube-scheduler reads pods from the same ordered stream,
a pod that became schedulable after a nomination was seen can't take the nominated room.

Beside what the API shows it holds *assumptions*: a node planned for a pod whose nomination the watch has not shown yet.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Protocol

from ganglift.api.names import DEFAULT_SCHEDULER, FENCE_LABEL
from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.base.ids import Key, Uid
from ganglift.engine.facts import Facts
from ganglift.engine.look import member_of
from ganglift.engine.mounting import Mounting
from ganglift.plan.books import Books, Kind
from ganglift.plan.request import Member
from ganglift.plan.snapshot import Snapshot


class Listener(Protocol):
    """Who wants to know when it is time to look again."""

    def group_changed(self, key: Key) -> None:
        """A pod that bears this group's label came, changed or went."""
        ...

    def member_ends(self, pod: Pod) -> None:
        """A bound pod that bears a group's label has failed, is being deleted, or is gone."""
        ...

    def pod_left(self, pod: Pod) -> None:
        """A pod that was bound has left its node: it has ended or is gone."""
        ...

    def pinned_changed(self, node: str) -> None:
        """A pending pod that can go to this node alone has come, has changed, was bound or is gone."""
        ...

    def capacity_grew(self, by: Key | None = None) -> None:
        """There is more room than before: a node came or changed, or a bound pod went, one of group `by` or of none."""
        ...

    def room_returned(self) -> None:
        """Room that was only kept, for a nomination, is kept no more."""
        ...

    def volumes_changed(self, key: Key) -> None:
        """What the volumes of this group's pods depend on has changed, which may be what it failed on."""
        ...


class Expectation:
    """Waits for the watch to show something of each of a set of pods; a pod that goes is no longer waited for."""

    def __init__(self, uids: Iterable[Uid], met: Callable[[Pod], bool]) -> None:
        self.waiting = set(uids)
        self._met = met
        self._done = asyncio.Event()

    def see(self, uid: Uid, pod: Pod | None) -> None:
        if uid in self.waiting and (pod is None or self._met(pod)):
            self.waiting.discard(uid)
        if not self.waiting:
            self._done.set()

    async def wait(self, timeout_s: float) -> bool:
        """Return whether all was seen in time."""
        if not self.waiting:
            return True
        try:
            async with asyncio.timeout(timeout_s):
                await self._done.wait()
        except TimeoutError:
            return False
        return True


class Cache:
    """Pods and nodes as last shown by the watch. Not thread-safe: one event loop writes and reads it."""

    def __init__(self, listener: Listener) -> None:
        self.books = Books()
        self.pods: dict[Uid, Pod] = {}
        self.sequence = 0
        """Number of the last pod event."""
        self.nodes_made: dict[str, datetime] = {}
        self._listener = listener
        self._by_group: dict[Key, dict[Uid, Pod]] = {}
        self._loose: dict[Uid, int] = {}
        self._nominated_at: dict[Uid, int] = {}
        self._assumed: dict[Uid, str] = {}
        self._reserved: set[Uid] = set()
        self._lifting: set[Uid] = set()
        self._priority_of: dict[Uid, int] = {}
        self.priorities: Counter[int] = Counter()
        """How many pods have their place for good, by priority."""
        self._expectations: list[Expectation] = []
        self._snapshot: Snapshot | None = None
        self._members: dict[Uid, tuple[Pod, Member]] = {}
        self._mounting = Mounting(self.books.ledger)
        self.facts = Facts(self.books, self._mounting, listener, self._count_again, self._has_pods_in)
        """What there is beside pods and nodes."""
        self._ordered_since = 0

    # Questions

    def snapshot(self) -> Snapshot:
        """Return the books as they are now; the same value until they change."""
        if self._snapshot is None or self._snapshot.version != self.books.version:
            self._snapshot = self.books.snapshot()
        return self._snapshot

    def pods_of(self, key: Key) -> tuple[Pod, ...]:
        """All pods that bear the group's label."""
        return tuple(self._by_group.get(key, {}).values())

    def member(self, pod: Pod) -> Member:
        """Return the pod as the planner is asked about it; made once for each state of a pod."""
        known = self._members.get(pod.uid)
        if known is None or known[0] is not pod:
            known = self._members[pod.uid] = (pod, member_of(pod))
        return known[1]

    def reserved_uids(self) -> frozenset[Uid]:
        """Gated pods that hold a nomination, seen or assumed."""
        return frozenset(self._reserved)

    def loose(self) -> Iterable[tuple[Pod, int]]:
        """Pods that kube-scheduler may bind at any moment, each with the event number since when it may."""
        return ((self.pods[uid], since) for uid, since in self._loose.items())

    def nominated_at(self, uid: Uid) -> int:
        """Event number from which it is certain that the pod's present nomination stands; the newest if it has none.

        Of what a listing showed nobody can tell which came first, so it counts as known at the end of the listing.
        """
        return max(self._nominated_at.get(uid, self.sequence), self._ordered_since)

    def adrift(self) -> Iterator[Pod]:
        """Pods that kube-scheduler is binding to a node that nothing shows yet."""
        for uid in self._mounting.being_bound():
            if not self._mounting.selected_node(uid) and not self.planned_node(self.pods[uid]):
                yield self.pods[uid]

    def planned_node(self, pod: Pod) -> str:
        """The node that room is kept on for the pod, seen or assumed; empty if there is none."""
        return self._assumed.get(pod.uid) or pod.nominated

    # Assumptions

    def assume(self, uid: Uid, node: str) -> None:
        """Count the pod on a node from now on, until the watch shows the nomination or `forget` is called."""
        self._assumed[uid] = node
        if (pod := self.pods.get(uid)) is not None:
            self._account(pod)

    def lifting(self, uids: Iterable[Uid]) -> None:
        """Count reserved pods as lifted from now on, though the watch still shows their gate."""
        for uid in uids:
            if (pod := self.pods.get(uid)) is not None:
                self._lifting.add(uid)
                self._account(pod)

    def forget(self, uids: Iterable[Uid]) -> None:
        """Take assumptions back; what the API shows of the pods counts again."""
        for uid in uids:
            self._lifting.discard(uid)
            self._assumed.pop(uid, None)
            if (pod := self.pods.get(uid)) is not None:
                self._account(pod)

    def assume_nothing(self) -> None:
        """Take all assumptions back: nobody is at work."""
        self.forget({*self._assumed, *self._lifting})

    def reserved_below(self, priority: int) -> tuple[Uid, ...]:
        """Reservations that a gang of this priority need not respect, since kube-scheduler would not."""
        return tuple(uid for uid in self._reserved if self.pods[uid].spec.priority < priority)

    def expect(self, uids: Iterable[Uid], met: Callable[[Pod], bool], *, may_come: bool = False) -> Expectation:
        """Return a wait for the watch to show each of these pods in a state.

        Pods already in it are not waited for, nor those that are gone, unless they `may_come`.
        """
        expectation = Expectation(uids, met)
        for uid in tuple(expectation.waiting):
            if (pod := self.pods.get(uid)) is not None or not may_come:
                expectation.see(uid, pod)
        self._expectations = [e for e in self._expectations if e.waiting]
        self._expectations.append(expectation)
        return expectation

    # Pod events

    def disordered(self, is_begin: bool) -> None:
        """Take note that pod events come in no order from now on, or do again."""
        self._ordered_since = sys.maxsize if is_begin else self.sequence

    def replace_pods(self, pods: Iterable[Pod]) -> None:
        """Take a full list: pods not in it are gone."""
        listed = {pod.uid: pod for pod in pods}
        for gone in [pod for uid, pod in self.pods.items() if uid not in listed]:
            self.delete_pod(gone)
        for pod in listed.values():
            self.upsert_pod(pod)

    def upsert_pod(self, pod: Pod) -> None:
        """Take a pod that was made or changed."""
        self.sequence += 1
        old = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        self._index(pod, old)
        if self._assumed.get(pod.uid) and (pod.is_bound or pod.nominated == self._assumed[pod.uid]):
            del self._assumed[pod.uid]
        self._mounting.see(pod)
        self._account(pod)
        self._tell(pod.uid, pod)

    def delete_pod(self, pod: Pod) -> None:
        """Take the end of a pod."""
        self.sequence += 1
        old = self.pods.pop(pod.uid, None)
        if old is None:
            return
        for index in (self._loose, self._nominated_at, self._assumed, self._members):
            index.pop(pod.uid, None)
        self._reserved.discard(pod.uid)
        self._lifting.discard(pod.uid)
        self._mounting.forget(pod.uid)
        self._rank(pod, is_bound=False)
        if self.books.kind_of(pod.uid) is Kind.PINNED:
            self._listener.pinned_changed(self.books.node_of(pod.uid) or "")
        if (key := old.group) is not None:
            self._leave(key, old.uid)
            self._listener.group_changed(key)
            self._tell_of_end(pod)
        if self.books.remove(pod.uid):
            self._freed(old)
        self._tell(pod.uid, None)

    # Node events

    def replace_nodes(self, nodes: Iterable[Node]) -> None:
        """Take a full list: nodes not in it are gone."""
        listed = {node.name: node for node in nodes}
        for name in [name for name in self.books.node_names() if name not in listed]:
            self._remove_node(name)
        for node in listed.values():
            self.upsert_node(node)

    def upsert_node(self, node: Node) -> None:
        """Take a node that was made or changed; a heartbeat that changes nothing for placement wakes nobody."""
        if self.books.set_node(node):
            if (made := node.metadata.creation_timestamp) is not None:
                self.nodes_made[node.name] = made
            self._listener.capacity_grew()

    def delete_node(self, node: Node) -> None:
        """Take the end of a node. Pods that name it are kept in the books: they count again if the name returns."""
        self._remove_node(node.name)
        self._listener.capacity_grew()

    def _remove_node(self, name: str) -> None:
        self.books.remove_node(name)
        self.nodes_made.pop(name, None)

    # Internals

    def _count_again(self, uids: Iterable[Uid]) -> set[Key]:
        """Take a new look at pods whose claims have changed; return their groups, which are told."""
        groups = set()
        for uid in uids:
            pod = self.pods[uid]
            self._mounting.see(pod)
            self._account(pod)
            groups |= {pod.group} if pod.group is not None else set()
        for key in sorted(groups):
            self._listener.group_changed(key)
        return groups

    def _has_pods_in(self, namespace: str) -> bool:
        """Whether pods in the namespace have a place or wait for one with a gang."""
        return self.books.has_pods_in(namespace) or any(key.namespace == namespace for key in self._by_group)

    def _index(self, pod: Pod, old: Pod | None) -> None:
        if old is not None and old.group != pod.group and old.group is not None:
            self._leave(old.group, pod.uid)
            self._listener.group_changed(old.group)
        if pod.group is not None:
            self._by_group.setdefault(pod.group, {})[pod.uid] = pod
            self._listener.group_changed(pod.group)
            self._tell_of_end(pod)
        if _is_loose(pod):
            self._loose.setdefault(pod.uid, self.sequence)
        else:
            self._loose.pop(pod.uid, None)
        if not pod.nominated:
            self._nominated_at.pop(pod.uid, None)
        elif old is None or old.nominated != pod.nominated:
            self._nominated_at[pod.uid] = self.sequence

    def _tell_of_end(self, pod: Pod) -> None:
        if pod.is_bound and (pod.has_failed or pod.is_deleting):
            self._listener.member_ends(pod)

    def _account(self, pod: Pod) -> None:
        place = self._place(pod)
        if place is not None and place[1] is Kind.RESERVED:
            self._reserved.add(pod.uid)
        else:
            self._reserved.discard(pod.uid)
        self._rank(pod, is_bound=place is not None and place[1] is Kind.BOUND)
        before = self.books.node_of(pod.uid), self.books.kind_of(pod.uid)
        has_changed = self.books.remove(pod.uid) if place is None else self.books.place(pod, *place)
        if before[1] is Kind.PINNED or (place is not None and place[1] is Kind.PINNED):
            self._listener.pinned_changed(before[0] or (place[0] if place is not None else ""))
        if before[0] is not None and (place is None or place[0] != before[0]):
            self._freed(pod)
        elif has_changed and place == before:
            # Where it was and as it was, so its size or its labels have changed: others may fit now.
            self._listener.capacity_grew(pod.group)

    def _rank(self, pod: Pod, *, is_bound: bool) -> None:
        if is_bound and self._priority_of.get(pod.uid) == pod.spec.priority:
            return
        if (old := self._priority_of.pop(pod.uid, None)) is not None:
            self.priorities[old] -= 1
            if not self.priorities[old]:
                del self.priorities[old]
        if is_bound:
            self._priority_of[pod.uid] = pod.spec.priority
            self.priorities[pod.spec.priority] += 1

    def _freed(self, pod: Pod) -> None:
        """Tell that a pod has left the place it had in the books."""
        if pod.is_bound and self.books.node_of(pod.uid) is None:
            self._listener.pod_left(pod)
            self._listener.capacity_grew(pod.group)
        else:
            self._listener.room_returned()

    def _place(self, pod: Pod) -> tuple[str, Kind] | None:
        if pod.is_over:
            return None
        if pod.is_bound:
            return pod.spec.node_name, Kind.TERMINATING if pod.is_deleting else Kind.BOUND
        if node := self._mounting.selected_node(pod.uid):
            return node, Kind.LIFTED
        if node := self.planned_node(pod):
            return node, Kind.RESERVED if pod.is_gated and pod.uid not in self._lifting else Kind.LIFTED
        if not pod.is_gated and FENCE_LABEL not in pod.metadata.labels and (node := pinned_node(pod)):
            return node, Kind.PINNED
        return None

    def _leave(self, key: Key, uid: Uid) -> None:
        pods = self._by_group.get(key, {})
        pods.pop(uid, None)
        if not pods:
            self._by_group.pop(key, None)

    def _tell(self, uid: Uid, pod: Pod | None) -> None:
        for expectation in self._expectations:
            expectation.see(uid, pod)


def pinned_node(pod: Pod) -> str:
    """The one node that the pod's affinity names by `metadata.name`, as a DaemonSet's pods do; empty if none."""
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    names = {
        field.values
        for term in terms
        for field in term.match_fields
        if (field.key, field.operator) == ("metadata.name", "In")
    }
    only = names.pop() if len(names) == 1 and len(terms) == 1 else ()
    return only[0] if len(only) == 1 else ""


def _is_loose(pod: Pod) -> bool:
    return not (
        pod.is_bound or pod.is_gated or pod.is_over or pod.is_deleting or pod.spec.scheduler_name != DEFAULT_SCHEDULER
    )
