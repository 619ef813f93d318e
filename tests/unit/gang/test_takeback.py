"""Taking members back: in which order, and by which means for whose pods."""

import pytest
from tests.builders import PodBuilder, pod
from tests.kinds import BatchJobBuilder, PodGroupBuilder, batch_job, podgroup, stamp

from ganglift.api.job import BatchJob
from ganglift.api.names import JOB_TRACKING, LIFTED_AT, TAKEN_BACK
from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Uid
from ganglift.gang.actions import Delete, Evict, Patch
from ganglift.gang.membership import members_of
from ganglift.gang.state import observe
from ganglift.gang.takeback import Takeback, leftovers, may_take_bound, survivors, take_back

GROUP = podgroup("g").gang(4)
JOB = batch_job("train")


def member(name: str) -> PodBuilder:
    return pod(name).gang("g")._with("metadata", "finalizers", value=[JOB_TRACKING])


def owned(name: str) -> PodBuilder:
    return member(name).owner("Job", "train", "uid-train-child")


def taken(*pods: PodBuilder, job: BatchJobBuilder | None = JOB, with_bound: bool = True) -> Takeback:
    jobs: dict[Uid, BatchJob] = {job.made.uid: job.made} if job else {}
    return take_back(members_of(GROUP.made, [p.made for p in pods]), jobs, "no room for b", with_bound=with_bound)


def test_unbound_members_go_first_and_gated_ones_stay() -> None:
    back = taken(owned("bound").on("n1"), owned("lifted"), owned("gated").gated())
    assert [step.pod.name for step in back.steps] == ["lifted", "bound"]


def test_bound_members_stay_unless_they_are_to_go() -> None:
    back = taken(owned("bound").on("n1"), owned("lifted"), with_bound=False)
    assert [step.pod.name for step in back.steps] == ["lifted"]


def test_an_unbound_pod_of_a_job_is_detached_and_deleted() -> None:
    (step,) = taken(owned("w")).steps
    detach, delete = step.actions
    assert isinstance(detach, Patch)
    assert detach.body == {
        "metadata": {
            "uid": "uid-w",
            "$deleteFromPrimitiveList/finalizers": [JOB_TRACKING],
            "annotations": {TAKEN_BACK: "true"},
        }
    }
    assert isinstance(delete, Delete)
    assert delete.uid == "uid-w"


def test_a_bound_pod_of_a_job_is_told_before() -> None:
    (step,) = taken(owned("w").on("n1")).steps
    notice = step.actions[0]
    assert isinstance(notice, Patch)
    assert notice.subresource == "status"
    assert notice.body["status"]["conditions"] == [
        {"type": "DisruptionTarget", "status": "True", "reason": "GangTakenBack", "message": "no room for b"}
    ]
    assert len(step.actions) == 3


@pytest.mark.parametrize(
    ("builder", "job"),
    [
        (member("w").owner("ReplicaSet", "r", "uid-r", "apps/v1"), JOB),
        (owned("w"), JOB.spec(managedBy="acme.io/jobs")),
        (owned("w"), None),
    ],
)
def test_a_pod_of_any_other_controller_is_evicted(builder: PodBuilder, job: BatchJobBuilder | None) -> None:
    (step,) = taken(builder, job=job).steps
    assert step.actions == (Evict(builder.made.key, Uid("uid-w")),)


def test_a_bare_pod_is_left_and_named() -> None:
    back = taken(pod("bare").gang("g"))
    assert back.steps == ()
    assert [left.name for left in back.left] == ["bare"]


def test_a_pod_detached_before_a_crash_is_deleted() -> None:
    detached = pod("w").gang("g").annotation(TAKEN_BACK, "true").made
    (step,) = leftovers([detached, pod("other").made])
    assert step.actions == (Delete(step.actions[0].kind, detached.key, detached.uid),)  # type: ignore[union-attr]


def test_a_pod_marked_whose_finalizer_came_back_is_detached_again() -> None:
    (step,) = leftovers([owned("w").annotation(TAKEN_BACK, "true").made])
    assert [type(action) for action in step.actions] == [Patch, Delete]


def test_a_pod_that_is_being_deleted_needs_nothing_more() -> None:
    assert leftovers([owned("w").annotation(TAKEN_BACK, "true").terminating().made]) == ()


@pytest.mark.parametrize(
    ("group", "goes"),
    [
        (GROUP, True),
        (GROUP.status(scheduledTime=stamp(0)), False),
        (GROUP.status(scheduledTime=stamp(0)).disrupted_as_one(), True),
    ],
)
def test_bound_members_go_from_a_gang_never_whole_or_disrupted_as_one(group: object, goes: bool) -> None:
    made: PodGroup = group.made  # type: ignore[attr-defined]
    membership = members_of(made, [])
    assert may_take_bound(made, observe(made, membership, 4)) is goes


DEGRADED = GROUP.status(scheduledTime=stamp(0)).disrupted_as_one().condition("Degraded", "True", second=60)


def started(name: str, second: float) -> PodBuilder:
    return owned(name).on("n1").annotation(LIFTED_AT, stamp(second))


def named_survivors(group: PodGroupBuilder, *pods: PodBuilder, need: int = 4) -> list[str]:
    membership = members_of(group.made, [one.made for one in pods])
    return [one.name for one in survivors(group.made, membership, observe(group.made, membership, need))]


def test_all_that_ran_before_the_loss_go_from_a_gang_disrupted_as_one() -> None:
    assert named_survivors(DEGRADED, started("a", 1), started("b", 59), owned("c").gated()) == ["a", "b"]


def test_a_gang_started_anew_does_not_go_again() -> None:
    assert named_survivors(DEGRADED, started("a", 1), started("b", 61)) == ["a"]
    assert named_survivors(DEGRADED, started("a", 61), started("b", 62), owned("c").gated()) == []


def test_a_member_lifted_by_someone_else_is_told_by_when_it_was_bound() -> None:
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(5)}
    assert named_survivors(DEGRADED, owned("a").on("n1")._with("status", "conditions", value=[bound])) == ["a"]


@pytest.mark.parametrize(
    "group",
    [
        GROUP.status(scheduledTime=stamp(0)).condition("Degraded", "True", second=60),
        GROUP.status(scheduledTime=stamp(0)).disrupted_as_one().condition("Degraded", "False", second=60),
        GROUP.status(scheduledTime=stamp(0)).disrupted_as_one(),
    ],
    ids=["mode single", "not degraded", "never whole"],
)
def test_nobody_goes_from_another_gang(group: PodGroupBuilder) -> None:
    assert named_survivors(group, started("a", 1), started("b", 2)) == []


def test_nobody_goes_from_a_gang_that_has_what_it_needs() -> None:
    assert named_survivors(DEGRADED, started("a", 1), started("b", 2), need=2) == []
