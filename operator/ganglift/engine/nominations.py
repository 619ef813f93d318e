"""Whose a nomination is. We change only our own: one that someone else set pins the member to that node.

What this process wrote it knows. What stood before it started is told by `managedFields`, which the API server keeps,
so a new process goes on with the reservations of the one before (I5).
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ganglift.api.names import FIELD_MANAGER
from ganglift.api.pod import Pod
from ganglift.api.selectors import Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm, Requirement
from ganglift.base.ids import Uid
from ganglift.engine.executor import Executor, ref_of
from ganglift.gang.actions import Kind
from ganglift.kube.errors import KubeError, NotFound

log = logging.getLogger(__name__)


class Nominations:
    """Which nominations are ours."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._ours: set[Uid] = set()

    def write(self, uid: Uid) -> None:
        """Note that we are about to nominate this pod."""
        self._ours.add(uid)

    def retain(self, uids: Collection[Uid]) -> None:
        """Forget all pods but these."""
        self._ours.intersection_update(uids)

    def is_ours(self, pod: Pod) -> bool:
        return pod.uid in self._ours

    def is_foreign(self, pod: Pod) -> bool:
        """Whether someone else has nominated this gated pod."""
        return bool(pod.nominated) and pod.uid not in self._ours

    async def take_over(self, pods: Iterable[Pod]) -> None:
        """Learn which standing nominations a process before this one wrote."""
        standing = [pod for pod in pods if pod.has_gate and pod.nominated]
        answers = await asyncio.gather(*(self._is_written_by_us(pod) for pod in standing))
        self._ours |= {pod.uid for pod, is_ours in zip(standing, answers, strict=True) if is_ours}

    async def _is_written_by_us(self, pod: Pod) -> bool:
        try:
            found = await self._executor.read(ref_of(Kind.POD, pod.key))
        except NotFound:
            return False
        except KubeError as error:
            fields = {"pod": str(pod.key), "error": str(error)}
            log.warning("a nomination's author is unknown, it is left alone", extra=fields)
            return False
        return bool(found["metadata"]["uid"] == pod.uid) and author_of_nomination(found) == FIELD_MANAGER


def author_of_nomination(pod: Mapping[str, Any]) -> str:
    """Return the field manager that set `status.nominatedNodeName`, empty if none is noted."""
    for entry in pod["metadata"].get("managedFields", ()):
        if "f:nominatedNodeName" in entry.get("fieldsV1", {}).get("f:status", {}):
            return str(entry.get("manager", ""))
    return ""


def pinned(pod: Pod) -> Pod:
    """Return the pod as the planner is to see it when someone else has nominated it: it can go to that node only."""
    only = Requirement(key="metadata.name", operator="In", values=(pod.nominated,))
    affinity = pod.spec.affinity or Affinity()
    wanted = affinity.node_affinity.required if affinity.node_affinity else None
    terms = wanted.node_selector_terms if wanted else (NodeSelectorTerm(),)
    narrowed = tuple(term.model_copy(update={"match_fields": (*term.match_fields, only)}) for term in terms)
    required = NodeAffinity(required=NodeSelector(node_selector_terms=narrowed))
    spec = pod.spec.model_copy(update={"affinity": affinity.model_copy(update={"node_affinity": required})})
    return pod.model_copy(update={"spec": spec})
