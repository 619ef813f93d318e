"""What a pod asks of a node, in the units kube-scheduler counts, exactly as it sums them.

Source: `resource.PodRequests` in k8s.io/component-helpers, read at v0.34.4 and v0.37.2:

    containers together, sidecars (init containers with restartPolicy Always) included
    at least what any init container needs while it runs beside the sidecars started before it
    pod-level cpu, memory and hugepages, where set, instead of that sum
    plus the overhead of the runtime class

A pod that was resized in place counts with the largest of spec, allocated and actual resources, and with allocated and
actual alone where the kubelet called the resize infeasible. Upstream changed how these combine over several containers
(per container in 1.34, over the sums in 1.37); the larger is taken, which differs only while two containers of one pod
are resized in opposite directions.

Quantities are summed in thousandths, as exact as the API server keeps them, and rounded up once, as upstream does.
"""

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING
from functools import lru_cache

from ganglift.api.pod import Container, ContainerStatus, Pod, Quantities
from ganglift.base.quantity import CPU, MEMORY, PODS, parse_quantity

Units = dict[str, int]

LARGEST = 2**56
"""Requests are capped here and what a node offers just below, so that sums fit 64 bits and absurd pods fit nowhere."""

_POD_LEVEL = (CPU, MEMORY)
_HUGE_PAGES = "hugepages-"


def requests_of(pod: Pod) -> Units:
    """Return units by resource, without the pod slot; raise InvalidQuantity where a request is no quantity."""
    milli = _containers(pod)
    _replace_with_pod_level(pod, milli)
    _add(milli, _milli(pod.spec.overhead))
    return {name: _units(name, value) for name, value in milli.items() if value > 0}


def allocatable_of(quantities: Quantities) -> Units:
    """Return what a node offers, in units by resource; raise InvalidQuantity where that is no quantity."""
    return {name: min(_units(name, value), LARGEST - 1) for name, value in _milli(quantities).items() if value > 0}


def _containers(pod: Pod) -> Units:
    statuses = {status.name: status for status in (*pod.status.init_container_statuses, *pod.status.container_statuses)}
    infeasible = _is_resize_infeasible(pod)
    total: Units = {}
    for container in pod.spec.containers:
        _add(total, _container(container, statuses.get(container.name), infeasible))
    sidecars: Units = {}
    peak: Units = {}
    for container in pod.spec.init_containers:
        units = _container(container, statuses.get(container.name), infeasible)
        if container.restart_policy == "Always":
            _add(total, units)
            _add(sidecars, units)
            _raise_to(peak, sidecars)
        else:
            _add(units, sidecars)
            _raise_to(peak, units)
    _raise_to(total, peak)
    return total


def _container(container: Container, status: ContainerStatus | None, infeasible: bool) -> Units:
    spec = _milli(container.resources.requests)
    if status is None:
        return spec
    allocated = _milli(status.allocated_resources)
    actual = _milli(status.resources.requests) if status.resources is not None else {}
    if infeasible and (allocated or actual):
        spec = {}
    _raise_to(spec, allocated)
    _raise_to(spec, actual)
    return spec


def _replace_with_pod_level(pod: Pod, milli: Units) -> None:
    if pod.spec.resources is None or not any(map(_is_pod_level, pod.spec.resources.requests)):
        return
    level = {} if _is_resize_infeasible(pod) and pod.status.resources else _milli(pod.spec.resources.requests)
    if pod.status.resources is not None:
        _raise_to(level, _milli(pod.status.resources.requests))
        _raise_to(level, _milli(pod.status.allocated_resources))
    milli.update((name, value) for name, value in level.items() if _is_pod_level(name))


def _is_pod_level(name: str) -> bool:
    return name in _POD_LEVEL or name.startswith(_HUGE_PAGES)


def _is_resize_infeasible(pod: Pod) -> bool:
    condition = pod.condition("PodResizePending")
    return condition is not None and condition.reason == "Infeasible"


def _milli(quantities: Quantities) -> Units:
    return {name: _milli_of(quantity) for name, quantity in quantities.items()}


@lru_cache(maxsize=65536)
def _milli_of(quantity: str | int | float) -> int:
    """Thousandths of a quantity, rounded up: the precision to which the API server keeps a request."""
    return int((parse_quantity(quantity) * 1000).to_integral_value(rounding=ROUND_CEILING))


def _units(name: str, milli: int) -> int:
    return min(milli if name == CPU else -(-milli // 1000), LARGEST)


def _add(to: Units, units: Mapping[str, int]) -> None:
    for name, value in units.items():
        to[name] = to.get(name, 0) + value


def _raise_to(to: Units, units: Mapping[str, int]) -> None:
    for name, value in units.items():
        if value > to.get(name, -1):
            to[name] = value


def with_slot(units: Units) -> tuple[tuple[str, int], ...]:
    """Return the units sorted by resource, the one pod slot that every pod takes included."""
    return tuple(sorted({**units, PODS: 1}.items()))


def names_of(requests: Iterable[tuple[str, int]]) -> tuple[str, ...]:
    """Return the resources asked for, the pod slot aside."""
    return tuple(name for name, _ in requests if name != PODS)
