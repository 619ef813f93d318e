"""The batch/v1 Job that runs the pods of ours: what it looks like when it is made, and what is passed on later.

Everything of our spec goes down but `scheduling`, `ttlSecondsAfterFinished` (we delete our own Job instead, so that a
finished child is never run again), `managedBy`, and the `activeDeadlineSeconds` of a gang, which counts from the
moment it is scheduled and is therefore set on the live child. What may change is passed on when our generation does,
never as repair of what somebody changed on the child.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from ganglift.api.job import BatchJob, GangJob
from ganglift.api.names import BATCH_GROUP, BUILT_IN_JOB_CONTROLLER, GATE, GROUP_LABEL, PARKED, SCHEDULING_GROUP
from ganglift.gang.actions import Body, Kind, Patch, merge
from ganglift.gang.ownership import parent_of_job

_KEPT_BACK = ("scheduling", "ttlSecondsAfterFinished", "managedBy", "activeDeadlineSeconds")

_NOT_COPIED = (
    # Notes of whoever applied our Job: on the child they would make that tool claim, change or prune it.
    "kubectl.kubernetes.io/",
    "argocd.argoproj.io/",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
    "meta.helm.sh/",
    "helm.sh/",
    "kapp.k14s.io/",
    "config.kubernetes.io/",
    "config.k8s.io/",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    # Marks that another queue, or we ourselves, would act on.
    "kueue.x-k8s.io/",
    f"{SCHEDULING_GROUP}/",
    f"{BATCH_GROUP}/",
)


def child_body(job: GangJob, group_name: str) -> Body:
    """Return the child to make for our Job, its pods labelled as members of that PodGroup and, for a gang, gated.

    The child bears the label too, so that children can be listed among a cluster's Jobs.
    """
    spec = {name: value for name, value in job.spec.wire().items() if name not in _KEPT_BACK}
    if job.spec.min_count is None and job.spec.active_deadline_seconds is not None:
        spec["activeDeadlineSeconds"] = job.spec.active_deadline_seconds
    spec["template"] = member_template(job.spec.template, group_name, is_gang=job.spec.min_count is not None)
    metadata = {
        "namespace": job.metadata.namespace,
        "name": job.name,
        "labels": _copied(job.metadata.labels) | {GROUP_LABEL: group_name},
        "annotations": _copied(job.metadata.annotations),
        "ownerReferences": [parent_of_job(job).reference],
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def member_template(template: Mapping[str, Any], group_name: str, *, is_gang: bool) -> dict[str, Any]:
    """Return a pod template whose pods are members of the group; other gates and labels stay."""
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {**(metadata.get("labels") or {}), GROUP_LABEL: group_name}
    spec = dict(template.get("spec") or {})
    if is_gang:
        others = [gate for gate in spec.get("schedulingGates") or () if gate.get("name") != GATE]
        spec["schedulingGates"] = [*others, {"name": GATE}]
    return {**template, "metadata": metadata, "spec": spec}


def is_hands_off(job: GangJob) -> bool:
    """Whether another controller than ours runs this Job."""
    return job.spec.managed_by not in (None, "", BUILT_IN_JOB_CONTROLLER)


def child_change(job: GangJob, child: BatchJob) -> Patch | None:
    """Return the one patch that passes on what may change of our spec; None if the child has it.

    completions of an Indexed Job goes together with parallelism, or the API server refuses it. A change of `suspend`
    takes the deadline away: resuming resets the child's startTime, from which it would count.
    """
    spec: dict[str, Any] = {}
    if job.spec.parallelism != child.spec.parallelism:
        spec["parallelism"] = job.spec.parallelism
    if job.spec.completion_mode == "Indexed" and job.spec.completions != child.spec.completions:
        spec |= {"completions": job.spec.completions, "parallelism": job.spec.parallelism}
    is_parked = PARKED in child.metadata.annotations
    if (job.spec.suspend or is_parked) != child.spec.suspend:
        spec["suspend"] = job.spec.suspend
        if job.spec.min_count is not None and child.spec.active_deadline_seconds is not None:
            spec["activeDeadlineSeconds"] = None
    if job.spec.max_failed_indexes != child.spec.max_failed_indexes:
        spec["maxFailedIndexes"] = job.spec.max_failed_indexes
    if job.spec.min_count is None and job.spec.active_deadline_seconds != child.spec.active_deadline_seconds:
        spec["activeDeadlineSeconds"] = job.spec.active_deadline_seconds
    # Unset, these two were given their default by the API server; there is nothing to pass on.
    if job.spec.backoff_limit not in (None, child.spec.backoff_limit):
        spec["backoffLimit"] = job.spec.backoff_limit
    if job.spec.pod_replacement_policy not in (None, child.spec.pod_replacement_policy):
        spec["podReplacementPolicy"] = job.spec.pod_replacement_policy
    body: dict[str, Any] = {"spec": spec} if spec else {}
    if job.spec.suspend and is_parked:
        # The user's own suspension takes the place of ours, which would be ended at the gang's turn.
        body["metadata"] = {"annotations": {PARKED: None}}
    return merge(Kind.BATCH_JOB, child.key, child.uid, body) if body else None


def deadline_change(job: GangJob, child: BatchJob, scheduled: datetime | None) -> Patch | None:
    """Return the patch that makes the child end as many seconds after `scheduled` as our Job may run; None if it does.

    `scheduled` is when the gang was whole since the child's last start, None while it has not been.
    """
    if child.is_finished or job.spec.min_count is None:
        return None
    wanted = deadline_s(job, child, scheduled)
    if wanted == child.spec.active_deadline_seconds:
        return None
    return merge(Kind.BATCH_JOB, child.key, child.uid, {"spec": {"activeDeadlineSeconds": wanted}})


def deadline_s(job: GangJob, child: BatchJob, scheduled: datetime | None) -> int | None:
    """Return activeDeadlineSeconds for the child; it counts from the child's startTime. None: no deadline for now."""
    allowed, started = job.spec.active_deadline_seconds, child.status.start_time
    if allowed is None or started is None or scheduled is None or child.spec.suspend:
        return None
    waited = max(timedelta(), scheduled - started)
    return allowed + -(-waited // timedelta(seconds=1))


def _copied(notes: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in notes.items() if not key.startswith(_NOT_COPIED)}
