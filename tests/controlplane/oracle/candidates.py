"""Random pods to put to a node: each has one to three kinds of rule, so that each kind decides often enough."""

from random import Random

from tests.builders import GPU, PodBuilder, pod
from tests.controlplane.oracle import storage
from tests.support.clusters import APPS, apart, near, selecting, spreading, tolerating

FPGA = "example.com/fpga"
HUGE_PAGES = "hugepages-2Mi"
HEAVY = {"cpu": "750m", "memory": "1Gi"}
"""The overhead of the RuntimeClass `heavy`."""
_CPU = ("1m", "100m", "0.5", "1", "1500m", "2", "4")
_MEMORY = ("0.5", "100Mi", "1e9", "1Gi", "2500M", "4Gi")


def random_candidate(rng: Random, name: str) -> PodBuilder:
    """A pod that waits, in namespace `default` or `other`."""
    made = pod(name).label("app", rng.choice(APPS)).label("tier", rng.choice("12"))
    if rng.random() < 0.2:
        made = made.namespace("other")
    chosen = rng.choices(tuple(_RULES), tuple(_RULES.values()), k=rng.choice((1, 1, 1, 2, 2, 3)))
    for rule in dict.fromkeys(chosen):
        made = rule(rng, made)
    return made.tolerates() if rng.random() < 0.4 else made


def _asking(rng: Random, made: PodBuilder) -> PodBuilder:
    """Requests of containers, of sidecars and of init containers in any order, and of what runs them."""
    if made.made.spec.resources is not None:
        return made
    made = made.asks(cpu=rng.choice(_CPU))
    for resource, amounts in (("memory", _MEMORY), ("ephemeral-storage", _MEMORY), (GPU, "123"), (FPGA, "12")):
        if rng.random() < 0.25:
            made = made.resource(resource, rng.choice(amounts))
    if rng.random() < 0.15:
        made = made.resource(HUGE_PAGES, rng.choice(("64Mi", "100Mi")))
    if rng.random() < 0.2:
        made = made.container("second", cpu=rng.choice(_CPU))
    for number in range(rng.choice((0, 0, 1, 2, 3))):
        made = made.init(f"init-{number}", sidecar=rng.random() < 0.5, cpu=rng.choice(_CPU))
    return made.overhead(**HEAVY) if rng.random() < 0.25 else made


def asking_as_a_whole(rng: Random, made: PodBuilder) -> PodBuilder:
    """Requests of the pod, beside smaller ones of its containers."""
    if made.made.spec.init_containers or made.made.spec.containers[0].resources.requests:
        return made
    made = made.asks(cpu="100m").pod_level(cpu=rng.choice(("1", "2500m", "5")))
    if rng.random() < 0.5:
        made = made.init("side", sidecar=True, cpu="200m", memory="64Mi").pod_level(memory=rng.choice(("1Gi", "5Gi")))
    return made.overhead(**HEAVY) if rng.random() < 0.25 else made


def on_ports(rng: Random, made: PodBuilder) -> PodBuilder:
    """Host ports of a container, now and then of an init container or sidecar."""
    if made.made.spec.containers[0].ports:
        return made
    of = "containers"
    if rng.random() < 0.25 and not made.made.spec.init_containers:
        made, of = made.init("early", sidecar=rng.random() < 0.5), "initContainers"
    for port in rng.sample((80, 81), rng.choice((1, 2))):
        address = rng.choice(("", "10.0.0.1", "10.0.0.2", "0.0.0.0"))
        made = made.host_port(port, rng.choice(("TCP", "TCP", "UDP")), address, of=of)
    return made.on_host_network() if rng.random() < 0.15 else made


def _plain(rng: Random, made: PodBuilder) -> PodBuilder:
    """Nothing: only pod slots, taints and other pods' anti-affinity are in its way."""
    return made


_RULES = {
    _plain: 2,
    _asking: 3,
    asking_as_a_whole: 2,
    on_ports: 4,
    tolerating: 2,
    selecting: 3,
    spreading: 10,
    near: 4,
    apart: 3,
    storage.mounting: 6,
    storage.mounting_disk: 5,
    storage.mounting_alone: 2,
}
"""Each with its weight."""
