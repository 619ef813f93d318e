"""Many pods on many nodes, put to kube-scheduler and to the planner: where do they differ, and what decided?"""

import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from tests.controlplane.oracle.candidates import random_candidate
from tests.controlplane.oracle.planner import Planner
from tests.controlplane.oracle.reasons import complaint, decided_by
from tests.controlplane.oracle.scheduler import Answer, Object, Scheduler
from tests.controlplane.oracle.worlds import as_manifest, random_world

from ganglift.plan.verdict import Cause, CauseKind

CANDIDATES = 8
"""Of each world; every one is put to every node."""
_CATCH_UP_S = 2.0
RESERVED_EVERY = 4
"""In so many worlds there is one where room is kept for gated pods."""


@dataclass
class Survey:
    """What came out. `disagreements` are told so that each can be repeated: by seed, pod and node."""

    pairs: int = 0
    bound: int = 0
    decided: Counter[CauseKind] = field(default_factory=Counter)
    """Refused pairs, by the cause that kube-scheduler named."""
    unready: int = 0
    """Pairs whose node is not ready, which kube-scheduler does not look at."""
    stricter: int = 0
    """Pairs that the planner refuses, and kube-scheduler does not, for pods that have only a nomination."""
    disagreements: list[str] = field(default_factory=list)
    other_reasons: list[str] = field(default_factory=list)
    unready_used: list[str] = field(default_factory=list)

    def report(self) -> str:
        """Say how much was asked, and what decided how often."""
        causes = ", ".join(f"{kind} {count}" for kind, count in self.decided.most_common())
        return (
            f"{self.pairs} pairs of pod and node, {len(self.disagreements)} disagreements: {self.bound} bound, "
            f"{self.pairs - self.bound} refused ({causes}); {self.unready} on nodes that are not ready, "
            f"{self.stricter} refused by the planner alone because of reservations"
        )


def survey(scheduler: Scheduler, pairs: int) -> Survey:
    """Ask about so many pairs, of the same worlds each time."""
    found = Survey()
    seed = 0
    while found.pairs < pairs:
        _visit(found, scheduler, seed)
        seed += 1
    return found


def _visit(found: Survey, scheduler: Scheduler, seed: int) -> None:
    rng = Random(seed)
    world = random_world(rng, has_reservations=seed % RESERVED_EVERY == 1)
    scheduler.build(world)
    planner = Planner.of(scheduler.client)
    candidates = [as_manifest(random_candidate(rng, f"c{seed}-{number}")) for number in range(CANDIDATES)]
    for candidate, node in ((each, node["metadata"]["name"]) for each in candidates for node in world.nodes):
        answer, causes = _ask(scheduler, planner, candidate, node)
        _count(found, planner, answer, causes, node)


def _ask(scheduler: Scheduler, planner: Planner, candidate: Object, node: str) -> tuple[Answer, tuple[Cause, ...]]:
    """Ask both; where they differ kube-scheduler is asked again for a while.

    1.34 hears of pods that went and of pods that wait over two channels, so pods asked about before may still be there.
    """
    deadline = time.monotonic() + _CATCH_UP_S
    while True:
        answer = scheduler.ask(candidate, node)
        causes = planner.causes(answer.pod, node)
        differs = answer.is_bound == bool(causes) or _other_reason(planner, answer, causes)
        if not differs or planner.is_refused_for_reservations(answer.pod, node) or time.monotonic() > deadline:
            return answer, causes


def _other_reason(planner: Planner, answer: Answer, causes: tuple[Cause, ...]) -> str:
    if answer.is_bound or not causes:
        return ""
    return complaint(answer.words, planner.unstrict, planner.shape(answer.pod), causes)


def _count(found: Survey, planner: Planner, answer: Answer, causes: tuple[Cause, ...], node: str) -> None:
    pair = f"{answer.pod['metadata']['name']} on {node}: {answer.words or 'bound'}; planner: {causes}"
    found.pairs += 1
    found.bound += answer.is_bound
    if answer.is_bound and causes and planner.is_refused_for_reservations(answer.pod, node):
        found.stricter += 1
    elif answer.is_bound == bool(causes):
        found.disagreements.append(pair)
    elif causes:
        found.decided[decided_by(answer.words, causes)] += 1
        if problem := _other_reason(planner, answer, causes):
            found.other_reasons.append(f"{pair}; {problem}")
    if not planner.is_ready(node):
        found.unready += 1
        if not planner.strict_causes(answer.pod, node):
            found.unready_used.append(pair)
