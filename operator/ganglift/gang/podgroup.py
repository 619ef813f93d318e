"""The PodGroups of a Workload: which stands for which template, what they should look like, what is carried over.

For each template there is one seat. A PodGroup that this Workload owns takes it; else one that a user made with a
matching `workloadRef`, which is never changed; else one is made, under the name of the template or, where that belongs
to someone else, under its hashed name. A name that was chosen once is kept: pods bear it as a label.

minCount and the timeout of a template are carried over when they change there, and an edit made on the PodGroup itself
stands until then: what was last carried is noted in annotations.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from ganglift.api.names import BATCH_API, FULL_NAME, JOB_UID, SCHEDULING_API, TEMPLATE_MIN_COUNT, TEMPLATE_TIMEOUT
from ganglift.api.scheduling import PodGroup, PodGroupTemplate, Workload
from ganglift.gang.actions import Action, Body, Create, Kind, Patch, merge
from ganglift.gang.naming import group_names
from ganglift.gang.outcome import Waiting
from ganglift.gang.ownership import Claim, obstacle, parent_of_workload
from ganglift.gang.reasons import Reason

_EPOCH = datetime.fromtimestamp(0, UTC)
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Seat:
    """A template and the PodGroup that stands for it, or the name to make one under, or what forbids that."""

    template: PodGroupTemplate
    name: str
    group: PodGroup | None = None
    is_ours: bool = True
    obstacle: Waiting | None = None


def seats_of(workload: Workload, groups: Iterable[PodGroup], names: Mapping[str, str] = _NO_NAMES) -> tuple[Seat, ...]:
    """Return a seat for each template. `groups` are the PodGroups of the namespace.

    `names` are names by template that can't change any more, since pods with that label exist.
    """
    there = sorted(groups, key=lambda group: (group.metadata.creation_timestamp or _EPOCH, group.name))
    recorded = {seat.template_name: seat.pod_group_name for seat in workload.status.pod_groups}
    return tuple(
        _seat(workload, template, there, {**recorded, **names}.get(template.name), template.name in names)
        for template in workload.spec.pod_group_templates
    )


def group_actions(workload: Workload, seats: Iterable[Seat]) -> tuple[Action, ...]:
    """Return what is to be made and carried over, in the order of the templates."""
    actions: list[Action] = []
    for seat in seats:
        if seat.obstacle is not None:
            continue
        if seat.group is None:
            actions.append(Create(Kind.POD_GROUP, group_body(workload, seat)))
        elif seat.is_ours and (patch := carry_over(seat.group, seat.template)) is not None:
            actions.append(patch)
    return tuple(actions)


def group_body(workload: Workload, seat: Seat) -> Body:
    """Return the PodGroup to make for a seat."""
    template = seat.template
    wanted, _ = group_names(workload.name, template.name)
    full = f"{workload.name}-{template.name}"
    annotations = carried(template)
    if seat.name != full:
        annotations[FULL_NAME] = full
    owner = workload.controller
    if owner is not None and (owner.api_version, owner.kind) == (BATCH_API, "Job"):
        annotations[JOB_UID] = owner.uid
    spec = template.wire()
    spec.pop("name")
    return {
        "apiVersion": SCHEDULING_API,
        "kind": "PodGroup",
        "metadata": {
            "namespace": workload.metadata.namespace,
            "name": seat.name or wanted,
            "annotations": annotations,
            "ownerReferences": [parent_of_workload(workload).reference],
        },
        "spec": {**spec, "workloadRef": {"workloadName": workload.name, "templateName": template.name}},
    }


def carry_over(group: PodGroup, template: PodGroupTemplate) -> Patch | None:
    """Return the patch that brings a change of the template to its PodGroup; None if none is outstanding."""
    noted = group.metadata.annotations
    spec: dict[str, Any] = {}
    if template.gang and noted.get(TEMPLATE_MIN_COUNT) != str(template.gang.min_count):
        spec["schedulingPolicy"] = {"gang": {"minCount": template.gang.min_count}}
    if noted.get(TEMPLATE_TIMEOUT, "") != _timeout_text(template):
        spec["scheduleTimeoutSeconds"] = template.schedule_timeout_seconds
    if not spec:
        return None
    body = {"metadata": {"annotations": carried(template)}, "spec": spec}
    return merge(Kind.POD_GROUP, group.key, group.uid, body)


def missing_workload(group: PodGroup, workload: Workload | None) -> Waiting | None:
    """Return what is missing of what a PodGroup refers to, None if it refers to nothing or all is there."""
    ref = group.spec.workload_ref
    if ref is None:
        return None
    if workload is None and _is_made_for(group, ref.workload_name):
        return Waiting(Reason.DELETING, f"Workload {ref.workload_name} is gone, and the group goes with it")
    if workload is None:
        message = f"Workload {ref.workload_name} does not exist: create it, or create this PodGroup without workloadRef"
        return Waiting(Reason.WORKLOAD_MISSING, message)
    names = [template.name for template in workload.spec.pod_group_templates]
    if ref.template_name not in names:
        message = f"Workload {workload.name} has no template {ref.template_name}, it has {', '.join(names)}"
        return Waiting(Reason.WORKLOAD_MISSING, message)
    return None


def _is_made_for(group: PodGroup, workload: str) -> bool:
    """Whether a Workload of that name owns the group, so that the garbage collector takes the group along."""
    owner = group.controller
    return owner is not None and (owner.api_version, owner.kind, owner.name) == (SCHEDULING_API, "Workload", workload)


def _seat(
    workload: Workload, template: PodGroupTemplate, groups: list[PodGroup], name: str | None, is_fixed: bool
) -> Seat:
    parent = parent_of_workload(workload)
    matching = [group for group in groups if _refers_to(group, workload, template)]
    ours = [group for group in matching if parent.claim_on(group) is Claim.OURS]
    users = [group for group in matching if group.controller is None and not group.is_deleting]
    if ours and ours[0].is_deleting:
        waiting = Waiting(Reason.WAITING_FOR_OLD_JOB, f"PodGroup {ours[0].name} is being deleted, then made anew")
        return Seat(template, ours[0].name, obstacle=waiting)
    if ours or users:
        group = (ours or users)[0]
        return Seat(template, group.name, group, is_ours=bool(ours))
    wanted = group_names(workload.name, template.name)
    candidates = (name,) if name and is_fixed else tuple(filter(None, (name, *wanted)))
    return _free_seat(workload, template, {group.name: group for group in groups}, candidates)


def _free_seat(
    workload: Workload, template: PodGroupTemplate, by_name: Mapping[str, PodGroup], candidates: tuple[str, ...]
) -> Seat:
    """Take the first name that nobody else has. One that an earlier run still has is waited for."""
    parent = parent_of_workload(workload)
    claims = [(name, parent.claim_on(by_name.get(name))) for name in dict.fromkeys(candidates)]
    name, claim = next((found for found in claims if found[1] is not Claim.FOREIGN), claims[-1])
    return Seat(template, name, obstacle=obstacle(claim, f"PodGroup {name}"))


def _refers_to(group: PodGroup, workload: Workload, template: PodGroupTemplate) -> bool:
    ref = group.spec.workload_ref
    return ref is not None and (ref.workload_name, ref.template_name) == (workload.name, template.name)


def carried(template: PodGroupTemplate) -> dict[str, str]:
    """Return the annotations that note what of a template its PodGroup has."""
    carried = {TEMPLATE_TIMEOUT: _timeout_text(template)}
    if template.gang is not None:
        carried[TEMPLATE_MIN_COUNT] = str(template.gang.min_count)
    return carried


def _timeout_text(template: PodGroupTemplate) -> str:
    return "" if template.schedule_timeout_seconds is None else str(template.schedule_timeout_seconds)
