"""Replicas that share a pod template, split by a label into gangs of their own."""

from __future__ import annotations

import pytest
from tests.builders import PodBuilder, pod
from tests.kinds import PodGroupBuilder, podgroup, stamp

from ganglift.api.names import GROUP_BY, PART_OF, PART_VALUE, SPLIT_BY, TEMPLATE_MIN_COUNT
from ganglift.base.ids import Key
from ganglift.gang.actions import Create, Patch, Step
from ganglift.gang.membership import members_of
from ganglift.gang.need import need_of
from ganglift.gang.outcome import Waiting
from ganglift.gang.reasons import Reason
from ganglift.gang.split import base_of, part_names, parts_step, split_trouble
from ganglift.gang.state import gather, observe

LABEL = "leaderworkerset.sigs.k8s.io/group-index"
ASKED = podgroup("lws").gang(2).annotation(GROUP_BY, LABEL)
BASE = ASKED.annotation(SPLIT_BY, LABEL)
NO_MORE = podgroup("lws").gang(2).annotation(SPLIT_BY, LABEL)


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
        f"there are pods with no label {LABEL}, by which the group's pods are split",
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


class TestChangeOfTheLabel:
    def noted(self, group: PodGroupBuilder, *parts: PodGroupBuilder) -> object:
        """What is noted on the group, which is all that is done."""
        (patch,) = parts_step(group.made, PODS, [], [each.made for each in parts]).actions
        assert isinstance(patch, Patch)
        return patch.body["metadata"]["annotations"][SPLIT_BY]

    def test_is_noted_before_the_first_part_is_made(self) -> None:
        assert self.noted(ASKED) == LABEL

    @pytest.mark.parametrize("group", [NO_MORE, NO_MORE.annotation(GROUP_BY, "shard")])
    def test_leaves_the_pods_to_the_old_parts_while_there_are_any(self, group: PodGroupBuilder) -> None:
        parts = [part("0").made, part("1").made]
        assert parts_step(group.made, PODS, parts, parts) == Step()
        assert members_of(group.made, PODS).live_count == 0
        assert members_of(parts[0], PODS).live_count == 2
        trouble = split_trouble(group.made, parts)
        assert trouble is not None
        assert trouble.message.endswith("until you delete them: gpg/lws-0 gpg/lws-1")

    def test_comes_into_force_when_the_old_parts_are_gone(self) -> None:
        assert self.noted(NO_MORE) is None
        assert self.noted(NO_MORE.annotation(GROUP_BY, "shard")) == "shard"

    def test_is_noted_anew_where_a_replace_took_the_note_away(self) -> None:
        assert self.noted(podgroup("lws").gang(2), part("0")) == LABEL

    def test_asks_for_nothing_once_the_split_is_undone(self) -> None:
        assert parts_step(podgroup("lws").gang(2).made, PODS, []) == Step()
        assert members_of(podgroup("lws").gang(2).made, PODS).live_count == 4
