"""`explain` in words: the verdict's parts, who has the room, what a pod is to its group."""

from typing import Any

import pytest
from tests.builders import PodBuilder, pod
from tests.kinds import batch_job, podgroup
from tests.support.files import kubectl_list
from tests.unit.offline.ask import gpu_nodes, survey_of

from ganglift.base.ids import Key, Uid
from ganglift.offline.explanation import group_lines, group_of_pod, pod_lines
from ganglift.offline.holding import holders_of
from ganglift.offline.outlook import Survey
from ganglift.offline.report import where_or_why
from ganglift.plan.verdict import DoesNotFit
from ganglift.plan.words import cause_words, hints_of, holder_words

G = Key("default", "g")
BOUND_AT = "2026-11-30T11:00:00Z"


def gang(count: int, gpus: int = 1) -> list[Any]:
    return [podgroup("g").gang(count), *(pod(f"w-{i}").gang("g").gpu(gpus).gated() for i in range(count))]


def bound(made: PodBuilder, node: str, at: str = BOUND_AT) -> PodBuilder:
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at}
    return made.on(node)._with("status", "conditions", value=[condition])


def explained(survey: Survey, key: Key = G) -> list[str]:
    return [line.strip() for line in group_lines(survey, survey.outlooks[key])]


def held(*things: Any) -> list[str]:
    survey = survey_of(kubectl_list(*gpu_nodes(2, 2), *things))
    return [holder_words(holder) for holder in holders_of(survey, survey.outlooks[G])]


def test_verdict_is_told_part_by_part_in_the_planners_words() -> None:
    survey = survey_of(kubectl_list(*gpu_nodes(2, 2), bound(pod("other").gpu(2), "gpu-0"), *gang(3)))
    verdict = survey.outlooks[G].verdict
    assert isinstance(verdict, DoesNotFit)
    lines = explained(survey)
    assert lines[:3] == [
        "PodGroup default/g: DoesNotFit",
        "3 must run together (3 exist, 0 bound), priority 0, number 1 of 1 in the queue",
        "2 of 3 members fit",
    ]
    assert [f"{count.nodes} {cause_words(count.cause)}" for count in verdict.causes] == lines[4:5]
    assert list(hints_of(verdict)) == lines[6 : 6 + len(hints_of(verdict))]


def test_pods_of_one_owner_are_summed_up_the_biggest_first() -> None:
    of_job = [bound(pod(f"j-{i}").gpu(1).owner("Job", "old", "u"), "gpu-0") for i in range(2)]
    assert held(*of_job, bound(pod("bare").gpu(1), "gpu-1"), *gang(4)) == [
        f"Job default/old holds 2 nvidia.com/gpu on gpu-0: 2 pods bound since {BOUND_AT}",
        f"Pod default/bare holds 1 nvidia.com/gpu on gpu-1: 1 pod bound since {BOUND_AT}",
    ]


def test_since_is_when_the_first_pod_was_bound() -> None:
    later = "2026-11-30T11:30:00Z"
    pods = [
        bound(pod("a").gpu(2).owner("Job", "old", "u"), "gpu-0", later),
        bound(pod("b").gpu(2).owner("Job", "old", "u"), "gpu-1"),
    ]
    assert held(*pods, *gang(1)) == [
        f"Job default/old holds 4 nvidia.com/gpu on 2 nodes: 2 pods bound since {BOUND_AT}"
    ]


def test_gangs_that_hold_room_are_named_as_gangs() -> None:
    other = [podgroup("other").gang(1), bound(pod("o-0").gang("other").gpu(2), "gpu-0")]
    assert held(*other, *gang(3))[0].startswith("PodGroup default/other holds 2 nvidia.com/gpu on gpu-0: 1 pod bound")


@pytest.mark.parametrize(
    ("holder", "how"),
    [
        (bound(pod("o").gpu(2), "gpu-0").terminating(), "1 pod terminating"),
        (pod("o").gpu(2).nominated("gpu-0"), "1 pod being bound"),
        (pod("o").gpu(2).gang("other").gated().nominated("gpu-0").priority(9), "1 pod reserved"),
    ],
)
def test_how_room_is_held_is_told(holder: PodBuilder, how: str) -> None:
    assert how in held(podgroup("other").gang(2), holder, *gang(3))[0]


def test_gang_before_it_in_the_queue_is_named_as_the_one_to_get_the_room() -> None:
    first = [podgroup("a").gang(3).meta(creationTimestamp="2026-11-30T10:00:00Z")]
    first += [pod(f"a-{i}").gang("a").gpu(1).gated() for i in range(3)]
    assert held(*first, *gang(3)) == [
        "PodGroup default/a, before it in the queue, is to get 3 nvidia.com/gpu on 2 nodes"
    ]


def test_own_reservations_of_a_gang_are_not_held_against_it() -> None:
    things = [podgroup("g").gang(3), *(pod(f"w-{i}").gang("g").gpu(2).gated().nominated("gpu-0") for i in range(3))]
    assert held(*things) == []


def test_gang_that_fits_is_told_its_nodes() -> None:
    survey = survey_of(kubectl_list(*gpu_nodes(2, 2), *gang(3)))
    assert explained(survey)[2:4] == ["3 of 3 members fit", "on gpu-0 (2), gpu-1"]


def test_group_that_waits_for_members_says_so() -> None:
    survey = survey_of(kubectl_list(*gpu_nodes(2), podgroup("g").gang(2), pod("w").gang("g").gated()))
    assert "WaitingForMembers: 1 of 2 pods exist" in explained(survey)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({}, "the operator has not said anything of it yet: does it run?"),
        (
            {"reason": "BackOff", "message": "later", "lastTransitionTime": BOUND_AT},
            f"the operator's status says BackOff since {BOUND_AT}: later",
        ),
        ({"reason": "WaitingForMembers", "message": "1 of 2 pods exist"}, ""),
    ],
)
def test_what_the_operator_says_is_told_where_it_is_something_else(condition: dict[str, str], said: str) -> None:
    group = podgroup("g").gang(2)
    if condition:
        group = group.status(conditions=[{"type": "Scheduled", "status": "False", **condition}])
    survey = survey_of(kubectl_list(*gpu_nodes(2), group, pod("w").gang("g").gated()))
    assert [line for line in explained(survey) if "the operator" in line] == ([said] if said else [])


def pod_words(made: PodBuilder, *things: Any) -> str:
    survey = survey_of(kubectl_list(*gpu_nodes(2), made, *things))
    found = survey.pod(Uid(made.made.uid))
    assert found is not None
    (line,) = pod_lines(found, group_of_pod(survey, found))
    return line.removeprefix("Pod default/p ")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (pod("p").gang("g").gpu(1).gated(), "waits behind its gate, and is to go to gpu-0"),
        (pod("p").gang("g").gpu(8).gated(), "waits behind its gate"),
        (
            pod("p").gang("g").gated("acme.io/x"),
            "can't be counted on: pod p has scheduling gate acme.io/x: its owner must remove it",
        ),
        (pod("p").gang("g").nominated("gpu-0"), "has been released, with room on gpu-0"),
        (pod("p").gang("g").on("gpu-0"), "is bound to gpu-0"),
        (pod("p").gang("g").on("gpu-0").terminating(), "is being deleted: gone for the count, its room is still taken"),
        (pod("p").gang("g").phase("Succeeded"), "has succeeded"),
        (pod("p").gang("g").phase("Failed"), "has failed"),
        (pod("p"), "is no member of a gang: it has no label that names a PodGroup"),
        (pod("p").gang("h").gated(), "names PodGroup default/h, which does not exist: create it or correct the label"),
    ],
)
def test_pod_is_told_what_it_is_to_its_group(made: PodBuilder, said: str) -> None:
    assert pod_words(made, podgroup("g").gang(1)) == said


def test_pod_that_bears_the_label_of_another_jobs_group_is_told_so() -> None:
    group = podgroup("g").gang(1).status(childUID="uid-j-child")
    job = batch_job("j").labelled("g").child_of("mine")
    said = pod_words(pod("p").gang("g").gated(), group, job)
    assert said == "bears the label and is no member: pod p has no owner, the group's pods belong to a Job"


def test_long_lists_of_nodes_are_cut_unless_all_are_asked_for() -> None:
    survey = survey_of(kubectl_list(*gpu_nodes(*[1] * 9), *gang(9)))
    outlook = survey.outlooks[G]
    assert where_or_why(outlook).endswith("gpu-5 and 3 more nodes")
    assert where_or_why(outlook, most_nodes=None).count(",") == 8
