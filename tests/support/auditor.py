"""An auditor: holds what the API shows, event by event, against what a gang scheduler must never do.

It knows the watch streams of pods, nodes, PodGroups and Jobs, and nothing of the operator. What it finds is kept in
`findings`, a sentence each:

    I1  a gate is lifted only when as many members as are needed are bound, or nominated to nodes that are there
    I2  a gang below need does not stay lifted past its timeout, and its status says that it is not whole
    I3  at a lift, what is bound and nominated on the gang's nodes is within what they offer
    I4  with our gate no other gate goes, and it never goes while another one is left
    I7  no object bears a finalizer of ours

What was so until `in_flight_s` ago is believed to be so still: a write decided on it may have been under way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Generic, TypeVar

from tests.support.audit_views import (
    GATE,
    GROUP_BY,
    OURS,
    PART_OF,
    PART_VALUE,
    GroupKey,
    Object,
    allocatable_of,
    child_uid,
    controller_of,
    gates,
    group_of,
    is_live,
    is_over,
    key_of,
    labels,
    need_of,
    node_of,
    nominated,
    notes_of,
    phase,
    place_of,
    priority_of,
    reason_of,
    requests_of,
    timeout_s,
    uid_of,
)

K = TypeVar("K")

PARTIAL = {"Settling", "Lifting", "Reserved", "Stuck", "BackOff", "LiftRefused", "FenceUnavailable", "Scheduled"}
"""What the status of a gang may say while some of its members are let loose and fewer than needed are bound."""


class _Kept(Generic[K]):
    """Objects of one kind, with the versions that were replaced a moment ago."""

    def __init__(self) -> None:
        self.now: dict[K, Object] = {}
        self._before: dict[K, list[tuple[float, Object]]] = defaultdict(list)

    def take(self, at: float, key: K, obj: Object | None) -> Object | None:
        """Keep the newest version, None for the end; return the one before."""
        old = self.now.pop(key, None)
        if old is not None:
            self._before[key].append((at, old))
        if obj is not None:
            self.now[key] = obj
        return old

    def lately(self, key: K, since: float) -> Iterator[Object]:
        """Yield the version that is in force and those that were at any time since."""
        if key in self.now:
            yield self.now[key]
        if key in self._before:
            recent = [(until, obj) for until, obj in self._before.pop(key) if until >= since]
            if recent:
                self._before[key] = recent
            yield from (obj for _, obj in recent)

    def forget(self, before: float) -> None:
        """Drop versions that were replaced before that time."""
        for key, versions in tuple(self._before.items()):
            if versions[-1][0] < before:
                del self._before[key]


class Auditor:
    """See the module. Times are seconds of any one clock; `slack_s` is how late a take-back may begin."""

    def __init__(self, *, in_flight_s: float = 1.0, slack_s: float = 7.0) -> None:
        self.findings: list[str] = []
        self.excused: set[str] = set()
        """Rules that the test at hand is about the breach of."""
        self.in_flight_s = in_flight_s
        self.slack_s = slack_s
        self.attended_since = 0.0
        """Since when an operator has been at work; what none could see to is nobody's fault."""
        self._pods: _Kept[str] = _Kept()
        self._nodes: _Kept[str] = _Kept()
        self._groups: _Kept[GroupKey] = _Kept()
        self._jobs: _Kept[str] = _Kept()
        self._labelled: dict[GroupKey, set[str]] = defaultdict(set)
        self._progress: dict[GroupKey, float] = {}
        self._partial_since: dict[GroupKey, float] = {}
        self._whole: set[str] = set()
        self._lifted: set[str] = set()

    def see(self, at: float, kind: str, event: str, obj: Object) -> None:
        """Take one event of a watch; `kind` is the plural with its group, as in RBAC rules."""
        self._check_finalizers(kind, obj)
        kept = None if event == "DELETED" else obj
        match kind:
            case "pods":
                self._see_pod(at, obj, is_gone=kept is None)
            case "nodes":
                self._nodes.take(at, key_of(obj)[1], kept)
            case "podgroups.scheduling.ganglift.dev":
                self._groups.take(at, key_of(obj), kept)
            case "jobs.batch":
                self._jobs.take(at, uid_of(obj), kept)

    def pass_time(self, at: float) -> None:
        """Look at what must not last; call it a few times a second."""
        for kept in (self._pods, self._nodes, self._groups, self._jobs):
            kept.forget(at - self.in_flight_s)
        for key, group in self._groups.now.items():
            members = self._members(key, group)
            need = self._need(key, at)
            bound = sum(1 for pod in members if node_of(pod))
            loose = [pod for pod in members if not node_of(pod) and uid_of(pod) in self._lifted]
            if bound >= need > 0 or (group.get("status") or {}).get("scheduledTime"):
                self._whole.add(uid_of(group))
            started = len(loose) + (0 if uid_of(group) in self._whole else bound)
            if bound < need and started:
                self._check_partial(at, key, group, loose)
            else:
                self._partial_since.pop(key, None)

    # Events

    def _see_pod(self, at: float, pod: Object, *, is_gone: bool) -> None:
        uid, key = uid_of(pod), group_of(pod)
        old = self._pods.take(at, uid, None if is_gone else pod)
        if key is None:
            return
        self._labelled[key].add(uid)
        if is_gone:
            self._labelled[key].discard(uid)
            self._lifted.discard(uid)
        elif old is not None and GATE in gates(old) - gates(pod):
            self._lifted.add(uid)
            self._progress[self._key_for(pod) or key] = at
            self._check_lift(at, old, pod)
        elif old is not None and node_of(pod) and not node_of(old):
            self._progress[self._key_for(pod) or key] = at

    # Rules

    def _check_finalizers(self, kind: str, obj: Object) -> None:
        ours = [name for name in obj["metadata"].get("finalizers") or () if OURS in name]
        if ours:
            self._find(f"I7: {kind} {key_of(obj)} has finalizer {ours[0]}")

    def _check_lift(self, at: float, old: Object, pod: Object) -> None:
        name, others = key_of(pod), gates(old) - {GATE}
        if others:
            self._find(f"I4: the gate of {name} went while it had {sorted(others)}, left are {sorted(gates(pod))}")
        key = self._key_for(pod)
        groups = list(self._groups.lately(key, at - self.in_flight_s)) if key is not None else []
        if key is None or not groups:
            self._find(f"I1: {name} was lifted and its group does not exist")
            return
        if any(child_uid(group) and controller_of(pod) != child_uid(group) for group in groups):
            return  # not a member: what may become of it is another matter
        if not any(is_live(version) for version in self._pods.lately(uid_of(pod), at - self.in_flight_s)):
            self._find(f"I1: {name} was lifted although it was leaving")
        need = self._need(key, at)
        if need > 0 and is_live(pod):
            self._check_placed(at, key, groups[0], pod, need)

    def _check_placed(self, at: float, key: GroupKey, group: Object, pod: Object, need: int) -> None:
        members = self._members(key, group)
        placed = [member for member in members if node_of(member) or self._was_nominated(member, at)]
        if pod not in placed:
            self._find(f"I1: {key_of(pod)} was lifted without a nomination")
        elif len(placed) < need:
            self._find(f"I1: {key_of(pod)} was lifted while {len(placed)} of {need} had a place")
        nodes = {nominated(member) for member in members if not node_of(member)} - {""}
        for name in sorted(nodes):
            self._check_room(at, name, pod)

    def _check_room(self, at: float, name: str, pod: Object) -> None:
        """What is bound to the node, and nominated at the pod's priority or above, must be within what it offers."""
        since, priority = at - self.in_flight_s, priority_of(pod)
        used: dict[str, Fraction] = defaultdict(Fraction)
        for uid, other in self._pods.now.items():
            counts = bool(node_of(other)) or priority_of(other) >= priority
            is_excused = priority_of(other) > priority and self._is_late(uid, name, since)
            if counts and place_of(other) == name and not is_over(other) and not is_excused:
                for resource, units in requests_of(other).items():
                    used[resource] += units
        offers = [allocatable_of(node) for node in self._nodes.lately(name, since)]
        if not offers:
            return  # a nomination to nowhere is no place, which is another rule's matter
        over = [r for r, units in used.items() if units > max(o.get(r, Fraction()) for o in offers)]
        if over:
            self._find(f"I3: at the lift of {key_of(pod)} more {over[0]} was taken on {name} than it offers")

    def _check_partial(self, at: float, key: GroupKey, group: Object, loose: list[Object]) -> None:
        since = max(self._partial_since.setdefault(key, at), self.attended_since)
        reason = reason_of(group)
        if at - since > self.slack_s and reason not in PARTIAL:
            self._find(f"I2: {key} is below need with members let loose, and its status says {reason!r}")
        due = max(self._progress.get(key, at) + timeout_s(group), self.attended_since) + self.slack_s
        if at > due and reason != "Stuck":
            names = [key_of(pod)[1] for pod in loose]
            self._find(f"I2: {key} is below need past its timeout, {names} are let loose, its status says {reason!r}")

    # Questions

    def _key_for(self, pod: Object) -> GroupKey | None:
        """The group that a pod belongs to: that of its label, or the part of it for the value of another label."""
        key = group_of(pod)
        group = self._groups.now.get(key) if key is not None else None
        if key is None or group is None or GROUP_BY not in notes_of(group):
            return key
        value = labels(pod).get(notes_of(group)[GROUP_BY])
        for part_key, part in self._groups.now.items():
            notes = notes_of(part)
            if part_key[0] == key[0] and (notes.get(PART_OF), notes.get(PART_VALUE)) == (key[1], value):
                return part_key
        return None

    def _members(self, key: GroupKey, group: Object) -> list[Object]:
        return [pod for pod in self._candidates(key, group) if is_live(pod)]

    def _candidates(self, key: GroupKey, group: Object) -> Iterable[Object]:
        label = (key[0], notes_of(group).get(PART_OF, key[1]))
        pods = [self._pods.now[uid] for uid in sorted(self._labelled.get(label, ()))]
        child = child_uid(group)
        return [pod for pod in pods if self._key_for(pod) == key and (not child or controller_of(pod) == child)]

    def _need(self, key: GroupKey, at: float) -> int:
        """The lowest need of the last moments."""
        since, needs = at - self.in_flight_s, []
        for group in self._groups.lately(key, since):
            succeeded = [pod for pod in self._candidates(key, group) if phase(pod) == "Succeeded"]
            jobs: list[Object | None] = list(self._jobs.lately(child_uid(group), since)) or [None]
            needs += [need_of(group, job, succeeded) for job in jobs]
        return min(needs, default=0)

    def _was_nominated(self, pod: Object, at: float) -> bool:
        versions = self._pods.lately(uid_of(pod), at - self.in_flight_s)
        return any(nominated(version) in self._nodes.now for version in versions)

    def _is_late(self, uid: str, name: str, since: float) -> bool:
        """Whether the pod got its place on the node since then."""
        return any(place_of(version) != name for version in self._pods.lately(uid, since))

    def _find(self, what: str) -> None:
        if what not in self.findings and what.partition(":")[0] not in self.excused:
            self.findings.append(what)
