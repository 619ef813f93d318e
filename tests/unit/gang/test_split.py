"""Replicas that share a pod template, split by a label into gangs of their own."""

from __future__ import annotations

import pytest
from tests.builders import PodBuilder, pod
from tests.kinds import PodGroupBuilder, podgroup, stamp

from ganglift.api.names import GROUP_BY, PART_OF, PART_VALUE, TEMPLATE_MIN_COUNT
from ganglift.base.ids import Key
from ganglift.gang.actions import Create, Patch, Step
from ganglift.gang.membership import members_of
from ganglift.gang.need import need_of
from ganglift.gang.outcome import Waiting
from ganglift.gang.reasons import Reason
from ganglift.gang.split import base_of, part_names, parts_step
from ganglift.gang.state import gather, observe

LABEL = "leaderworkerset.sigs.k8s.io/group-index"
BASE = podgroup("lws").gang(2).annotation(GROUP_BY, LABEL)


def member(name: str, value: str | None) -> PodBuilder:
    builder = pod(name).gang("lws").gated()
    return builder if value is None else builder.label(LABEL, value)


def part(value: str) -> PodGroupBuilder:
    """A part as it is made for BASE."""
    (create,) = parts_step(BASE.made, [member("x", value).made], []).actions
    assert isinstance(create, Create)
    metadata = dict(create.body["metadata"])
    return PodGroupBuilder(
        {
            "metadata": metadata | {"uid": f"uid-{metadata['name']}", "creationTimestamp": stamp(0)},
            "spec": create.body["spec"],
        }
    )


PODS = [member("a-0", "0").made, member("a-1", "0").made, member("b-0", "1").made, member("lost", None).made]


def test_a6_each_value_gets_a_group_owned_by_the_first() -> None:
    actions = parts_step(BASE.made, PODS, []).actions
    assert [action.key.name for action in actions if isinstance(action, Create)] == ["lws-0", "lws-1"]
    first = part("0").made
    assert first.min_count == 2
    assert first.metadata.annotations[PART_VALUE] == "0"
    assert first.controller is not None
    assert (first.controller.kind, first.controller.uid) == ("PodGroup", "uid-lws")


def test_a_part_counts_the_pods_of_its_value_alone() -> None:
    membership = members_of(part("0").made, PODS)
    assert [found.name for found in membership.live] == ["a-0", "a-1"]
    assert base_of(part("0").made) == Key("default", "lws")


def test_the_first_counts_nobody_and_names_who_belongs_nowhere() -> None:
    group = BASE.made
    membership = members_of(group, PODS)
    assert membership.live_count == 0
    state = observe(group, membership, need_of(group, None, membership))
    assert gather(group, membership, state) == Waiting(
        Reason.SPLIT,
        f"its pods are split by label {LABEL} into 2 groups; "
        f"pod lost has no label {LABEL}, by which the group's pods are split",
    )


def test_nothing_is_made_twice() -> None:
    assert parts_step(BASE.made, PODS, [part("0").made, part("1").made]) == Step()


def test_a_changed_min_count_is_carried_over_to_the_parts() -> None:
    (patch,) = parts_step(BASE.gang(3).made, PODS[:2], [part("0").made]).actions
    assert isinstance(patch, Patch)
    assert patch.body["spec"] == {"schedulingPolicy": {"gang": {"minCount": 3}}}
    assert patch.body["metadata"]["annotations"][TEMPLATE_MIN_COUNT] == "3"


def test_a_part_is_not_split_again() -> None:
    assert PART_OF in part("0").made.metadata.annotations
    assert members_of(part("0").made, PODS).values == ()


@pytest.mark.parametrize("value", ["0", "Upper_Case.9", "x" * 63, "a.b"])
def test_names_of_parts_are_valid_names(value: str) -> None:
    names = part_names("lws", value)
    assert all(len(name) <= 63 and name == name.lower() and "_" not in name for name in names)


def test_values_that_look_alike_as_names_get_groups_of_their_own() -> None:
    assert part_names("lws", "A")[0] != part_names("lws", "a")[0]


def test_a_name_that_someone_else_has_gives_way_to_the_hashed_one() -> None:
    (create,) = parts_step(BASE.made, PODS[:1], [podgroup("lws-0").made]).actions
    assert isinstance(create, Create)
    assert create.key.name == part_names("lws", "0")[1]


def test_a_copy_of_a_part_claims_nobodys_pods() -> None:
    copy = part("0").meta(name="mine", uid="uid-mine").made
    assert members_of(copy, PODS).live_count == 0
    assert base_of(copy) == Key("default", "mine")


def test_a_group_that_only_says_that_it_is_a_part_claims_nobodys_pods() -> None:
    said = part("0").meta(ownerReferences=[]).made
    assert members_of(said, PODS).live_count == 0
