"""What a PodGroup's status says, when its times move, and which events a change is worth."""

from datetime import datetime

import pytest
from tests.builders import PodBuilder, pod
from tests.kinds import BatchJobBuilder, PodGroupBuilder, at, batch_job, podgroup

from ganglift.api.model import Condition
from ganglift.api.names import PARKED
from ganglift.api.scheduling import PodGroup, PodGroupStatus
from ganglift.base.ids import Uid
from ganglift.gang.membership import members_of
from ganglift.gang.need import need_of
from ganglift.gang.outcome import BackOff, FenceUnavailable, Held, Lifting, LiftRefused, Outcome, Unschedulable
from ganglift.gang.outcome import Waiting as Wait
from ganglift.gang.reasons import ConditionType, Reason
from ganglift.gang.state import observe
from ganglift.gang.status import recheck_at, status_of, status_patch, transitions

GROUP = podgroup("g").gang(4)
CHILD = batch_job("train").child_of("train").labelled("g").spec(parallelism=4, completions=4)
NO_ROOM = Unschedulable("3 of 4 members fit: 4 nodes: 1 insufficient nvidia.com/gpu; 3 fit")


def bound(count: int, phase: str = "Running") -> list[PodBuilder]:
    return [pod(f"w-{i}").gang("g").owner("Job", "train", "uid-train-child").on("n1", phase) for i in range(count)]


class World:
    """A group whose status is written and read back as the API would."""

    def __init__(self, group: PodGroupBuilder = GROUP) -> None:
        self.group: PodGroup = group.made
        self.events: list[tuple[str, str]] = []

    def see(
        self,
        pods: list[PodBuilder],
        outcome: Outcome | None = None,
        second: float = 0,
        child: BatchJobBuilder | None = None,
    ) -> PodGroupStatus:
        """Show this world at that time and keep what is written."""
        status = self.status(pods, outcome, at(second), child)
        self.events += [(event.reason, event.message) for event in transitions(self.group, status)]
        read_back = PodGroupStatus.model_validate_json(status.model_dump_json(by_alias=True))
        self.group = self.group.model_copy(update={"status": read_back})
        return read_back

    def status(
        self, pods: list[PodBuilder], outcome: Outcome | None, now: datetime, child: BatchJobBuilder | None = None
    ) -> PodGroupStatus:
        job = child.made if child else None
        membership = members_of(self.group, [p.made for p in pods], job)
        state = observe(self.group, membership, need_of(self.group, job, membership), job)
        return status_of(self.group, state, outcome, now, child_uid=job.uid if job else None)

    def edit(self, builder: PodGroupBuilder) -> None:
        self.group = builder.made.model_copy(update={"status": self.group.status})

    def condition(self, kind: ConditionType) -> Condition:
        found = self.group.condition(kind)
        assert found is not None
        return found

    def says(self, kind: ConditionType) -> tuple[str, str]:
        condition = self.condition(kind)
        return condition.status, condition.reason


class TestPriorityMismatch:
    TROUBLE = Wait(Reason.PRIORITY_MISMATCH, "words")

    def conditions(self, trouble: Wait | None) -> list[tuple[str, str]]:
        made = GROUP.made
        state = observe(made, members_of(made, []), 4)
        status = status_of(made, state, None, at(0), priority_trouble=trouble)
        return [(found.status, found.message) for found in status.conditions if found.type == "PriorityMismatch"]

    def test_lasts_as_long_as_the_mismatch(self) -> None:
        assert self.conditions(self.TROUBLE) == [("True", "words")]

    def test_is_gone_with_it(self) -> None:
        assert self.conditions(None) == []


class TestScheduled:
    def test_of_a_parked_gang_names_the_one_that_it_waits_for(self) -> None:
        told = Wait(Reason.WAITING_FOR_QUOTA, "parked while PodGroup x gathers")
        parked = batch_job("train").child_of("train").spec(suspend=True).annotation(PARKED, "x")
        world = World()
        world.see([], told, child=parked)
        assert world.condition(ConditionType.SCHEDULED).message == told.message

    def test_shows_the_verdict_of_a_waiting_gang(self) -> None:
        world = World()
        status = world.see([], NO_ROOM)
        assert world.says(ConditionType.SCHEDULED) == ("False", "Unschedulable")
        assert world.condition(ConditionType.SCHEDULED).message == NO_ROOM.message
        assert status.phase == "Unschedulable"

    def test_is_true_when_need_is_bound(self) -> None:
        world = World()
        assert world.see(bound(4)).phase == "Running"
        assert world.says(ConditionType.SCHEDULED) == ("True", "Scheduled")
        assert world.condition(ConditionType.SCHEDULED).message == "4 of 4 members are bound"

    def test_says_what_members_beyond_need_wait_for(self) -> None:
        world = World()
        extras = [pod(f"e-{i}").gang("g").gated() for i in range(2)]
        world.see([*bound(4), *extras])
        message = "4 of 4 members are bound; 2 more start one by one as there is room"
        assert world.condition(ConditionType.SCHEDULED).message == message

    def test_i9_does_not_stay_unschedulable_once_the_gang_is_bound(self) -> None:
        world = World()
        world.see([], NO_ROOM)
        world.see(bound(4), NO_ROOM)
        assert world.says(ConditionType.SCHEDULED) == ("True", "Scheduled")

    def test_of_a_finished_job_says_how_it_ended(self) -> None:
        world = World()
        assert world.see([], child=CHILD.condition("Complete")).phase == "Succeeded"
        assert World().see([], child=CHILD.condition("Failed")).phase == "Failed"

    def test_of_a_basic_group_counts_its_pods(self) -> None:
        world = World(podgroup("g"))
        status = world.see([*bound(1), pod("b").gang("g")])
        assert world.says(ConditionType.SCHEDULED) == ("False", "Basic")
        assert world.condition(ConditionType.SCHEDULED).message == "1 of 2 members are bound"
        assert status.policy == "Basic"

    def test_observes_the_generation_it_speaks_of(self) -> None:
        world = World(GROUP.meta(generation=7))
        assert world.see([]).observed_generation == 7
        assert world.condition(ConditionType.SCHEDULED).observed_generation == 7

    def test_message_is_cut_to_what_the_schema_takes(self) -> None:
        world = World()
        world.see([], Unschedulable("x" * 40_000))
        assert len(world.condition(ConditionType.SCHEDULED).message) == 4096


class TestPhase:
    @pytest.mark.parametrize(
        ("pods", "phase"),
        [(bound(4), "Running"), ([*bound(3), pod("p").gang("g").on("n1", "Pending")], "Scheduled")],
    )
    def test_i1_is_running_once_all_needed_members_run(self, pods: list[PodBuilder], phase: str) -> None:
        assert World().see(pods).phase == phase

    def test_is_the_reason_while_the_gang_waits(self) -> None:
        assert World().see([], Lifting(1, 4)).phase == "Lifting"


class TestTimes:
    def test_move_only_with_the_status(self) -> None:
        world = World()
        world.see([], NO_ROOM, second=0)
        world.see([], Unschedulable("2 of 4 members fit"), second=10)
        assert world.condition(ConditionType.SCHEDULED).last_transition_time == at(0)
        world.see(bound(4), second=20)
        assert world.condition(ConditionType.SCHEDULED).last_transition_time == at(20)

    def test_have_whole_seconds(self) -> None:
        world = World()
        world.see(bound(4), second=1.75)
        assert world.condition(ConditionType.SCHEDULED).last_transition_time == at(1)
        assert world.group.status.scheduled_time == at(1)

    def test_scheduled_time_is_the_first(self) -> None:
        world = World()
        world.see(bound(4), second=1)
        world.see(bound(3), NO_ROOM, second=2)
        assert world.see(bound(4), second=3).scheduled_time == at(1)


class TestNothingChanged:
    @pytest.mark.parametrize("pods", [[], bound(3), bound(4)])
    @pytest.mark.parametrize("outcome", [None, NO_ROOM, LiftRefused("w-0", "no"), BackOff(at(60), "no room")])
    def test_i8_gives_an_equal_status_and_no_write(self, pods: list[PodBuilder], outcome: Outcome | None) -> None:
        world = World()
        world.see(pods, outcome, second=0)
        again = world.status(pods, outcome, at(3600))
        assert again == world.group.status
        assert status_patch(world.group, again) is None
        assert transitions(world.group, again) == ()


class TestInitiallyScheduled:
    def test_never_goes_back(self) -> None:
        world = World()
        world.see(bound(4))
        world.see(bound(1), NO_ROOM)
        assert world.says(ConditionType.INITIALLY_SCHEDULED) == ("True", "Scheduled")

    @pytest.mark.parametrize(
        ("outcome", "reason"),
        [
            (NO_ROOM, "Unschedulable"),
            (BackOff(at(60), "no room"), "Unschedulable"),
            (Held(("n1",), at(60)), "Unschedulable"),
            (LiftRefused("w-0", "policy"), "SchedulerError"),
            (FenceUnavailable("no answer"), "SchedulerError"),
        ],
    )
    def test_has_upstreams_reasons_before(self, outcome: Outcome, reason: str) -> None:
        world = World()
        world.see([], outcome)
        assert world.says(ConditionType.INITIALLY_SCHEDULED) == ("False", reason)

    def test_is_absent_before_the_first_attempt(self) -> None:
        world = World()
        world.see([], Wait(Reason.WAITING_FOR_MEMBERS, "0 of 4 pods exist"))
        assert world.group.condition(ConditionType.INITIALLY_SCHEDULED) is None

    def test_is_true_for_a_group_made_anew_under_a_job_that_has_successes(self) -> None:
        world = World()
        world.see([], NO_ROOM, child=CHILD.status(succeeded=1))
        assert world.says(ConditionType.INITIALLY_SCHEDULED) == ("True", "Scheduled")


class TestDegraded:
    def test_f14_is_set_when_need_has_been_unmet_for_five_seconds(self) -> None:
        world = World()
        world.see(bound(4), second=0)
        world.see(bound(3), NO_ROOM, second=10)
        assert world.says(ConditionType.DEGRADED) == ("False", "Scheduled")
        due = recheck_at(world.group.status)
        assert due == at(16)
        assert world.see(bound(3), NO_ROOM, second=16).phase == "Degraded"
        assert world.says(ConditionType.DEGRADED) == ("True", "MembersLost")

    def test_is_not_set_by_a_member_that_is_replaced_in_time(self) -> None:
        world = World()
        world.see(bound(4), second=0)
        world.see(bound(3), NO_ROOM, second=10)
        world.see(bound(4), second=14)
        world.see(bound(3), NO_ROOM, second=17)
        assert world.says(ConditionType.DEGRADED) == ("False", "Scheduled")

    def test_ends_when_the_gang_is_whole_again(self) -> None:
        world = World()
        world.see(bound(4), second=0)
        world.see(bound(3), NO_ROOM, second=10)
        world.see(bound(3), NO_ROOM, second=20)
        assert world.see(bound(4), second=30).phase == "Running"
        assert world.says(ConditionType.DEGRADED) == ("False", "Scheduled")

    def test_is_not_set_before_the_gang_was_whole(self) -> None:
        world = World()
        world.see(bound(3), NO_ROOM, second=0)
        world.see(bound(3), NO_ROOM, second=60)
        assert world.group.condition(ConditionType.DEGRADED) is None
        assert recheck_at(world.group.status) is None

    def test_is_not_set_by_an_edit_that_raises_min_count(self) -> None:
        world = World(podgroup("g").gang(3))
        world.see(bound(3), second=0)
        world.edit(podgroup("g").gang(4))
        world.see(bound(3), NO_ROOM, second=10)
        world.see(bound(3), NO_ROOM, second=60)
        assert world.says(ConditionType.DEGRADED) == ("False", "NeedRaised")

    def test_is_not_set_by_suspension_nor_by_the_wait_after_it(self) -> None:
        world = World()
        world.see(bound(4), second=0, child=CHILD)
        world.see([], second=10, child=CHILD.spec(suspend=True))
        world.see([], NO_ROOM, second=20, child=CHILD)
        world.see([], NO_ROOM, second=60, child=CHILD)
        assert world.says(ConditionType.DEGRADED) == ("False", "Suspended")

    def test_is_not_set_by_members_that_finish(self) -> None:
        world = World()
        world.see(bound(4), child=CHILD)
        done = [*bound(3), pod("d").gang("g").owner("Job", "train", "uid-train-child").on("n1", "Succeeded")]
        assert world.see(done, second=60, child=CHILD).phase == "Running"
        assert world.group.status.need == 3


class TestEvents:
    def test_are_one_for_each_transition(self) -> None:
        world = World()
        world.see([], Wait(Reason.WAITING_FOR_MEMBERS, "0 of 4 pods exist"))
        world.see([], NO_ROOM)
        world.see([], Unschedulable("2 of 4 members fit"))
        world.see([], Lifting(0, 4))
        world.see(bound(4), second=1)
        assert [reason for reason, _ in world.events] == [
            "WaitingForMembers",
            "Unschedulable",
            "Lifting",
            "Scheduled",
        ]

    def test_i5_say_each_count_of_missing_members(self) -> None:
        world = World()
        for count in (1, 3, 3):
            world.see([], Wait(Reason.WAITING_FOR_MEMBERS, f"{count} of 4 pods exist"))
        assert [message for _, message in world.events] == ["1 of 4 pods exist", "3 of 4 pods exist"]

    def test_warn_of_a_degraded_gang_once(self) -> None:
        world = World()
        world.see(bound(4), second=0)
        world.see(bound(3), NO_ROOM, second=10)
        for second in (20, 30):
            world.see(bound(3), NO_ROOM, second=second)
        assert [reason for reason, _ in world.events] == ["Scheduled", "Unschedulable", "MembersLost"]

    def test_are_warnings_where_a_user_should_act(self) -> None:
        world = World()
        (event,) = transitions(world.group, world.status([], NO_ROOM, at(0)))
        assert event.is_warning
        (event,) = transitions(world.group, world.status(bound(4), None, at(0)))
        assert not event.is_warning

    def test_are_none_before_the_first_plan(self) -> None:
        world = World()
        world.see([pod("w").gang("g").gated()])
        assert world.events == []


def test_the_childs_uid_is_recorded_once_and_stays() -> None:
    world = World()
    world.see([], child=CHILD)
    assert world.see([], child=CHILD.meta(uid="uid-later")).child_uid == Uid("uid-train-child")


def test_disruption_target_is_kept() -> None:
    world = World(GROUP.condition("DisruptionTarget", "True", "PreemptionByScheduler"))
    world.see(bound(4))
    assert world.says(ConditionType.DISRUPTION_TARGET) == ("True", "PreemptionByScheduler")


def test_a_write_is_bound_to_the_version_that_was_looked_at() -> None:
    world = World(GROUP.meta(resourceVersion="41"))
    patch = status_patch(world.group, world.status(bound(4), None, at(0)))
    assert patch is not None
    assert patch.subresource == "status"
    assert patch.body["metadata"] == {"uid": "uid-g", "resourceVersion": "41"}
    assert patch.body["status"]["scheduled"] == 4
    assert patch.body["status"]["conditions"][0]["lastTransitionTime"] == "2026-11-30T12:00:00Z"
