"""Whatever a file holds, it is planned or refused with words: never a traceback."""

import copy
import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.builders import node, pod
from tests.kinds import batch_job, podgroup, workload
from tests.support.files import kubectl_list, objects
from tests.unit.offline.ask import inventory_of, named, workers
from tests.unit.offline.test_owners import (
    deployment,
    job_set,
    leader_worker_set,
    replicated,
    stateful_set,
)

from ganglift.api.names import SCHEDULING
from ganglift.offline.loading import load
from ganglift.offline.outlook import Survey
from ganglift.offline.problems import InvalidInput
from ganglift.offline.report import report, where_or_why
from ganglift.offline.storing import snapshot_bytes

CLUSTER = kubectl_list(node("n1").gpus(4), pod("other").gpu(1).on("n1"))
THINGS = objects(
    workers("train", 2),
    podgroup("g").gang(1),
    workload("serve").template("a", gang=2),
    batch_job("old").annotation(SCHEDULING, '{"schedulingPolicy":{"gang":{}}}').spec(suspend=True),
    pod("p").gang("g").gated().gpu(1).tolerates("x").near("zone", {"a": "b"}).spread("zone").claim("c"),
    deployment(replicas=2),
    stateful_set(replicas=2, volumeClaimTemplates=[{"metadata": {"name": "d"}}]),
    leader_worker_set(),
    job_set(replicated("a", 1, 2)),
    node("n2").taint("x").offers(cpu=3),
)
ODD = st.sampled_from([None, True, -1, 0, 10**12, 2.5, "", "x", "-5", "1e99", [], {}, [None], ["x"], {"x": 1}, [[]]])


@st.composite
def spoiled(draw: st.DrawFn) -> dict[str, Any]:
    """An object with some of its values, wherever they are, put in place of others, left out or made odd."""
    thing = copy.deepcopy(draw(st.sampled_from(THINGS)))
    for _ in range(draw(st.integers(1, 3))):
        at: Any = thing
        while True:
            steps = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not steps:
                break
            step = draw(st.sampled_from(steps))
            if isinstance(at[step], dict | list) and at[step] and draw(st.booleans()):
                at = at[step]
                continue
            if draw(st.booleans()):
                at[step] = copy.deepcopy(draw(ODD))
            else:
                del at[step]
            break
    return thing


def refusal_of(act: Callable[[], object]) -> str | None:
    """What is said of bad input, None where it is taken."""
    try:
        act()
    except InvalidInput as error:
        return str(error)
    return None


def plan_and_tell(*files: bytes) -> None:
    """All that `ganglift plan` does, and a snapshot of it, read again."""
    inventory = inventory_of(*files)
    survey = Survey(inventory)
    outlooks = tuple(survey.outlooks.values())
    json.dumps(report(survey, outlooks, inventory.notes))
    assert all(where_or_why(outlook) for outlook in outlooks)
    load(named(snapshot_bytes(inventory)))


@given(spoiled())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_spoiled_object_is_planned_or_refused_with_its_file(thing: dict[str, Any]) -> None:
    refusal = refusal_of(lambda: plan_and_tell(CLUSTER, json.dumps(thing).encode()))
    assert refusal is None or refusal.startswith("b.yaml: ")


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_refused_with_their_file(data: bytes) -> None:
    refusal = refusal_of(lambda: load(named(data)))
    assert refusal is None or refusal.startswith("a.yaml: ")
