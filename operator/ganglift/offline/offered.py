"""What no node of the cluster has though it is asked for: most often a misspelled resource or label.

A verdict says so too, but not where it was written.
"""

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Any

from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.api.storage import DeviceClass
from ganglift.base.quantity import PODS
from ganglift.offline.inventory import Asked, Inventory
from ganglift.offline.kinds import OURS, group_of
from ganglift.plan.requests import names_of, requests_of
from ganglift.plan.shape import DEVICE_CLASS

Finding = tuple[str, str]
"""A field and what is to be said of it."""


class Offered:
    """Resources and labels of all nodes."""

    def __init__(self, inventory: Inventory) -> None:
        nodes = tuple(inventory.all(Node))
        self._are_there = bool(nodes)
        self._labels = {label for node in nodes for label in node.metadata.labels}
        self._resources = {name for node in nodes for name in node.status.allocatable} - {PODS}
        self._served = {one.spec.extended_resource_name for one in inventory.all(DeviceClass)}

    def pod_findings(self, pod: Pod, path: str) -> Iterator[Finding]:
        """Yield what a pod asks for in vain; `path` is where its template stands."""
        prefix = f"{path}." if path else ""
        requested = names_of(tuple(requests_of(pod).items()))
        if not requested:
            yield f"{prefix}spec.containers", "nothing is requested, so any node with a free pod slot will do"
        for resource in requested if self._are_there else ():
            if resource not in self._resources | self._served and not resource.startswith(DEVICE_CLASS):
                words = f"no node offers {resource}{_instead(resource, self._resources)}"
                yield f"{prefix}{_field_of(pod, resource)}", words
        for number, spread in enumerate(pod.spec.topology_spread_constraints):
            field = f"{prefix}spec.topologySpreadConstraints[{number}].topologyKey"
            yield from self._label_findings(spread.topology_key, field)

    def topology_findings(self, asked: Asked) -> Iterator[Finding]:
        """Yield the topology keys of an object of ours that no node has."""
        for path, scheduling in _schedulings(asked):
            for number, level in enumerate(scheduling.get("schedulingConstraints", {}).get("topology", ())):
                field = f"{path}.schedulingConstraints.topology[{number}].key"
                yield from self._label_findings(level.get("key", ""), field)

    def _label_findings(self, label: str, field: str) -> Iterator[Finding]:
        if self._are_there and label not in self._labels:
            yield field, f"no node has the label {label}{_instead(label, self._labels)}"


def _schedulings(asked: Asked) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what an object that keeps to its schema says of scheduling, with its path."""
    spec = asked.data.get("spec", {})
    if group_of(asked.api_version) not in OURS:
        return
    match asked.kind:
        case "PodGroup":
            yield "spec", spec
        case "Job":
            yield "spec.scheduling", spec.get("scheduling", {})
        case "Workload":
            for number, template in enumerate(spec.get("podGroupTemplates", ())):
                yield f"spec.podGroupTemplates[{number}]", template


def _field_of(pod: Pod, resource: str) -> str:
    for field, containers in (("containers", pod.spec.containers), ("initContainers", pod.spec.init_containers)):
        for number, container in enumerate(containers):
            if resource in container.resources.requests:
                return f"spec.{field}[{number}].resources"
    return "spec.resources"


def _instead(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, sorted(known), n=1, cutoff=0.9)
    return f": is {close[0]} meant?" if close else ""
