"""The story in four steps, each checked against what the API server shows; it ends at the first that is not as told.

1. Four workers without a gang, GPUs for three: three start, and hold three GPUs while they wait for the fourth.
2. The same four as a gang: none starts, no GPU is held, and the reason says so.
3. A fourth GPU joins: all four start.
4. A second gang of four waits with three GPUs free; its minCount is edited to three: three start.
"""

import time
from collections.abc import Callable

from ganglift.api.names import BATCH_API
from ganglift.api.pod import Pod
from ganglift.base.errors import GangliftError
from ganglift.cli.demo import manifests
from ganglift.cli.demo.operator import Operator
from ganglift.cli.demo.screen import Screen
from ganglift.cli.demo.world import World, is_whole, message_of, read, refusal
from ganglift.playground import Playground
from ganglift.playground.client import MERGE_PATCH, Session

NODES = 3
_JOBS = "/apis/batch/v1/namespaces/default/jobs"
_GANG_JOBS = f"/apis/{BATCH_API}/namespaces/default/jobs"
_POLL_S = 0.05
_STEP_TIMEOUT_S = 20.0
_WATCHED_S = 2.0  # how long "none starts" is watched before it is believed
_READING_S = 1.5  # for whoever watches the terminal

Fact = Callable[[World], bool]


class NotAsTold(GangliftError):
    """A step of the story did not come out; the message has what was expected and what there is."""


class Story:
    """Tells the story on a playground of `NODES` nodes of one GPU where the operator runs."""

    def __init__(self, playground: Playground, session: Session, operator: Operator, screen: Screen) -> None:
        self._playground = playground
        self._session = session
        self._operator = operator
        self._screen = screen

    def tell(self) -> None:
        """All steps. Raises NotAsTold."""
        self._without_a_gang()
        self._as_a_gang()
        self._a_fourth_gpu()
        self._a_live_edit()

    def _without_a_gang(self) -> None:
        job = "train"
        with self._screen.step(
            1, "Four workers without a gang, on three GPUs", f"A batch/v1 Job, {job}: parallelism 4, one GPU each."
        ):
            self._session.request("POST", _JOBS, manifests.plain_job(job))
            world = self._await(
                "three of four workers start and the fourth finds no GPU",
                lambda w: len(_running(w, job)) == 3 and [bool(refusal(pod)) for pod in w.unbound(job)] == [True],
            )
            self._end_step(world)
        self._screen.told("Three workers hold three GPUs and do nothing: they wait for the fourth.")
        self._screen.told(f"Of the fourth, kube-scheduler says: {refusal(world.unbound(job)[0])}")
        self._session.request("DELETE", f"{_JOBS}/{job}?propagationPolicy=Background")
        self._await("its pods are gone", lambda w: not w.pods)

    def _as_a_gang(self) -> None:
        job = "train"
        with self._screen.step(
            2,
            "The same four workers as a gang",
            f"The same manifest with apiVersion {BATCH_API},",
            "and `scheduling: {schedulingPolicy: {gang: {minCount: 4}}}`.",
        ):
            self._session.request("POST", _GANG_JOBS, manifests.gang_job(job))
            self._await("the gang waits, and says that 3 of 4 fit", lambda w: "3 of 4" in _waiting_words(w, job))
            world = self._watch("no worker starts", lambda w: not w.bound(job))
            self._end_step(world)
        self._screen.told("No worker starts, and all three GPUs are free for others meanwhile.")
        self._screen.told(f"The PodGroup says: {_waiting_words(world, job)}", is_in_table=True)

    def _a_fourth_gpu(self) -> None:
        job, node = "train", f"gpu-{NODES}"
        with self._screen.step(3, "A fourth GPU joins", f"Node {node} is added; nothing else is done."):
            self._playground.add_node(node, wait=False)
            usable = self._await(f"{node} is ready", lambda w: w.is_usable(node))
            bound = self._await("all four workers are bound", lambda w: len(w.bound(job)) == manifests.WORKERS)
            world = self._await("all four run, and the gang says so", lambda w: _runs(w, job))
            self._end_step(world)
        self._screen.told(f"All four workers are bound {bound.at_s - usable.at_s:.2f} s after the node was ready.")

    def _a_live_edit(self) -> None:
        job, nodes = "tune", [f"gpu-{number}" for number in range(NODES + 1, NODES + 4)]
        with self._screen.step(
            4,
            "A live edit of minCount",
            f"Three more GPUs, and a second gang of four, {job}. While it waits, its minCount becomes 3.",
        ):
            self._playground.add_nodes(len(nodes), wait=False)
            self._await("three more nodes are ready", lambda w: w.is_usable(*nodes))
            self._session.request("POST", _GANG_JOBS, manifests.gang_job(job))
            waiting = self._await(
                "the gang waits whole", lambda w: "3 of 4" in _waiting_words(w, job) and not w.bound(job)
            )
            self._read()
            edited_s = time.monotonic()
            edit = manifests.min_count(3)
            self._session.request("PATCH", f"{_GANG_JOBS}/{job}", edit, content_type=MERGE_PATCH)
            bound = self._await("three of its workers are bound", lambda w: len(w.bound(job)) == 3)
            world = self._watch(
                "the fourth waits behind its gate, and the first gang runs on",
                lambda w: _runs_with_three(w, job) and w.places("train") == waiting.places("train"),
            )
            self._end_step(world)
        self._screen.told("Before the edit none of its workers started: 3 of 4 fit.")
        self._screen.told(f"Three workers are bound {bound.at_s - edited_s:.2f} s after the edit.")
        self._screen.told("The fourth follows when there is room for it; the first gang was not touched.")

    # Checks

    def _await(self, what: str, fact: Fact) -> World:
        """Look until it is so; return what was seen. Raises NotAsTold when it does not come about."""
        deadline_s = time.monotonic() + _STEP_TIMEOUT_S
        while not fact(world := self._look()):
            if self._operator.exit_code is not None:
                raise self._not_as_told(what, world, f"the operator ended with code {self._operator.exit_code}")
            if time.monotonic() > deadline_s:
                raise self._not_as_told(what, world, f"not so within {_STEP_TIMEOUT_S:.0f} s")
            time.sleep(_POLL_S)
        return world

    def _watch(self, what: str, fact: Fact) -> World:
        """Wait until it is so, then watch that it stays so for a while. Raises NotAsTold when it does not."""
        world = self._await(what, fact)
        end_s = time.monotonic() + _WATCHED_S
        while time.monotonic() < end_s:
            time.sleep(_POLL_S)
            if not fact(world := self._look()):
                raise self._not_as_told(what, world, "it did not stay so")
        return world

    def _look(self) -> World:
        world = read(self._session)
        self._screen.show(world)
        return world

    def _end_step(self, world: World) -> None:
        self._screen.keep(world)
        self._read()

    def _read(self) -> None:
        if self._screen.is_live:
            time.sleep(_READING_S)

    def _not_as_told(self, what: str, world: World, why: str) -> NotAsTold:
        pods = [f"{pod.name} on {pod.spec.node_name or 'no node'}, {pod.status.phase}" for pod in world.pods]
        groups = [f"{g.name}: {c.reason}, {c.message}" for g in world.groups if (c := g.condition("Scheduled"))]
        return NotAsTold(
            f"the story did not come out as told. Expected: {what}; {why}.\n"
            f"pods: {'; '.join(pods) or 'none'}\nPodGroups: {'; '.join(groups) or 'none'}\n"
            f"the end of the operator's log:\n{self._operator.log_tail}"
        )


def _waiting_words(world: World, job: str) -> str:
    """What the Job's PodGroup says while it waits for room; empty where it does not."""
    group = world.group_of(job)
    scheduled = group.condition("Scheduled") if group is not None else None
    is_waiting = scheduled is not None and scheduled.reason == "Unschedulable"
    return message_of(group) if group is not None and is_waiting else ""


def _running(world: World, job: str) -> tuple[Pod, ...]:
    return tuple(pod for pod in world.bound(job) if pod.status.phase == "Running")


def _runs(world: World, job: str) -> bool:
    return is_whole(world.group_of(job)) and _running(world, job) == world.bound(job)


def _runs_with_three(world: World, job: str) -> bool:
    gated = [pod for pod in world.unbound(job) if pod.has_gate]
    return _runs(world, job) and len(world.bound(job)) == 3 and len(gated) == 1
