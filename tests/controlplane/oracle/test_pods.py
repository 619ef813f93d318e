"""Random pods on random nodes, one pod and one node at a time: the planner says what the real kube-scheduler does.

The pod is pinned to the node by a resource that only this node offers, never by a selector or affinity: those would
take the other nodes out of topology spread.
"""

import pytest
from tests.controlplane.conftest import Playgrounds, running
from tests.controlplane.oracle.survey import Survey, survey
from tests.controlplane.playgrounds import NEWEST_BARE, OLDEST_BARE

from ganglift.plan.verdict import CauseKind

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
def found(playgrounds: Playgrounds, full: bool, request: pytest.FixtureRequest) -> Survey:
    """What kube-scheduler and planner said of the same pairs."""
    return survey(running(playgrounds, request.param).client, PAIRS_FULL if full else PAIRS)


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


def test_stricter_node_that_is_not_ready_is_refused_though_kube_scheduler_looks_at_taints_alone(found: Survey) -> None:
    assert found.unready >= FEWEST
    assert found.unready_used == []
