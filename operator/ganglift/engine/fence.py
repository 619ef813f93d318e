"""The fence: proof that kube-scheduler has seen our nominations.

A pod that the scheduler was already placing when the nominations arrived may still be bound onto nominated room. So
where there is such competition, a pod is made that fits nowhere and goes before all others. The scheduler reads pods
from one ordered stream: once it has marked the fence Unschedulable, everything that it decided without knowing the
nominations has been bound, and a short while later our own watch has shown it.
"""

import asyncio
import logging
import secrets
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ganglift.api.names import DEFAULT_SCHEDULER, FENCE_CLASS, FENCE_LABEL, FENCE_PRIORITY
from ganglift.api.pod import Pod
from ganglift.base.clock import Clock
from ganglift.base.ids import Uid
from ganglift.engine.cache import Cache
from ganglift.engine.executor import Executor, NotLeading
from ganglift.kube.errors import Forbidden, KubeError, NotFound, StatusError
from ganglift.kube.resources import PODS, PRIORITY_CLASSES, Ref

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 15.0
"""No answer in this time: kube-scheduler is down or far behind, and nothing is lifted."""
CLOSE_TIMEOUT_S = 2.0
CLASS_TIMEOUT_S, CLASS_LOOK_S = 2.0, 0.1
"""How long the API server may take to use a PriorityClass that was just made: it reads them by a watch of its own."""
AFTERGLOW_S = 0.1
"""From the answer until our own watch has certainly shown the binds that came before it."""


class Answer(Enum):
    """What became of a fence."""

    PASSED = auto()
    NO_ANSWER = auto()
    UNAVAILABLE = auto()


@dataclass(frozen=True, slots=True)
class Passage:
    """The answer, and where it is not PASSED, why, in words for the group's status."""

    answer: Answer
    message: str = ""


@dataclass(slots=True)
class Fence:
    """Raises fence pods in one namespace; groups that ask at the same moment share one."""

    namespace: str
    cache: Cache
    executor: Executor
    clock: Clock
    raised: int = 0
    """How many fences this process has raised."""
    _next: "asyncio.Task[Passage] | None" = field(default=None, init=False)
    _standing: "set[asyncio.Task[Passage]]" = field(default_factory=set, init=False)

    async def passed(self, why: str) -> Passage:
        """Raise a fence, or join one that is not yet made, and return when kube-scheduler has answered.

        All nominations that it is to vouch for must have been seen by the caller. `why` names the competitor.
        """
        if self._next is None:
            self._next = asyncio.create_task(self._raise(why), name="fence")
            self._standing.add(self._next)
            self._next.add_done_callback(self._forget)
        return await asyncio.shield(self._next)

    async def close(self) -> None:
        """Take down what stands. What can't be taken down in time is left to the sweep of whoever leads next."""
        for _ in range(2):
            for task in self._standing:
                task.cancel()
            if self._standing:
                await asyncio.wait(self._standing, timeout=CLOSE_TIMEOUT_S)

    def _forget(self, task: "asyncio.Task[Passage]") -> None:
        self._standing.discard(task)
        if self._next is task:
            self._next = None

    async def _raise(self, why: str) -> Passage:
        # Whoever asks in this turn of the loop has seen its nominations too, and joins.
        await asyncio.sleep(0)
        self._next = None
        self.raised += 1
        name = f"fence-{secrets.token_hex(5)}"
        log.info("fence raised", extra={"fence": name, "competitor": why})
        try:
            body = await self._create(name)
        except (StatusError, NotLeading) as error:
            return Passage(Answer.UNAVAILABLE, f"no fence pod could be made: {error}")
        except KubeError as error:
            return Passage(Answer.NO_ANSWER, f"the API server could not be asked for a fence pod: {error}")
        return await self._await_answer(name, body["metadata"]["uid"])

    async def _create(self, name: str) -> Any:
        """Make the pod; where its PriorityClass was deleted meanwhile, as with the chart's release, make that first."""
        manifest = fence_pod(self.namespace, name)
        try:
            return await self.executor.create(PODS, manifest, namespace=self.namespace)
        except Forbidden:
            if not await self.provide():
                raise
        until = self.clock.monotonic() + CLASS_TIMEOUT_S
        while True:
            await self.clock.sleep(CLASS_LOOK_S)
            try:
                return await self.executor.create(PODS, manifest, namespace=self.namespace)
            except Forbidden:
                if self.clock.monotonic() >= until:
                    raise

    async def _await_answer(self, name: str, uid: Uid) -> Passage:
        expectation = self.cache.expect([uid], _is_answered, may_come=True)
        try:
            if not await expectation.wait(ANSWER_TIMEOUT_S):
                return Passage(Answer.NO_ANSWER, f"kube-scheduler did not answer within {ANSWER_TIMEOUT_S:.0f} s")
            await self.clock.sleep(AFTERGLOW_S)
            return Passage(Answer.PASSED)
        finally:
            await self._lower(name, uid)

    async def _lower(self, name: str, uid: Uid) -> None:
        try:
            await self.executor.delete(Ref(PODS, name, self.namespace), uid=uid, grace_period_s=0)
        except NotFound:
            return
        except (KubeError, NotLeading) as error:
            log.warning("fence pod is left behind, the sweep deletes it", extra={"fence": name, "error": str(error)})

    async def sweep(self) -> None:
        """Delete fence pods that a process left behind when it was killed."""
        for pod in tuple(self.cache.pods.values()):
            is_ours = pod.metadata.namespace == self.namespace and FENCE_LABEL in pod.metadata.labels
            age_s = (
                (self.clock.now() - pod.metadata.creation_timestamp).total_seconds()
                if is_ours and pod.metadata.creation_timestamp
                else 0
            )
            if is_ours and age_s > 2 * ANSWER_TIMEOUT_S:
                await self._lower(pod.name, pod.uid)

    async def provide(self) -> bool:
        """Make the PriorityClass that fence pods need, where it is missing and RBAC allows it; return whether it was.

        Where it can't be had, FenceUnavailable shows once a fence is needed.
        """
        ref = Ref(PRIORITY_CLASSES, FENCE_CLASS)
        try:
            is_new = await self.executor.ensure(ref, fence_class())
        except (KubeError, NotLeading) as error:
            log.warning("not provided for fences", extra={"object": str(ref), "error": str(error)})
            return False
        if is_new:
            log.info("made for fences", extra={"object": str(ref)})
        return is_new


def _is_answered(pod: Pod) -> bool:
    scheduled = pod.condition("PodScheduled")
    return scheduled is not None and scheduled.reason == "Unschedulable"


def fence_class() -> dict[str, Any]:
    """The PriorityClass that puts a fence ahead of all other pods, and lets it evict nobody.

    The same as in the chart, field by field: a release can take over what the operator made, with --take-ownership.
    """
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": FENCE_CLASS},
        "value": FENCE_PRIORITY,
        "preemptionPolicy": "Never",
        "description": "For ganglift's own fence pods, which are never placed. Do not use it for anything else.",
    }


def fence_pod(namespace: str, name: str) -> dict[str, Any]:
    """A pod that no node can take: its affinity names a node of a random name in a domain that nobody can have."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"{name}.invalid"]}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {FENCE_LABEL: "true"}},
        "spec": {
            "schedulerName": DEFAULT_SCHEDULER,
            "priorityClassName": FENCE_CLASS,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            },
            "containers": [
                {
                    "name": "fence",
                    "image": "registry.k8s.io/pause:3.10",
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    },
                }
            ],
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
        },
    }
