"""Bodies of the few patches that the admission protocol is made of. Each names the uid, so no other pod is changed."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ganglift.api.names import GATE, LIFTED_AT
from ganglift.api.pod import Pod


def rfc3339(time: datetime) -> str:
    """Return an aware UTC time as the API writes it, to the millisecond."""
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def nominate(pod: Pod, node: str) -> dict[str, Any]:
    """Merge patch of `pods/status` that makes kube-scheduler keep room for the pod on a node.

    The resourceVersion makes it fail with Conflict where the pod is no longer what the plan was made for.
    """
    return {
        "metadata": {"uid": pod.uid, "resourceVersion": pod.metadata.resource_version},
        "status": {"nominatedNodeName": node},
    }


def release(pod: Pod) -> dict[str, Any]:
    """Merge patch of `pods/status` that gives the room kept for the pod back."""
    return {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": None}}


def lift(pod: Pod, at: str, pins: Iterable[tuple[str, str]] = ()) -> dict[str, Any]:
    """Strategic merge patch that removes our gate and no other, and notes the time (RFC 3339) for later timeouts.

    `pins` are node labels added to the pod's selector, so that it can't leave its topology domain any more.
    """
    spec: dict[str, Any] = {"schedulingGates": [{"$patch": "delete", "name": GATE}]}
    if pinned := dict(pins):
        spec["nodeSelector"] = pinned
    return {"metadata": {"uid": pod.uid, "annotations": {LIFTED_AT: at}}, "spec": spec}
