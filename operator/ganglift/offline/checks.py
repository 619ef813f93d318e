"""Quantities and counts that no API server would have let in, or that no cluster can have."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ganglift.api.node import Node
from ganglift.api.pod import Container, Pod, Quantities
from ganglift.base.quantity import CPU, InvalidQuantity, parse_quantity
from ganglift.plan.requests import LARGEST

MOST_PODS = 150_000
"""Pods that one cluster can have, by Kubernetes' own limits for large clusters."""
_FRACTIONAL = ("cpu", "memory", "ephemeral-storage", "storage")
_HUGE_PAGES = "hugepages-"

Finding = tuple[str, str]
"""A field and what is wrong with it."""


def pod_findings(pod: Pod) -> Iterator[Finding]:
    """Yield what is wrong with a pod's quantities."""
    for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers)):
        for number, container in enumerate(containers):
            yield from _container_findings(f"spec.{field}[{number}].resources", container)
    if pod.spec.overhead:
        yield from quantity_findings("spec.overhead", pod.spec.overhead)
    if pod.spec.resources is not None:
        yield from quantity_findings("spec.resources.requests", pod.spec.resources.requests)
    for number, status in enumerate(pod.status.container_statuses):
        yield from quantity_findings(
            f"status.containerStatuses[{number}].allocatedResources", status.allocated_resources
        )


def node_findings(node: Node) -> Iterator[Finding]:
    """Yield what is wrong with a node's quantities."""
    yield from quantity_findings("status.allocatable", node.status.allocatable)


def quantity_findings(field: str, quantities: Quantities) -> Iterator[Finding]:
    """Yield what is wrong with quantities by resource name."""
    for resource, quantity in quantities.items():
        if (words := _wrong(resource, quantity)) is not None:
            yield f"{field}[{resource}]", words


def count_of(value: Any, default: int) -> int | str:
    """Return a number of pods or replicas, the default where none is given; words where it is none."""
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool):
        return f"{value!r} is not a whole number"
    if value < 0:
        return f"{value} is below 0"
    if value > MOST_PODS:
        return f"{value} is more pods than a cluster can have, {MOST_PODS} at most"
    return value


def _container_findings(field: str, container: Container) -> Iterator[Finding]:
    yield from quantity_findings(f"{field}.requests", container.resources.requests)
    yield from quantity_findings(f"{field}.limits", container.resources.limits)


@lru_cache(maxsize=65536)
def _wrong(resource: str, quantity: str | int | float) -> str | None:
    try:
        value = parse_quantity(quantity)
    except InvalidQuantity as error:
        return str(error)
    if value < 0:
        return f"{quantity} is negative"
    if value * (1000 if resource == CPU else 1) > LARGEST:
        return f"{quantity} is more than any node can have"
    is_whole = value == value.to_integral_value()
    if not is_whole and resource not in _FRACTIONAL and not resource.startswith(_HUGE_PAGES):
        return f"{quantity} is not a whole number, which {resource} is counted in"
    return None
