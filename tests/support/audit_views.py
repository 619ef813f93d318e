"""What an auditor reads from API objects. Names and rules are spelled out anew: nothing is shared with the operator."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

Object = dict[str, Any]
GroupKey = tuple[str, str]

GATE = "scheduling.ganglift.dev/gang"
GROUP = "scheduling.ganglift.dev/pod-group"
TAKEN_BACK = "scheduling.ganglift.dev/taken-back"
GROUP_BY = "scheduling.ganglift.dev/group-by"
PART_OF = "scheduling.ganglift.dev/part-of"
PART_VALUE = "scheduling.ganglift.dev/part-value"
INDEX = "batch.kubernetes.io/job-completion-index"
OURS = "ganglift.dev"

_SUFFIXES = {"": Fraction(1), "m": Fraction(1, 1000)}
_SUFFIXES |= {word: Fraction(1000**n) for n, word in enumerate("kMGT", 1)}
_SUFFIXES |= {f"{word}i": Fraction(1024**n) for n, word in enumerate("KMGT", 1)}


def key_of(obj: Object) -> GroupKey:
    return str(obj["metadata"].get("namespace", "")), str(obj["metadata"]["name"])


def uid_of(obj: Object) -> str:
    return str(obj["metadata"]["uid"])


def notes_of(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def labels(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def is_deleting(obj: Object) -> bool:
    return "deletionTimestamp" in obj["metadata"]


def controller_of(obj: Object) -> str:
    """The uid of its controller, empty if it has none."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")


def gates(pod: Object) -> set[str]:
    return {gate["name"] for gate in pod["spec"].get("schedulingGates") or ()}


def node_of(pod: Object) -> str:
    return str(pod["spec"].get("nodeName") or "")


def nominated(pod: Object) -> str:
    return str((pod.get("status") or {}).get("nominatedNodeName") or "")


def place_of(pod: Object) -> str:
    """The node that it is bound to, else the one that room is kept on."""
    return node_of(pod) or nominated(pod)


def phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")


def is_over(pod: Object) -> bool:
    return phase(pod) in ("Succeeded", "Failed")


def is_live(pod: Object) -> bool:
    """Whether the pod counts as a member that is there."""
    return not (is_over(pod) or is_deleting(pod) or TAKEN_BACK in notes_of(pod))


def priority_of(pod: Object) -> int:
    return int(pod["spec"].get("priority") or 0)


def group_of(pod: Object) -> GroupKey | None:
    name = labels(pod).get(GROUP)
    return (str(pod["metadata"].get("namespace", "")), name) if name else None


def min_count(group: Object) -> int:
    """The gang's minCount; 0 for a basic group."""
    gang = (group["spec"].get("schedulingPolicy") or {}).get("gang") or {}
    return int(gang.get("minCount") or 0)


def timeout_s(group: Object) -> int:
    return int(group["spec"].get("scheduleTimeoutSeconds") or 60)


def child_uid(group: Object) -> str:
    return str((group.get("status") or {}).get("childUID") or "")


def reason_of(group: Object) -> str:
    """The reason of the condition Scheduled."""
    conditions = (group.get("status") or {}).get("conditions") or ()
    return next((str(c.get("reason")) for c in conditions if c["type"] == "Scheduled"), "")


def need_of(group: Object, job: Object | None, succeeded: Iterable[Object]) -> int:
    """How many members must hold a place, at least; where a Job's state is not certain, rather one too few."""
    minimum, done = min_count(group), list(succeeded)
    if not child_uid(group):
        return max(0, minimum - len(done))
    if job is None or _runs_nothing(job):
        return 0
    spec, status = job["spec"], job.get("status") or {}
    parallelism = int(spec.get("parallelism", 1))
    counted = max(int(status.get("succeeded") or 0), len(done))
    if spec.get("completions") is None:
        return 0 if counted else min(minimum, parallelism)
    failed = len(_indexes(status.get("failedIndexes") or ""))
    return max(0, min(minimum, parallelism, int(spec["completions"]) - counted - failed))


def _runs_nothing(job: Object) -> bool:
    ends = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")
    conditions = (job.get("status") or {}).get("conditions") or ()
    is_ending = any(c["type"] in ends and c["status"] == "True" for c in conditions)
    return bool(job["spec"].get("suspend")) or is_deleting(job) or is_ending


def _indexes(text: str) -> set[int]:
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def requests_of(pod: Object) -> dict[str, Fraction]:
    """What a pod takes of a node, its slot included; init containers as the most that any of them asks for."""
    total: dict[str, Fraction] = defaultdict(Fraction, pods=Fraction(1))
    for container in pod["spec"].get("containers") or ():
        for name, text in ((container.get("resources") or {}).get("requests") or {}).items():
            total[name] += amount(text)
    for container in pod["spec"].get("initContainers") or ():
        for name, text in ((container.get("resources") or {}).get("requests") or {}).items():
            total[name] = max(total[name], amount(text))
    return total


def allocatable_of(node: Object) -> dict[str, Fraction]:
    return {name: amount(text) for name, text in ((node.get("status") or {}).get("allocatable") or {}).items()}


def amount(text: str | int | float) -> Fraction:
    match = re.fullmatch(r"([+-]?[\d.]+)([a-zA-Z]*)", str(text))
    assert match is not None, f"no quantity: {text!r}"
    return Fraction(match[1]) * _SUFFIXES[match[2]]
