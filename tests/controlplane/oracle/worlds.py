"""Random clusters as the API server takes them: nodes, and pods that are bound there already.

Nodes and pods come from `tests.support.clusters`; here they get what only a real API server looks at, and what pods
show after a while: amounts allocated by a resize in place, an end, a deletion under way.
"""

from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.builders import HOST, NodeBuilder, PodBuilder
from tests.controlplane.oracle import storage
from tests.controlplane.oracle.candidates import FPGA, HUGE_PAGES, asking_as_a_whole, on_ports
from tests.support.clusters import random_bound, random_nodes

from ganglift.api.names import GATE

Object = dict[str, Any]

PIN = "pin.example.com/"
"""A resource that one node alone offers, named after it: pods that ask for it can go nowhere else."""
SENTINEL = "z"
"""A node for no pod of the test: once it is known to kube-scheduler, so are all nodes that were made before it."""
GONE = "gone"
"""A node that pods name though there is none."""
_NATIVE = ("cpu", "memory", "ephemeral-storage")


@dataclass(frozen=True)
class Occupant:
    """A pod that is bound or has a node kept from the start, and what then happens to it: a new status, a deletion."""

    manifest: Object
    status: Object
    is_deleted: bool


@dataclass(frozen=True)
class World:
    nodes: tuple[Object, ...]
    occupants: tuple[Occupant, ...]


def random_world(rng: Random, *, has_reservations: bool = False) -> World:
    """A cluster of a few nodes; some pods may be gated and have room kept for them instead of being bound."""
    nodes = random_nodes(rng, most=8)
    bound = random_bound(rng, nodes, most=14)
    occupants = [_occupant(rng, one) for one in bound]
    if has_reservations:
        occupants = [_reserved(one) if rng.random() < 0.4 else one for one in occupants]
    return World(tuple(_node(rng, one) for one in nodes), tuple(occupants))


def _node(rng: Random, made: NodeBuilder) -> Object:
    made = pinnable(made).offers(memory=rng.choice(("3Gi", "7.5Gi", "16G")))
    made = made.offers(pods=rng.choice((3, 10, 20, 20)))
    if rng.random() < 0.4:
        made = made.resource(FPGA, rng.randint(1, 3))
    if rng.random() < 0.4:
        made = made.resource(HUGE_PAGES, rng.choice(("64Mi", "128Mi")))
    if rng.random() < 0.7:
        made = made.resource("ephemeral-storage", rng.choice(("2Gi", "10Gi")))
    if rng.random() < 0.6:
        made = made.label("topology.kubernetes.io/region", rng.choice("rs"))
    if rng.random() < 0.2:
        made = made.resource("cpu", rng.choice(("3900m", "0.1", "12")))
    if rng.random() < 0.1:
        made = made.label("failure-domain.beta.kubernetes.io/zone", "a")
    return as_node(made.wire)


def pinnable(made: NodeBuilder) -> NodeBuilder:
    """The node with what it alone offers."""
    return made.resource(PIN + made.made.name, 1000)


def sentinel() -> Object:
    """The sentinel node, closed to all that do not tolerate its taint."""
    return as_node(
        {
            "metadata": {"name": SENTINEL, "labels": {HOST: SENTINEL}},
            "spec": {"taints": [{"key": "example.com/sentinel", "effect": "NoSchedule"}]},
            "status": {
                "allocatable": {"cpu": "1", "pods": "10", PIN + SENTINEL: "10"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    )


def as_node(wire: Object) -> Object:
    """A node as the API server takes it."""
    made = deepcopy(wire)
    made["metadata"].pop("uid", None)
    made["status"]["capacity"] = made["status"]["allocatable"]
    return {"apiVersion": "v1", "kind": "Node", **made}


def _occupant(rng: Random, made: PodBuilder) -> Occupant:
    made = made.tolerates()  # nobody shall be evicted for a NoExecute taint
    for rule, probability in _OF_OCCUPANTS.items():
        if rng.random() < probability:
            made = rule(rng, made)
    if rng.random() < 0.07:
        made = made.on(GONE)
    manifest = as_manifest(made)
    status: Object = {}
    if rng.random() < 0.3:
        status = _resized(rng, manifest)
    elif rng.random() < 0.1:
        status = {"phase": rng.choice(("Succeeded", "Failed"))}
    is_deleted = made.made.is_deleting and not status.get("phase")
    if is_deleted:
        manifest["spec"]["terminationGracePeriodSeconds"] = 3600
    return Occupant(manifest, status, is_deleted)


_OF_OCCUPANTS = {
    storage.mounting: 0.3,
    storage.mounting_disk: 0.3,
    storage.mounting_alone: 0.1,
    on_ports: 0.3,
    asking_as_a_whole: 0.15,
}


def _reserved(occupant: Occupant) -> Occupant:
    """The pod, gated and nominated to its node."""
    spec = dict(occupant.manifest["spec"])
    status = {"nominatedNodeName": spec.pop("nodeName")}
    gated = {**occupant.manifest, "spec": {**spec, "schedulingGates": [{"name": GATE}]}}
    return Occupant(gated, status, is_deleted=False)


def _resized(rng: Random, manifest: Object) -> Object:
    """A status in which the first container has other amounts of cpu than it asks for, and the others what they ask."""
    spec = manifest["spec"]
    allotted, actual = {"cpu": str(rng.randint(0, 3))}, {"cpu": str(rng.randint(0, 3))}
    first, *others = [allocated(each["name"], **each["resources"].get("requests", {})) for each in spec["containers"]]
    first |= {"allocatedResources": allotted, "resources": {"requests": actual}}
    early = [
        allocated(each["name"], **each["resources"].get("requests", {})) for each in spec.get("initContainers", ())
    ]
    status: Object = {"phase": "Running", "containerStatuses": [first, *others], "initContainerStatuses": early}
    if "resources" in spec:
        status |= {"allocatedResources": allotted, "resources": {"requests": actual}}
    if rng.random() < 0.3:
        reason = rng.choice(("Infeasible", "Deferred"))
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return status


def allocated(container: str, **requests: str) -> Object:
    """The status of a container that was given these amounts."""
    return {
        "name": container,
        "image": "example.invalid/main",
        "imageID": "",
        "ready": True,
        "restartCount": 0,
        "state": {"running": {}},
        "allocatedResources": requests,
        "resources": {"requests": requests},
    }


def as_manifest(made: PodBuilder) -> Object:
    """A pod as a user writes it: limits where they are required, its RuntimeClass in the place of the overhead."""
    wire = deepcopy(made.wire)
    metadata, spec = wire["metadata"], wire["spec"]
    for field in ("uid", "deletionTimestamp"):
        metadata.pop(field, None)
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        container["image"] = "example.invalid/main"
        resources = container.setdefault("resources", {})
        asked = resources.get("requests", {})
        resources.setdefault("limits", {}).update({n: q for n, q in asked.items() if n not in _NATIVE})
        for port in container.get("ports", ()):
            port["containerPort"] = port["hostPort"]
    if spec.pop("overhead", None):
        spec["runtimeClassName"] = "heavy"
    spec |= {"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
