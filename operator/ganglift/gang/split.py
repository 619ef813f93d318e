"""One PodGroup for several replicas that share a pod template: split by the value of a label.

The pods of all replicas of a LeaderWorkerSet bear the same group label, so they are one gang, unless annotation
`group-by` on the PodGroup names a label: then each value has a PodGroup of its own, owned by the first, and a pod
belongs to the one of its value. Labels of pods are not touched.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from ganglift.api.names import FULL_NAME, GROUP_BY, PART_OF, PART_VALUE, SCHEDULING_API
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup, PodGroupTemplate
from ganglift.base.ids import Key
from ganglift.gang.actions import Action, Body, Create, Kind, Step
from ganglift.gang.naming import group_names, hashed
from ganglift.gang.ownership import Claim, Parent
from ganglift.gang.podgroup import carried, carry_over

_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")


def is_split(group: PodGroup) -> bool:
    """Whether the pods that bear the group's label belong to parts of it."""
    return GROUP_BY in group.metadata.annotations and not is_part(group)


def is_part(group: PodGroup) -> bool:
    """Whether it is one that a split made. A copy under another name is none: no two groups claim the same pods."""
    notes, owner = group.metadata.annotations, group.controller
    if PART_OF not in notes or owner is None or (owner.api_version, owner.kind) != (SCHEDULING_API, "PodGroup"):
        return False
    return owner.name == notes[PART_OF] and group.name in part_names(owner.name, notes.get(PART_VALUE, ""))


def base_of(group: PodGroup) -> Key:
    """Return the group whose label the pods of this one bear: itself, or the one that it is a part of."""
    name = group.metadata.annotations[PART_OF] if is_part(group) else group.name
    return Key(group.metadata.namespace, name)


def belongs(pod: Pod, group: PodGroup) -> bool:
    """Whether a pod is one of the group's, by namespace and labels; the pods of a split group are its parts'."""
    if pod.group != base_of(group):
        return False
    if is_part(group):
        return value_of(pod, group) == group.metadata.annotations.get(PART_VALUE)
    return not is_split(group) or not value_of(pod, group)


def value_of(pod: Pod, group: PodGroup) -> str:
    """Return the value of the label by which a group is split, empty for a pod without it."""
    return pod.metadata.labels.get(group.metadata.annotations.get(GROUP_BY, ""), "")


@lru_cache(maxsize=4096)
def part_names(group: str, value: str) -> tuple[str, str]:
    """Return the names that the part of a group for a value may have; the second where the first is taken."""
    word = _NOT_IN_NAMES.sub("-", value.lower()).strip("-")
    if word != value:
        # Values that make the same word are told apart by a hash of what they are.
        word = f"{word}-{hashed(f'{group}-{value}')[-6:]}"
    return group_names(group, word)


def parts_step(group: PodGroup, pods: Iterable[Pod], groups: Iterable[PodGroup]) -> Step:
    """Return what a split group asks for: a part for each value that its pods have, and changes carried over.

    `groups` are the PodGroups that have a name a part might want.
    """
    by_name = {found.name: found for found in groups}
    values = sorted({value for pod in pods if pod.group == group.key and (value := value_of(pod, group))})
    template = PodGroupTemplate.model_validate(
        {**group.spec.model_dump(by_alias=True, exclude={"workload_ref"}, exclude_unset=True), "name": "part"}
    )
    actions: list[Action] = []
    for value in values:
        name, claim = _free(group, part_names(group.name, value), by_name)
        if claim is Claim.FREE:
            actions.append(Create(Kind.POD_GROUP, _part_body(group, template, name, value)))
        elif claim is Claim.OURS and (patch := carry_over(by_name[name], template)) is not None:
            actions.append(patch)
    return Step(tuple(actions))


def _free(group: PodGroup, names: tuple[str, str], by_name: dict[str, PodGroup]) -> tuple[str, Claim]:
    claims = [(name, _parent(group).claim_on(by_name.get(name))) for name in dict.fromkeys(names)]
    return next((found for found in claims if found[1] is not Claim.FOREIGN), claims[-1])


def _part_body(group: PodGroup, template: PodGroupTemplate, name: str, value: str) -> Body:
    annotations = carried(template) | {
        GROUP_BY: group.metadata.annotations[GROUP_BY],
        PART_OF: group.name,
        PART_VALUE: value,
        FULL_NAME: f"{group.name}-{value}",
    }
    spec = template.wire()
    spec.pop("name")
    return {
        "apiVersion": SCHEDULING_API,
        "kind": "PodGroup",
        "metadata": {
            "namespace": group.metadata.namespace,
            "name": name,
            "annotations": annotations,
            "ownerReferences": [_parent(group).reference],
        },
        "spec": spec,
    }


def _parent(group: PodGroup) -> Parent:
    return Parent(SCHEDULING_API, "PodGroup", group.name, group.uid)
