"""What the API server shows at one moment, asked as any user may ask it: the demonstration trusts nobody's word."""

import time
from dataclasses import dataclass

from ganglift.api.names import JOB_NAME_LABEL, SCHEDULING_API
from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.playground.client import Session

GPU = "nvidia.com/gpu"
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
POD_GROUPS = f"/apis/{SCHEDULING_API}/namespaces/default/podgroups"


@dataclass(frozen=True, slots=True)
class World:
    """Nodes, pods and PodGroups, each in the order of their names."""

    at_s: float  # of the monotonic clock
    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    groups: tuple[PodGroup, ...]

    def pods_of(self, job: str) -> tuple[Pod, ...]:
        """The pods of a Job, those that are on their way out too."""
        return tuple(pod for pod in self.pods if job_of(pod) == job)

    def bound(self, job: str) -> tuple[Pod, ...]:
        """The Job's pods that hold a GPU."""
        return tuple(pod for pod in self.pods_of(job) if pod.is_bound)

    def unbound(self, job: str) -> tuple[Pod, ...]:
        """The Job's pods that hold none."""
        return tuple(pod for pod in self.pods_of(job) if not pod.is_bound)

    def places(self, job: str) -> dict[str, str]:
        """Node by name of the Job's pods that hold a GPU."""
        return {pod.name: pod.spec.node_name for pod in self.bound(job)}

    def group_of(self, job: str) -> PodGroup | None:
        """The PodGroup whose label the Job's pods bear."""
        labels = {pod.group.name for pod in self.pods_of(job) if pod.group is not None}
        return next((group for group in self.groups if group.name in labels), None)

    def is_usable(self, *nodes: str) -> bool:
        """Whether these nodes are Ready and bear no taint."""
        usable = {node.name for node in self.nodes if node.is_ready and not node.spec.taints}
        return usable.issuperset(nodes)


def read(session: Session) -> World:
    """Ask the API server. Nodes and groups come first: a pod is never bound to a node that is not shown."""
    groups = session.request("GET", POD_GROUPS)["items"]
    nodes = session.request("GET", NODES)["items"]
    pods = session.request("GET", PODS)["items"]
    return World(
        at_s=time.monotonic(),
        nodes=tuple(sorted(map(Node.model_validate, nodes), key=lambda node: node.name)),
        pods=tuple(sorted(map(Pod.model_validate, pods), key=lambda pod: pod.name)),
        groups=tuple(sorted(map(PodGroup.model_validate, groups), key=lambda group: group.name)),
    )


def job_of(pod: Pod) -> str:
    """The name of the Job that made the pod."""
    return pod.metadata.labels.get(JOB_NAME_LABEL, "")


def refusal(pod: Pod) -> str:
    """kube-scheduler's own words on why the pod has no node, without those on preemption; empty before it has any."""
    scheduled = pod.condition("PodScheduled")
    if scheduled is None or scheduled.reason != "Unschedulable":
        return ""
    return scheduled.message.partition(" preemption:")[0]


def message_of(group: PodGroup) -> str:
    """Why the gang waits, in its own words; empty where it does not."""
    scheduled = group.condition("Scheduled")
    return scheduled.message if scheduled is not None and not scheduled.is_true else ""


def is_whole(group: PodGroup | None) -> bool:
    """Whether the gang says of itself that it is scheduled."""
    scheduled = group.condition("Scheduled") if group is not None else None
    return scheduled is not None and scheduled.is_true
