"""Whose a nomination is. We change only our own: one that someone else set pins the member to that node.

What this process wrote it knows. What stood before it started is told by `managedFields`, which the API server keeps,
so a new process goes on with the reservations of the one before (I5).
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ganglift.api.names import FIELD_MANAGER, LIFTED_AT
from ganglift.api.pod import Pod
from ganglift.api.selectors import Affinity, NodeAffinity, NodeSelector, NodeSelectorTerm, Requirement
from ganglift.base.ids import NodeName, Uid
from ganglift.engine.executor import Executor, ref_of
from ganglift.gang.actions import Kind
from ganglift.kube.errors import KubeError, NotFound

log = logging.getLogger(__name__)


class Nominations:
    """Which nominations are ours. `written` is where we nominated each pod last.

    A lifted member that is nominated elsewhere than we wrote is one that kube-scheduler preempts others for.
    """

    def __init__(self, executor: Executor) -> None:
        self.written: dict[Uid, NodeName] = {}
        self._executor = executor
        self._judged: dict[Uid, str] = {}
        """Nominations of others, by pod."""

    def write(self, uid: Uid, node: NodeName) -> None:
        """Note that we nominate this pod."""
        self.written[uid] = node

    def retain(self, uids: Collection[Uid]) -> None:
        """Forget all pods but these. The books are made anew: one that was long once would stay as large."""
        self.written = {uid: node for uid, node in self.written.items() if uid in uids}
        self._judged = {uid: node for uid, node in self._judged.items() if uid in uids}

    def is_ours(self, pod: Pod) -> bool:
        return pod.uid in self.written

    def is_foreign(self, pod: Pod) -> bool:
        """Whether someone else has nominated this gated pod, as far as is known."""
        return bool(pod.nominated) and pod.uid not in self.written

    def begin(self) -> None:
        """Forget what was known: others have written since this process last led."""
        self.written.clear()
        self._judged.clear()

    async def learn(self, pods: Iterable[Pod]) -> bool:
        """Find out who wrote the nominations that are not known to be ours; return whether some turned out to be.

        What can't be read is taken for someone else's until it is asked about again.
        """
        unknown = [pod for pod in pods if self._is_unknown(pod)]
        answers = await asyncio.gather(*(self._author_of(pod) for pod in unknown))
        for pod, author in zip(unknown, answers, strict=True):
            if author == FIELD_MANAGER:
                self.written.setdefault(pod.uid, NodeName(pod.nominated))
            elif author is not None:
                self._judged[pod.uid] = pod.nominated
                if not pod.is_gated:
                    self.written.setdefault(pod.uid, NodeName(""))
        return FIELD_MANAGER in answers

    def _is_unknown(self, pod: Pod) -> bool:
        is_member = pod.has_gate or (LIFTED_AT in pod.metadata.annotations and not pod.is_bound)
        is_open = bool(pod.nominated) and is_member and not pod.is_over
        return is_open and pod.uid not in self.written and self._judged.get(pod.uid) != pod.nominated

    async def _author_of(self, pod: Pod) -> str | None:
        """Return the field manager that wrote the pod's nomination, None where that is not known or not so any more."""
        try:
            found = await self._executor.read(ref_of(Kind.POD, pod.key))
        except NotFound:
            return None
        except KubeError as error:
            fields = {"pod": str(pod.key), "error": str(error)}
            log.warning("a nomination's author is not known yet, it is left alone", extra=fields)
            return None
        is_same = found["metadata"]["uid"] == pod.uid
        is_same &= (found.get("status") or {}).get("nominatedNodeName") == pod.nominated
        return author_of_nomination(found) if is_same else None


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
