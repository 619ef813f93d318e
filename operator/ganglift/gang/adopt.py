"""Adopting a batch/v1 Job that asks for it by annotation: label and gate go into its template, then it is resumed.

A Job's template can be changed only while it is suspended (before 1.36 only if it never started), so the user creates
it with `suspend: true`. It is adopted once: the mark goes on in the very patch that resumes it, and `suspend` is never
touched again, so that a user's own suspension survives our restarts. Owners that restore templates or set `suspend`
themselves (Kueue, JobSet) put label and gate into their own template instead.

The PodGroup is tried first, so that the API server judges what the annotation asks for before the Job is touched. It is
made after that patch, so that the group always finds its Job's pods labelled; a crash between the two is made up for at
the next look.
"""

from collections.abc import Iterable

from ganglift.api.job import BatchJob
from ganglift.api.names import ADOPTED, FULL_NAME, GATE, GROUP_LABEL, SCHEDULING, SCHEDULING_API
from ganglift.api.scheduling import PodGroup, PodGroupTemplate
from ganglift.gang.actions import Action, Announce, Body, Create, Kind, Step, strategic
from ganglift.gang.asked import asked_of, check_fit
from ganglift.gang.naming import LIMIT, hashed
from ganglift.gang.outcome import Waiting
from ganglift.gang.ownership import Claim, Parent, obstacle
from ganglift.gang.podgroup import carried, carry_over
from ganglift.gang.reasons import Reason

_QUEUE_NAME = "kueue.x-k8s.io/queue-name"
_RESTARTED_FROM = 36
"""Minor version from which the template of a suspended Job that ran before may change (KEP-5440)."""
_BY_HAND = f"put label {GROUP_LABEL} and scheduling gate {GATE} into its pod template and create the PodGroup yourself"


def wants_adoption(job: BatchJob) -> bool:
    """Whether a batch/v1 Job asks to be scheduled as a group."""
    return SCHEDULING in job.metadata.annotations


def adoption_step(job: BatchJob, groups: Iterable[PodGroup], minor: int) -> Step:
    """Return the next step for a batch/v1 Job with the annotation.

    `groups` are the PodGroups that have a name it might want, `minor` the cluster's version of Kubernetes 1.
    """
    if job.is_deleting or job.is_finished:
        return Step()
    by_name = {group.name: group for group in groups}
    if adopted := job.metadata.annotations.get(ADOPTED):
        return _keep(job, adopted, by_name.get(adopted))
    try:
        template = asked_of(job)
        check_fit(template, job)
    except ValueError as error:
        return _refused(job, Reason.INVALID, str(error))
    if (why := unfit(job, minor)) is not None:
        return _refused(job, Reason.NOT_ADOPTED, why)
    name, trouble = _free_name(job, by_name)
    if trouble is not None:
        return _refused(job, trouble.reason, trouble.message)
    return Step(_adopt(job, template, name, is_made=name in by_name), is_final=False)


def unfit(job: BatchJob, minor: int) -> str | None:
    """Return why a Job can't be adopted and what to do instead; None if it can."""
    owner = job.controller
    if _QUEUE_NAME in job.metadata.labels or _QUEUE_NAME in job.metadata.annotations:
        return f"the Job is queued by Kueue, which restores its template: {_BY_HAND}"
    if owner is not None and (owner.kind, owner.api_version) != ("CronJob", "batch/v1"):
        return f"the Job belongs to {owner.kind} {owner.name}, which sets suspend itself: {_BY_HAND}"
    if not job.spec.suspend:
        return "the Job is not suspended: delete it and create it with spec.suspend true, it is resumed by the adoption"
    if minor < _RESTARTED_FROM and job.status.start_time is not None:
        return "the Job has run before, and Kubernetes before 1.36 keeps its template: create it anew, suspended"
    if job.status.start_time is not None and (job.status.active or not job.is_in("Suspended")):
        return "the Job's pods are still being removed, it is adopted once they are gone"
    return None


def refused_asking(refusal: Waiting) -> Waiting:
    """Return what to say of a Job whose PodGroup the API server finds invalid: the words are about the annotation."""
    words = f"annotation {SCHEDULING} asks for what is not valid, and the Job stays suspended until that is mended"
    return Waiting(Reason.INVALID, f"{words}: {refusal.message}")


def names_for(job: BatchJob) -> tuple[str, str]:
    """Return the names that the PodGroup of an adopted Job may have."""
    return (job.name if len(job.name) <= LIMIT else hashed(job.name)), hashed(job.name)


def _keep(job: BatchJob, name: str, group: PodGroup | None) -> Step:
    """Keep the PodGroup of an adopted Job, and follow its parallelism where the gang names no minCount."""
    try:
        template = asked_of(job)
    except ValueError as error:
        return _refused(job, Reason.INVALID, str(error))
    if group is None:
        return Step((Create(Kind.POD_GROUP, _group_body(job, template, name)),), is_final=False)
    if (trouble := obstacle(_parent(job).claim_on(group), f"PodGroup {name}")) is not None:
        return _refused(job, trouble.reason, trouble.message)
    patch = None if group.is_deleting else carry_over(group, template)
    return Step((patch,) if patch is not None else ())


def _adopt(job: BatchJob, template: PodGroupTemplate, name: str, *, is_made: bool) -> tuple[Action, ...]:
    body = _group_body(job, template, name)
    trial, create = Create(Kind.POD_GROUP, body, is_trial=True), Create(Kind.POD_GROUP, body)
    mark = _mark(job, name, is_gang=template.gang is not None)
    return (mark,) if is_made else (trial, mark, create)


def _mark(job: BatchJob, name: str, *, is_gang: bool) -> Action:
    labels = {GROUP_LABEL: name}
    pod_template: dict[str, object] = {"metadata": {"labels": labels}}
    if is_gang:
        pod_template["spec"] = {"schedulingGates": [{"name": GATE}]}
    body = {
        "metadata": {"annotations": {ADOPTED: name}, "labels": labels},
        "spec": {"suspend": False, "template": pod_template},
    }
    return strategic(Kind.BATCH_JOB, job.key, job.uid, body)


def _group_body(job: BatchJob, template: PodGroupTemplate, name: str) -> Body:
    annotations = carried(template)
    if name != job.name:
        annotations[FULL_NAME] = job.name
    spec = template.wire()
    spec.pop("name")
    return {
        "apiVersion": SCHEDULING_API,
        "kind": "PodGroup",
        "metadata": {
            "namespace": job.metadata.namespace,
            "name": name,
            "annotations": annotations,
            "ownerReferences": [_parent(job).reference],
        },
        "spec": spec,
    }


def _free_name(job: BatchJob, by_name: dict[str, PodGroup]) -> tuple[str, Waiting | None]:
    """Return the first name that nobody else has; one that an earlier Job still has is waited for."""
    claims = [(name, _parent(job).claim_on(by_name.get(name))) for name in dict.fromkeys(names_for(job))]
    name, claim = next((found for found in claims if found[1] is not Claim.FOREIGN), claims[-1])
    return name, obstacle(claim, f"PodGroup {name}")


def _parent(job: BatchJob) -> Parent:
    return Parent("batch/v1", "Job", job.name, job.uid)


def _refused(job: BatchJob, reason: Reason, message: str) -> Step:
    return Step((Announce(Kind.BATCH_JOB, job.key, job.uid, reason.value, message, reason.is_warning),))
