"""Random pods on random nodes, one pod and one node at a time: the planner says what the real kube-scheduler does.

The pod is pinned to the node by a resource that only this node offers, never by a selector or affinity: those would
take the other nodes out of topology spread.
"""

from collections.abc import Iterator

import pytest
from tests.builders import PodBuilder, node, pod
from tests.controlplane.conftest import Playgrounds, running
from tests.controlplane.oracle.planner import Planner
from tests.controlplane.oracle.scheduler import Answer, Scheduler
from tests.controlplane.oracle.survey import Survey, survey
from tests.controlplane.oracle.worlds import Occupant, World, allocated, as_manifest, as_node, pinnable
from tests.controlplane.playgrounds import NEWEST_BARE, OLDEST_BARE

from ganglift.plan.verdict import Cause, CauseKind

PAIRS, PAIRS_FULL = 1500, 20_000
FEWEST = 8
"""How often each filter is to refuse a pod at least, at the smaller size."""
FILTERS = (
    CauseKind.UNSCHEDULABLE,
    CauseKind.TAINT,
    CauseKind.NODE_AFFINITY,
    CauseKind.PORTS,
    CauseKind.INSUFFICIENT,
    CauseKind.DISK,
    CauseKind.CLAIM,
    CauseKind.CLAIM_IN_USE,
    CauseKind.VOLUME_LIMIT,
    CauseKind.VOLUME_AFFINITY,
    CauseKind.VOLUME_ZONE,
    CauseKind.NO_LABEL,
    CauseKind.SPREAD,
    CauseKind.AFFINITY,
    CauseKind.ANTI_AFFINITY,
)

pytestmark = pytest.mark.timeout(3600)


@pytest.fixture(scope="module", params=[NEWEST_BARE, OLDEST_BARE], ids=["newest", "oldest"])
def scheduler(playgrounds: Playgrounds, request: pytest.FixtureRequest) -> Iterator[Scheduler]:
    with Scheduler(running(playgrounds, request.param).client) as asked:
        asked.furnish()
        yield asked


@pytest.fixture(scope="module")
def found(scheduler: Scheduler, full: bool) -> Survey:
    """What kube-scheduler and planner said of the same pairs."""
    return survey(scheduler, PAIRS_FULL if full else PAIRS)


def test_planner_lets_a_pod_onto_a_node_exactly_if_kube_scheduler_binds_it_there(
    found: Survey, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(f"\n{found.report()}")
    assert found.disagreements == []


def test_planner_refuses_a_node_for_the_reasons_that_kube_scheduler_names(found: Survey) -> None:
    assert found.other_reasons == []


def test_every_filter_decides_often_enough(found: Survey) -> None:
    assert {kind: found.decided[kind] for kind in FILTERS if found.decided[kind] < FEWEST} == {}


# Where the planner is stricter on purpose: docs/design.md lists it


def test_stricter_node_that_is_not_ready_is_refused_though_kube_scheduler_looks_at_taints_alone(found: Survey) -> None:
    assert found.unready >= FEWEST
    assert found.unready_used == []


def test_stricter_pod_with_a_nomination_counts_against_places_on_other_nodes_too(found: Survey) -> None:
    assert found.stricter > 0


def test_stricter_containers_resized_in_opposite_directions_count_with_their_larger_sizes(scheduler: Scheduler) -> None:
    resized = pod("resized").asks(cpu=1).container("second", cpu=3).on("n0")
    status = {"phase": "Running", "containerStatuses": [allocated("main", cpu="3"), allocated("second", cpu="1")]}
    world = World((as_node(pinnable(node("n0").offers(cpu=8)).wire),), (Occupant(as_manifest(resized), status, False),))
    answer, causes = put(scheduler, world, pod("wide").asks(cpu=3))
    sums = "1.37" in scheduler.client.get("/version")["gitVersion"]  # 4 of spec, 4 allocated; 1.34: 3 + 3
    assert answer.is_bound is sums
    assert causes == (Cause(CauseKind.INSUFFICIENT, "cpu"),)


def test_stricter_request_beyond_two_to_the_56_fits_nowhere(scheduler: Scheduler) -> None:
    world = World((as_node(pinnable(node("n0").offers(memory=2**58)).wire),), ())
    answer, causes = put(scheduler, world, pod("absurd").asks(memory=2**57))
    assert answer.is_bound
    assert causes == (Cause(CauseKind.INSUFFICIENT, "memory"),)


def put(scheduler: Scheduler, world: World, made: PodBuilder) -> tuple[Answer, tuple[Cause, ...]]:
    """Put a pod to the world's only node; return what kube-scheduler and the planner say."""
    scheduler.build(world)
    answer = scheduler.ask(as_manifest(made), "n0")
    return answer, Planner.of(scheduler.client).strict_causes(answer.pod, "n0")
