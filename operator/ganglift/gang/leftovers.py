"""What a Job leaves behind that is deleted with `--cascade=orphan`: all that was made for it, with no owner any more.

It has the names that a new Job of that name needs and belongs to nobody, so it is told of as a whole, to be deleted in
one go. It is never taken over: its pods may be at work that the new Job would do again.
"""

from collections.abc import Iterable, Iterator

from ganglift.api.job import BatchJob, GangJob
from ganglift.api.names import ADOPTED, BATCH_GROUP, GROUP_LABEL, JOB_UID, SCHEDULING
from ganglift.api.scheduling import ControllerRef, PodGroup, Workload
from ganglift.gang.membership import group_name_of
from ganglift.gang.outcome import Waiting
from ganglift.gang.reasons import Reason


def left_over(
    job: GangJob, child: BatchJob | None, workload: Workload | None, groups: Iterable[PodGroup]
) -> Waiting | None:
    """Return what to say where a deleted Job of this name has left something; None where it has not.

    `child` and `workload` are what bears the Job's name, `groups` the PodGroups that refer to that Workload.
    """
    found = tuple(_names(job, child, workload, groups))
    if not found:
        return None
    words = "a deleted Job of this name has left what it had (--cascade=orphan), once that is not needed any more"
    return Waiting(Reason.NAME_CONFLICT, f"{words}: kubectl delete {' '.join(found)}")


def _names(
    job: GangJob, child: BatchJob | None, workload: Workload | None, groups: Iterable[PodGroup]
) -> Iterator[str]:
    if child is not None and _is_child_of_nobody(child):
        yield f"job/{child.name}"
    is_orphan = workload is not None and _is_workload_of_nobody(job, workload)
    if is_orphan:
        yield f"gwl/{job.name}"
    for group in sorted(groups, key=lambda group: group.name):
        if _is_of_another(job, group) and (group.controller is None or is_orphan):
            yield f"gpg/{group.name}"


def _is_of_another(job: GangJob, group: PodGroup) -> bool:
    ref, made_for = group.spec.workload_ref, group.metadata.annotations.get(JOB_UID, job.uid)
    return ref is not None and ref.workload_name == job.name and made_for != job.uid and not group.is_deleting


def _is_child_of_nobody(child: BatchJob) -> bool:
    """Whether it looks as a child does: labelled itself, as its pods are, and not because it was adopted."""
    if child.controller is not None or child.is_deleting or child.metadata.annotations.keys() & {ADOPTED, SCHEDULING}:
        return False
    label = child.metadata.labels.get(GROUP_LABEL, "")
    return bool(label) and label == group_name_of(child)


def _is_workload_of_nobody(job: GangJob, workload: Workload) -> bool:
    made_for = ControllerRef(api_group=BATCH_GROUP, kind="Job", name=job.name)
    return workload.controller is None and not workload.is_deleting and workload.spec.controller_ref == made_for
