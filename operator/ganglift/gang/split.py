"""One PodGroup for several replicas that share a pod template: split by the value of a label.

The pods of all replicas of a LeaderWorkerSet bear the same group label, so they are one gang, unless annotation
`group-by` on the PodGroup names a label: then each value has a PodGroup of its own, owned by the first, and a pod
belongs to the one of its value. Labels of pods are not touched.

Before the first part is made the label is noted on the PodGroup, and while parts by that label exist it stays split by
it: no pod is counted twice when `group-by` is changed or removed. The parts are the user's to delete then.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from ganglift.api.names import FULL_NAME, GROUP_BY, PART_OF, PART_VALUE, SCHEDULING_API, SPLIT_BY
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup, PodGroupTemplate
from ganglift.base.ids import Key
from ganglift.gang.actions import Action, Body, Create, Kind, Step, merge
from ganglift.gang.naming import group_names, hashed
from ganglift.gang.outcome import Waiting
from ganglift.gang.ownership import Claim, Parent
from ganglift.gang.podgroup import carried, carry_over
from ganglift.gang.reasons import Reason

_MOST_NAMED = 10
_NOT_IN_NAMES = re.compile(r"[^a-z0-9-]+")


def is_split(group: PodGroup) -> bool:
    """Whether the pods that bear the group's label belong to parts of it."""
    return bool(split_label(group)) and not is_part(group)


def split_label(group: PodGroup) -> str:
    """Return the label by which a group is split or is a part, empty for any other."""
    notes = group.metadata.annotations
    return notes.get(SPLIT_BY) or notes.get(GROUP_BY, "")


def marked(group: PodGroup) -> PodGroup:
    """Return a group with the note that goes before its first part: split by the label that is asked for."""
    notes = dict(group.metadata.annotations)
    if GROUP_BY in notes:
        notes[SPLIT_BY] = notes[GROUP_BY]
    return group.model_copy(update={"metadata": group.metadata.model_copy(update={"annotations": notes})})


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
    return pod.metadata.labels.get(split_label(group), "")


@lru_cache(maxsize=4096)
def part_names(group: str, value: str) -> tuple[str, str]:
    """Return the names that the part of a group for a value may have; the second where the first is taken."""
    word = _NOT_IN_NAMES.sub("-", value.lower()).strip("-")
    if word != value:
        # Values that make the same word are told apart by a hash of what they are.
        word = f"{word}-{hashed(f'{group}-{value}')[-6:]}"
    return group_names(group, word)


def parts_step(
    group: PodGroup, pods: Iterable[Pod], groups: Iterable[PodGroup], parts: Iterable[PodGroup] = ()
) -> Step:
    """Return what a split group asks for: a part for each value that its pods have, and changes carried over.

    `groups` are the PodGroups that have a name a part might want, `parts` those that the group owns.
    """
    wanted, old = group.metadata.annotations.get(GROUP_BY), _old_parts(group, parts)
    noted = old[0].metadata.annotations[GROUP_BY] if old else wanted
    if group.metadata.annotations.get(SPLIT_BY) != noted:
        body = {"metadata": {"annotations": {SPLIT_BY: noted}}}
        return Step((merge(Kind.POD_GROUP, group.key, group.uid, body),), is_final=False)
    return Step(_parts(group, pods, groups) if wanted and not old else ())


def split_trouble(group: PodGroup, parts: Iterable[PodGroup]) -> Waiting | None:
    """Return what keeps a group from following its annotation, None if nothing does."""
    old = _old_parts(group, parts)
    if not old:
        return None
    label, wanted = old[0].metadata.annotations[GROUP_BY], group.metadata.annotations.get(GROUP_BY)
    now = f"now names {wanted}" if wanted else "is gone"
    names = " ".join(f"gpg/{part.name}" for part in old[:_MOST_NAMED])
    more = f" and {len(old) - _MOST_NAMED} more" if len(old) > _MOST_NAMED else ""
    words = (
        f"annotation group-by {now}, and there are parts by label {label}, which have the pods until you delete them"
    )
    return Waiting(Reason.SPLIT, f"{words}: {names}{more}")


def _old_parts(group: PodGroup, parts: Iterable[PodGroup]) -> list[PodGroup]:
    """Return the parts by another label than is asked for now."""
    wanted = group.metadata.annotations.get(GROUP_BY)
    owned = (part for part in parts if is_part(part) and part.controller and part.controller.uid == group.uid)
    return sorted((p for p in owned if p.metadata.annotations.get(GROUP_BY) != wanted), key=lambda p: p.name)


def _parts(group: PodGroup, pods: Iterable[Pod], groups: Iterable[PodGroup]) -> tuple[Action, ...]:
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
    return tuple(actions)


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
