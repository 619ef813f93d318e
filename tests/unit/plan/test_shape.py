"""Shapes are the same object for pods that are alike, and nothing is left of them afterwards."""

import gc
import pickle

import pytest
from tests.builders import PodBuilder, pod

from ganglift.plan import shape as module
from ganglift.plan.shape import Disk, HostPort, collide, shape_of

WORKER = pod("w-0").asks(cpu=1).gpu(1).label("app", "x").tolerates("gpu")


def named(builder: PodBuilder, name: str) -> PodBuilder:
    return builder._with("metadata", "name", value=name)._with("metadata", "uid", value=f"uid-{name}")


def test_pods_of_one_template_share_one_demand() -> None:
    first, second = shape_of(WORKER.made), shape_of(named(WORKER, "w-1").label("index", "1").made)
    assert first.demand is second.demand
    assert first is not second


def test_alike_pods_share_one_shape_bound_or_not() -> None:
    assert shape_of(WORKER.made) is shape_of(named(WORKER, "w-1").on("n1").gated().nominated("n2").made)


def test_a_changed_copy_of_a_pod_has_a_shape_of_its_own() -> None:
    made = WORKER.made
    before = shape_of(made)
    changed = made.model_copy(update={"metadata": made.metadata.model_copy(update={"labels": {"app": "y"}})})
    assert shape_of(changed).labels == (("app", "y"),)
    assert shape_of(made) is before


@pytest.mark.parametrize(
    "other",
    [
        WORKER.gpu(2),
        WORKER.host_port(80),
        WORKER.selects(zone="a"),
        WORKER.tolerates("spot"),
        WORKER.spread("zone"),
        WORKER.apart("zone", {"app": "x"}),
        WORKER.claim("data"),
        WORKER.resource_claim("imex"),
        WORKER.overhead(cpu=1),
        WORKER.init("i", cpu=2),
    ],
)
def test_whatever_changes_where_a_pod_can_go_makes_another_demand(other: PodBuilder) -> None:
    assert shape_of(WORKER.made).demand is not shape_of(other.made).demand


def test_a_volume_that_binds_nothing_makes_no_difference() -> None:
    token = WORKER._with("spec", "volumes", value=[{"name": "kube-api-access-x7", "projected": {}}])
    other = WORKER._with("spec", "volumes", value=[{"name": "kube-api-access-q2", "projected": {}}])
    assert shape_of(token.made) is shape_of(other.made)


def test_the_claim_of_an_ephemeral_volume_is_named_after_pod_and_volume() -> None:
    made = WORKER._with("spec", "volumes", value=[{"name": "scratch", "ephemeral": {}}])
    assert shape_of(made.made).demand.claims == (("default", "w-0-scratch"),)


def test_shapes_survive_pickling_as_the_same_object() -> None:
    shape = shape_of(WORKER.spread("zone").near("zone", {"a": "b"}).made)
    assert pickle.loads(pickle.dumps(shape)) is shape


def test_nothing_is_kept_of_shapes_that_nobody_holds() -> None:
    shape_of(WORKER.asks(cpu="12345m").made)
    gc.collect()
    assert not any(("cpu", 12345) in demand.requests for demand in module._demands.values())


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (HostPort("0.0.0.0", "TCP", 80), HostPort("0.0.0.0", "TCP", 80), True),
        (HostPort("0.0.0.0", "TCP", 80), HostPort("10.0.0.1", "TCP", 80), True),
        (HostPort("10.0.0.2", "TCP", 80), HostPort("10.0.0.1", "TCP", 80), False),
        (HostPort("0.0.0.0", "TCP", 80), HostPort("0.0.0.0", "UDP", 80), False),
        (HostPort("0.0.0.0", "TCP", 80), HostPort("0.0.0.0", "TCP", 81), False),
        (Disk("gce", "d", (), False), Disk("gce", "d", (), True), True),
        (Disk("gce", "d", (), True), Disk("gce", "d", (), True), False),
        (Disk("gce", "d", (), False), Disk("aws", "d", (), False), False),
        (Disk("rbd", "p/i", ("m1", "m2"), False), Disk("rbd", "p/i", ("m2",), False), True),
        (Disk("rbd", "p/i", ("m1",), False), Disk("rbd", "p/i", ("m2",), False), False),
        (HostPort("0.0.0.0", "TCP", 80), Disk("gce", "d", (), False), False),
    ],
)
def test_what_one_node_cannot_give_twice(one: HostPort | Disk, other: HostPort | Disk, expected: bool) -> None:
    assert collide(one, other) is expected
    assert collide(other, one) is expected
