"""Owners that make their pods one after another, so that a gang of them never gathers, and the field to change.

Told from the pods alone: their owner's kind and the labels that these controllers are known to write.
"""

from collections.abc import Sequence

from ganglift.api.pod import Pod

_LWS_NAME = "leaderworkerset.sigs.k8s.io/name"
_JOBSET_NAME = "jobset.sigs.k8s.io/jobset-name"
_JOBSET_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_KUBEFLOW_ROLE = "training.kubeflow.org/job-role"


def pattern_of(members: Sequence[Pod], need: int) -> str:
    """Return which habit of their owner may keep these members too few, and what to do; empty if none is known.

    StatefulSet (podManagementPolicy OrderedReady makes one pod and waits until it is ready), LeaderWorkerSet
    (startupPolicy LeaderReady), JobSet (exclusive topology, startupPolicy InOrder), kubeflow launchers that come after
    their workers.
    """
    if not members or len(members) >= need:
        return ""
    first = members[0]
    owner = first.controller
    habits = (
        (
            _JOBSET_EXCLUSIVE in first.metadata.annotations,
            "the JobSet makes the rest after the first is scheduled (exclusive-topology): set minCount to 1",
        ),
        (_JOBSET_NAME in first.metadata.labels, "if the JobSet's startupPolicy is InOrder, set it to AnyOrder"),
        (
            _LWS_NAME in first.metadata.labels,
            "if the LeaderWorkerSet's startupPolicy is LeaderReady, set it to LeaderCreated",
        ),
        (
            owner is not None and owner.kind == "StatefulSet",
            "if the StatefulSet's podManagementPolicy is OrderedReady, make it anew with Parallel",
        ),
        (
            _KUBEFLOW_ROLE in first.metadata.labels,
            "if a launcher comes only after its workers run, leave it out of minCount",
        ),
    )
    return next((words for is_so, words in habits if is_so), "")
