"""Pods: defaults, gates, nominations, binding, graceful deletion (pkg/registry/core/pod, pkg/apis/core/validation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fakes.apiserver.refusals import Obj, Problems, conflict, forbidden
from tests.fakes.apiserver.rules import DNS_LABEL, DNS_SUBDOMAIN, Rules

from ganglift.kube.resources import PODS, PRIORITY_CLASSES

if TYPE_CHECKING:
    from tests.fakes.apiserver.store import Store

_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


class PodRules(Rules):
    def __init__(self, minor: int) -> None:
        self._minor = minor

    @property
    def clears_nomination_at_bind(self) -> bool:
        """ClearingNominatedNodeNameAfterBinding, on from 1.35."""
        return self._minor >= 35

    def prepare_create(self, store: Store, obj: Obj, problems: Problems) -> None:
        spec = obj.setdefault("spec", {})
        _fill_in(spec)
        _admit_priority(store, obj)
        _check_containers(spec, problems)
        _check_gates(spec, problems)
        obj["status"] = {"phase": "Pending", "qosClass": _qos_class(spec)}
        if spec.get("schedulingGates"):
            obj["status"]["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "SchedulingGated",
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                    "lastProbeTime": None,
                    "lastTransitionTime": store.timestamp(),
                }
            ]

    def check_update(self, new: Obj, old: Obj, problems: Problems) -> None:
        before, after = old["spec"], new["spec"]
        if before == after:
            return
        _check_tolerations(before, after, problems)
        known = {gate["name"] for gate in before.get("schedulingGates") or ()}
        for i, gate in enumerate(after.get("schedulingGates") or ()):
            if gate["name"] not in known:
                why = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
                problems.forbidden(f"spec.schedulingGates[{i}].name", why)
        if not after.get("schedulingGates"):
            after.pop("schedulingGates", None)
        if _fixed_part(before) != _fixed_part(after):
            problems.forbidden("spec", f"pod updates may not change fields other than {_UPDATABLE}")
        if not known:
            if _steering(before) != _steering(after):
                problems.forbidden("spec", f"pod updates may not change fields other than {_UPDATABLE}")
            return
        wanted = after.get("nodeSelector") or {}
        if any(wanted.get(key) != value for key, value in (before.get("nodeSelector") or {}).items()):
            problems.invalid("spec.nodeSelector", wanted, "only additions are allowed (no mutations or deletions)")

    def check_status(self, new: Obj, old: Obj, problems: Problems) -> None:
        status, before = new.setdefault("status", {}), old.get("status") or {}
        new["metadata"]["ownerReferences"] = old["metadata"].get("ownerReferences") or []
        if not new["metadata"]["ownerReferences"]:
            del new["metadata"]["ownerReferences"]
        status.setdefault("qosClass", before.get("qosClass"))
        if status["qosClass"] != before.get("qosClass"):
            problems.immutable("status.qosClass", status["qosClass"])
        nominated = status.get("nominatedNodeName") or ""
        if not nominated:
            status.pop("nominatedNodeName", None)
        elif nominated != before.get("nominatedNodeName"):
            if not DNS_SUBDOMAIN.match(nominated):
                problems.invalid("status.nominatedNodeName", nominated, "must be a lowercase RFC 1123 subdomain")
            if old["spec"].get("nodeName") and self.clears_nomination_at_bind:
                why = "may not be set on pods that are already bound to a node"
                problems.forbidden("status.nominatedNodeName", why)

    def grace_period_s(self, obj: Obj, asked_s: int | None) -> int | None:
        if not obj["spec"].get("nodeName") or obj["status"].get("phase") in ("Succeeded", "Failed"):
            return 0
        period = obj["spec"].get("terminationGracePeriodSeconds", 0) if asked_s is None else asked_s
        return 1 if period < 0 else period

    def bind(self, pod: Obj, binding: Obj, timestamp: str) -> None:
        """Assign `pod` to the binding's node. Raises Refusal (409) if it can't be."""
        name, spec = pod["metadata"]["name"], pod["spec"]
        if pod["metadata"].get("deletionTimestamp"):
            raise conflict(PODS, name, f"pod {name} is being deleted, cannot be assigned to a host")
        if spec.get("nodeName"):
            raise conflict(PODS, name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
        if spec.get("schedulingGates"):
            raise conflict(PODS, name, f"pod {name} has non-empty .spec.schedulingGates")
        spec["nodeName"] = binding["target"]["name"]
        if self.clears_nomination_at_bind:
            pod["status"].pop("nominatedNodeName", None)
        set_condition(pod, {"type": "PodScheduled", "status": "True"}, timestamp)


def set_condition(pod: Obj, condition: Obj, timestamp: str) -> None:
    """Put `condition` in the place of the one of its type; the transition time moves only when the status does."""
    conditions = pod["status"].setdefault("conditions", [])
    place = next((i for i, old in enumerate(conditions) if old["type"] == condition["type"]), None)
    if place is None:
        conditions.append(condition | {"lastProbeTime": None, "lastTransitionTime": timestamp})
        return
    same = conditions[place]["status"] == condition["status"]
    since = conditions[place].get("lastTransitionTime") if same else timestamp
    conditions[place] = condition | {"lastProbeTime": None, "lastTransitionTime": since}


def _fill_in(spec: Obj) -> None:
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("enableServiceLinks", True)
    if not spec.get("schedulingGates"):
        spec.pop("schedulingGates", None)
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.setdefault("resources", {})
        if limits := resources.get("limits"):
            resources["requests"] = limits | (resources.get("requests") or {})
    tolerations = spec.setdefault("tolerations", [])
    for reason in ("not-ready", "unreachable"):
        key = f"node.kubernetes.io/{reason}"
        if not any(toleration.get("key") == key for toleration in tolerations):
            tolerations.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})


def _admit_priority(store: Store, pod: Obj) -> None:
    """The Priority admission plugin."""
    spec = pod["spec"]
    classes = store.table(PRIORITY_CLASSES).objects
    name = spec.get("priorityClassName")
    chosen: Obj = {"value": 0}
    if name:
        found = classes.get(("", name))
        if found is None:
            raise forbidden(PODS, pod["metadata"]["name"], f"no PriorityClass with name {name} was found")
        chosen = found.obj
    else:
        default = next((stored.obj for stored in classes.values() if stored.obj.get("globalDefault")), None)
        if default is not None:
            chosen = default
            spec["priorityClassName"] = default["metadata"]["name"]
    if spec.setdefault("priority", chosen["value"]) != chosen["value"]:
        why = f"the integer value of priority ({spec['priority']}) must not be provided in pod spec"
        raise forbidden(PODS, pod["metadata"]["name"], why)
    spec.setdefault("preemptionPolicy", chosen.get("preemptionPolicy", "PreemptLowerPriority"))


def _check_containers(spec: Obj, problems: Problems) -> None:
    containers = spec.get("containers") or []
    if not containers:
        problems.required("spec.containers")
    for i, container in enumerate(containers):
        if not DNS_LABEL.match(container.get("name") or ""):
            problems.invalid(f"spec.containers[{i}].name", container.get("name") or "", "must be an RFC 1123 label")
        if not container.get("image"):
            problems.required(f"spec.containers[{i}].image")
        requests, limits = (container["resources"].get(kind) or {} for kind in ("requests", "limits"))
        for resource, value in requests.items():
            if "/" in resource and limits.get(resource) != value:
                field = f"spec.containers[{i}].resources.requests"
                problems.invalid(field, value, f"must be equal to {resource} limit of {limits.get(resource)}")


def _check_gates(spec: Obj, problems: Problems) -> None:
    seen: set[str] = set()
    for i, gate in enumerate(spec.get("schedulingGates") or ()):
        if gate["name"] in seen:
            problems.duplicate(f"spec.schedulingGates[{i}]", gate["name"])
        seen.add(gate["name"])
    if spec.get("nodeName") and seen:
        problems.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def _check_tolerations(before: Obj, after: Obj, problems: Problems) -> None:
    kept = after.get("tolerations") or []
    if any(toleration not in kept for toleration in before.get("tolerations") or ()):
        problems.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")


def _fixed_part(spec: Obj) -> Obj:
    """Everything that can't be changed at all, gated or not."""
    loose = ("tolerations", "schedulingGates", "activeDeadlineSeconds", "nodeSelector", "affinity")
    fixed = {key: value for key, value in spec.items() if key not in loose}
    fixed["affinity"] = {k: v for k, v in (spec.get("affinity") or {}).items() if k != "nodeAffinity"}
    for field in ("containers", "initContainers"):
        if field in spec:
            fixed[field] = [{k: v for k, v in item.items() if k != "image"} for item in spec[field]]
    return fixed


def _steering(spec: Obj) -> tuple[Any, Any]:
    """What may change while the pod is gated, and only then."""
    return spec.get("nodeSelector") or {}, (spec.get("affinity") or {}).get("nodeAffinity")


def _qos_class(spec: Obj) -> str:
    resources = [container.get("resources") or {} for container in spec.get("containers") or ()]
    computing = [{k: r.get(k) or {} for k in ("requests", "limits")} for r in resources]
    used = [{k: {n: q for n, q in v.items() if n in ("cpu", "memory")} for k, v in r.items()} for r in computing]
    if not any(r["requests"] or r["limits"] for r in used):
        return "BestEffort"
    whole = all(len(r["limits"]) == 2 and r["requests"] == r["limits"] for r in used)
    return "Guaranteed" if whole else "Burstable"
