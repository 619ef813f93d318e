"""What the annotation of a batch/v1 Job asks for: the JSON that stands under `scheduling` in our own Job.

No API server reads an annotation, so a misspelt field would be dropped here and the Job would start as no gang at all.
It is therefore read strictly: every field must be known and have its type, and a policy must be named. Limits of values
are those of the PodGroup's CustomResourceDefinition, which judges the group before the Job is touched.
"""

from collections.abc import Iterator
from difflib import get_close_matches

from pydantic import ValidationError

from ganglift.api.job import BatchJob
from ganglift.api.names import SCHEDULING
from ganglift.api.objections import objections
from ganglift.api.scheduling import PodGroupTemplate, Scheduling

_EXAMPLE = '{"schedulingPolicy":{"gang":{}}}'
_TEMPLATE = "adopted"
_OF_THE_PODS = ("priorityClassName", "priority", "preemptionPolicy")
_FIELDS = (
    "schedulingPolicy",
    "schedulingPolicy.basic",
    "schedulingPolicy.gang",
    "schedulingPolicy.gang.minCount",
    "schedulingConstraints",
    "schedulingConstraints.topology",
    "resourceClaims",
    "disruptionMode",
    "scheduleTimeoutSeconds",
)
"""What is mostly written, to say what a misspelt field stands for."""


def asked_of(job: BatchJob) -> PodGroupTemplate:
    """Return what the annotation asks for; raise ValueError with words for the user where it can't be read."""
    try:
        asked = Scheduling.model_validate_json(
            job.metadata.annotations[SCHEDULING], strict=True, extra="forbid", by_alias=True, by_name=False
        )
    except ValidationError as error:
        raise ValueError(_words("; ".join(_objections(error)))) from error
    if "scheduling_policy" not in asked.model_fields_set:
        raise ValueError(_words("schedulingPolicy: is missing"))
    policy = asked.scheduling_policy
    if (policy.gang is None) == (policy.basic is None):
        raise ValueError(_words("schedulingPolicy: must name exactly one of gang and basic"))
    fields = asked.wire() | {"name": _TEMPLATE}
    if policy.gang is not None:
        count = policy.gang.min_count if policy.gang.min_count is not None else max(1, job.spec.parallelism)
        fields["schedulingPolicy"] = {"gang": {"minCount": count}}
    if priority_class := (job.spec.template.get("spec") or {}).get("priorityClassName"):
        fields["priorityClassName"] = priority_class
    return PodGroupTemplate.model_validate(fields)


def check_fit(template: PodGroupTemplate, job: BatchJob) -> None:
    """Raise ValueError where the Job's pods can't make up the gang.

    Judged before the adoption only: a Job that is scaled down later keeps its group.
    """
    if template.gang is None:
        return
    count, parallelism = template.gang.min_count or 0, job.spec.parallelism
    if not 1 <= count <= max(1, parallelism):
        raise ValueError(f"minCount {count} is not between 1 and parallelism {parallelism}: change one")
    slices = max((level.slices or 1 for level in template.topology), default=1)
    if slices > count:
        raise ValueError(f"slices {slices} is above minCount {count}, so that a slice would have no member: change one")


def _objections(error: ValidationError) -> Iterator[str]:
    for field, words in objections(error):
        yield f"{field}: {words}{_hint(field)}" if field else f"it can't be read: {words}"


def _hint(field: str) -> str:
    """Name the field that is meant by one that there is not: other letters are capital, or it stands elsewhere."""
    name = field.rpartition(".")[2]
    if name in _OF_THE_PODS:
        return ", it is taken from the Job's pod template"
    by_name = {path.rpartition(".")[2].lower(): path for path in _FIELDS}
    close = get_close_matches(name.lower(), by_name, n=1, cutoff=0.8)
    return f", {by_name[close[0]]} is meant" if close and by_name[close[0]] != field else ""


def _words(trouble: str) -> str:
    return f"annotation {SCHEDULING}: {trouble}; write for example {_EXAMPLE}"
