"""Adopting a batch/v1 Job that asks for it by annotation: label and gate go into its template, then it is resumed.

A Job's template can be changed only while it is suspended (before 1.36 only if it never started), so the user creates
it with `suspend: true`. It is adopted once: the mark goes on in the very patch that resumes it, and `suspend` is never
touched again, so that a user's own suspension survives our restarts. Owners that restore templates or set `suspend`
themselves (Kueue, JobSet) put label and gate into their own template instead.

The PodGroup comes after that patch, so that the group always finds its Job's pods labelled; a crash between the two is
made up for at the next look.
"""

from collections.abc import Iterable

from pydantic import ValidationError

from ganglift.api.job import BatchJob
from ganglift.api.names import ADOPTED, FULL_NAME, GATE, GROUP_LABEL, SCHEDULING, SCHEDULING_API
from ganglift.api.scheduling import PodGroup, PodGroupTemplate, Scheduling
from ganglift.gang.actions import Action, Announce, Body, Create, Kind, Step, strategic
from ganglift.gang.naming import LIMIT, hashed
from ganglift.gang.outcome import Waiting
from ganglift.gang.ownership import Claim, Parent, obstacle
from ganglift.gang.podgroup import carried, carry_over
from ganglift.gang.reasons import Reason

_QUEUE_NAME = "kueue.x-k8s.io/queue-name"
_TEMPLATE = "adopted"
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
        template = adopted_template(job)
    except ValueError as error:
        return _refused(job, Reason.INVALID, str(error))
    if (why := unfit(job, minor)) is not None:
        return _refused(job, Reason.NOT_ADOPTED, why)
    name, trouble = _free_name(job, by_name)
    if trouble is not None:
        return _refused(job, trouble.reason, trouble.message)
    return Step((_adopt(job, template, name), Create(Kind.POD_GROUP, _group_body(job, template, name))), is_final=False)


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


def adopted_template(job: BatchJob) -> PodGroupTemplate:
    """Return what the annotation asks for; raise ValueError with words for the user where it can't be read."""
    example = '{"schedulingPolicy":{"gang":{}}}'
    try:
        asked = Scheduling.model_validate_json(job.metadata.annotations[SCHEDULING])
    except ValidationError as error:
        raise ValueError(f"annotation {SCHEDULING} can't be read, write for example {example}: {error}") from error
    policy = asked.scheduling_policy
    if (policy.gang is None) == (policy.basic is None):
        raise ValueError(f"annotation {SCHEDULING} must name exactly one of gang and basic, for example {example}")
    fields = asked.wire() | {"name": _TEMPLATE}
    if policy.gang is not None:
        count = policy.gang.min_count if policy.gang.min_count is not None else max(1, job.spec.parallelism)
        if not 1 <= count <= max(1, job.spec.parallelism):
            raise ValueError(f"minCount {count} is not between 1 and parallelism {job.spec.parallelism}: change one")
        fields["schedulingPolicy"] = {"gang": {"minCount": count}}
    if priority_class := (job.spec.template.get("spec") or {}).get("priorityClassName"):
        fields["priorityClassName"] = priority_class
    return PodGroupTemplate.model_validate(fields)


def names_for(job: BatchJob) -> tuple[str, str]:
    """Return the names that the PodGroup of an adopted Job may have."""
    return (job.name if len(job.name) <= LIMIT else hashed(job.name)), hashed(job.name)


def _keep(job: BatchJob, name: str, group: PodGroup | None) -> Step:
    """Keep the PodGroup of an adopted Job, and follow its parallelism where the gang names no minCount."""
    try:
        template = adopted_template(job)
    except ValueError as error:
        return _refused(job, Reason.INVALID, str(error))
    if group is None:
        return Step((Create(Kind.POD_GROUP, _group_body(job, template, name)),), is_final=False)
    if (trouble := obstacle(_parent(job).claim_on(group), f"PodGroup {name}")) is not None:
        return _refused(job, trouble.reason, trouble.message)
    patch = None if group.is_deleting else carry_over(group, template)
    return Step((patch,) if patch is not None else ())


def _adopt(job: BatchJob, template: PodGroupTemplate, name: str) -> Action:
    labels = {GROUP_LABEL: name}
    pod_template: dict[str, object] = {"metadata": {"labels": labels}}
    if template.gang is not None:
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
