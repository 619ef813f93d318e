"""The nodes that are asked for."""

import pytest

from ganglift.playground.errors import PlaygroundError
from ganglift.playground.nodes import NodeShape, manifest

SHAPE = NodeShape(gpus=8, cpu="64", memory="256Gi", pods=110)


def test_a_node_offers_what_its_shape_says() -> None:
    node = manifest("gpu-0", SHAPE, "v1.37.2", is_ready=False)
    offered = {"nvidia.com/gpu": "8", "cpu": "64", "memory": "256Gi", "pods": "110", "ephemeral-storage": "1Ti"}
    assert node["status"]["capacity"] == node["status"]["allocatable"] == offered


def test_a_node_without_gpus_does_not_name_the_resource() -> None:
    shape = NodeShape(gpus=0, cpu="4", memory="8Gi", pods=10, resources={"example.com/fpga": "2"})
    capacity = manifest("cpu-0", shape, "v1.37.2", is_ready=False)["status"]["capacity"]
    assert "nvidia.com/gpu" not in capacity
    assert capacity["example.com/fpga"] == "2"


def test_a_node_has_a_kubelets_labels_and_the_callers_own() -> None:
    shape = NodeShape(gpus=1, cpu="4", memory="8Gi", pods=10, labels={"rack": "r1"})
    assert manifest("gpu-0", shape, "v1.37.2", is_ready=False)["metadata"]["labels"] == {
        "kubernetes.io/hostname": "gpu-0",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "amd64",
        "rack": "r1",
    }


def test_a_kubelet_has_yet_to_say_that_a_node_is_ready() -> None:
    assert "conditions" not in manifest("gpu-0", SHAPE, "v1.37.2", is_ready=False)["status"]


def test_a_node_can_be_ready_from_the_start() -> None:
    (condition,) = manifest("gpu-0", SHAPE, "v1.37.2", is_ready=True)["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Ready", "True")


@pytest.mark.parametrize(
    ("text", "taint"),
    [
        ("gpu=spot:NoSchedule", {"key": "gpu", "value": "spot", "effect": "NoSchedule"}),
        ("gpu:NoExecute", {"key": "gpu", "effect": "NoExecute"}),
        ("example.com/gpu=:NoSchedule", {"key": "example.com/gpu", "value": "", "effect": "NoSchedule"}),
    ],
)
def test_a_taint_is_written_as_for_kubectl(text: str, taint: dict[str, str]) -> None:
    shape = NodeShape(gpus=1, cpu="4", memory="8Gi", pods=10, taints=(text,))
    assert manifest("gpu-0", shape, "v1.37.2", is_ready=False)["spec"] == {"taints": [taint]}


@pytest.mark.parametrize("text", ["gpu", "gpu=spot", ":NoSchedule", ""])
def test_what_is_no_taint_is_refused(text: str) -> None:
    shape = NodeShape(gpus=1, cpu="4", memory="8Gi", pods=10, taints=(text,))
    with pytest.raises(PlaygroundError, match="key=value:Effect"):
        manifest("gpu-0", shape, "v1.37.2", is_ready=False)
