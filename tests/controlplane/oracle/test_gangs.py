"""Random gangs beside the native gang scheduling of 1.37: what it places we place, and nothing of ours is in part."""

import pytest
from tests.controlplane.cluster import Cluster
from tests.controlplane.history import History
from tests.controlplane.operator import OperatorProcess
from tests.controlplane.oracle.contest import compete
from tests.controlplane.playgrounds import NATIVE_GANGS, on

CASES, CASES_FULL = 80, 800
FEWEST = 10


@pytest.mark.breaks("I1", reason="some spread members can be nominated only once others on their node are bound")
@on(native_gangs=NATIVE_GANGS)
@pytest.mark.timeout(3600)
def test_a_gang_that_native_scheduling_places_is_placed_and_none_is_in_part(
    cluster: Cluster, operator: OperatorProcess, history: History, full: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    contest = compete(cluster, history, range(CASES_FULL if full else CASES))
    with capsys.disabled():
        print(f"\n{contest.report()}")
    assert contest.faults == []
    assert min(contest.both.total(), contest.neither.total()) >= FEWEST, contest.report()
