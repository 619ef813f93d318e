"""What a pod asks for, as kube-scheduler sums it."""

from typing import Any

import pytest
from tests.builders import GPU, PodBuilder, pod

from ganglift.base.quantity import InvalidQuantity
from ganglift.plan.requests import LARGEST, allocatable_of, requests_of
from ganglift.plan.shape import shape_of

PLAIN = pod("p").asks(cpu=1, memory="1Gi")


def status(builder: PodBuilder, **fields: Any) -> PodBuilder:
    return PodBuilder(builder.wire | {"status": builder.wire["status"] | fields})


def resized(allocated: int, actual: int, reason: str = "") -> PodBuilder:
    """A pod whose spec says 4 cpu while the node has given it other amounts."""
    resources = {"requests": {"cpu": str(actual)}}
    statuses = [{"name": "main", "allocatedResources": {"cpu": str(allocated)}, "resources": resources}]
    made = status(pod("p").asks(cpu=4), containerStatuses=statuses)
    return made.condition("PodResizePending", "True", reason) if reason else made


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(pod("p"), {}, id="nothing"),
        pytest.param(PLAIN, {"cpu": 1000, "memory": 2**30}, id="one container"),
        pytest.param(PLAIN.container("b", cpu="250m"), {"cpu": 1250, "memory": 2**30}, id="containers add up"),
        pytest.param(pod("p").asks(cpu=0), {}, id="a request of zero asks for nothing"),
        pytest.param(PLAIN.init("i", cpu=3), {"cpu": 3000, "memory": 2**30}, id="the largest init container"),
        pytest.param(PLAIN.init("i", cpu=1), {"cpu": 1000, "memory": 2**30}, id="a small init container is covered"),
        pytest.param(PLAIN.init("s", sidecar=True, cpu=1), {"cpu": 2000, "memory": 2**30}, id="a sidecar adds up"),
        pytest.param(
            PLAIN.init("s", sidecar=True, cpu=1).init("i", cpu=2),
            {"cpu": 3000, "memory": 2**30},
            id="an init container runs beside earlier sidecars",
        ),
        pytest.param(
            PLAIN.init("i", cpu=3).init("s", sidecar=True, cpu=1),
            {"cpu": 3000, "memory": 2**30},
            id="an init container runs without later sidecars",
        ),
        pytest.param(PLAIN.overhead(cpu="500m"), {"cpu": 1500, "memory": 2**30}, id="overhead adds up"),
        pytest.param(pod("p").gpu(2), {GPU: 2}, id="devices"),
        pytest.param(pod("p").asks(memory="1500m").container("b", memory="1500m"), {"memory": 3}, id="rounded once"),
        pytest.param(pod("p").asks(cpu="0.0001"), {"cpu": 1}, id="rounded up"),
        pytest.param(pod("p").asks(cpu="1e30"), {"cpu": LARGEST}, id="absurd requests are capped"),
        pytest.param(resized(2, 2), {"cpu": 4000}, id="a resize upwards counts at once"),
        pytest.param(resized(6, 4), {"cpu": 6000}, id="a resize downwards counts once it is done: allocated"),
        pytest.param(resized(4, 6), {"cpu": 6000}, id="a resize downwards counts once it is done: actual"),
        pytest.param(resized(2, 3, "Infeasible"), {"cpu": 3000}, id="an infeasible resize does not count"),
        pytest.param(resized(2, 3, "Deferred"), {"cpu": 4000}, id="a deferred resize counts"),
    ],
)
def test_requests(asked: PodBuilder, expected: dict[str, int]) -> None:
    assert requests_of(asked.made) == expected


def test_pod_level_requests_replace_the_sum_of_containers() -> None:
    made = PLAIN.gpu(1)._with("spec", "resources", value={"requests": {"cpu": "3", "memory": "2Gi", GPU: "9"}})
    assert requests_of(made.made) == {"cpu": 3000, "memory": 2**31, GPU: 1}


def test_pod_level_requests_count_with_what_the_node_has_given() -> None:
    made = status(
        PLAIN._with("spec", "resources", value={"requests": {"cpu": "1"}}),
        allocatedResources={"cpu": "2"},
        resources={"requests": {"cpu": "3"}},
    )
    assert requests_of(made.made)["cpu"] == 3000


def test_every_pod_takes_a_slot() -> None:
    assert dict(shape_of(pod("p").made).demand.requests) == {"pods": 1}


def test_what_is_no_quantity_is_said() -> None:
    with pytest.raises(InvalidQuantity, match="'many' is not a quantity"):
        shape_of(pod("p").asks(cpu="many").made)


def test_a_node_that_offers_absurdly_much_still_takes_no_absurd_pod() -> None:
    assert allocatable_of({"cpu": "1e30", "pods": "110"}) == {"cpu": LARGEST - 1, "pods": 110}
