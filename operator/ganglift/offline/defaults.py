"""What the API server makes of a pod before it stores it, as far as placement goes.

Requests that are not set are those of the limits, ports of the host's network are host ports, a PriorityClass stands
for a number, a RuntimeClass for overhead, selectors and tolerations, and every pod tolerates a node that was lost a
moment ago. Sources: `SetDefaults_Pod` in k8s.io/kubernetes pkg/apis/core/v1, and the admission plugins Priority,
RuntimeClass and DefaultTolerationSeconds. What a cluster adds by LimitRanges, webhooks and policies is not known here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from ganglift.api.classes import PriorityClass, RuntimeClass
from ganglift.api.pod import Pod
from ganglift.offline.checks import pod_findings
from ganglift.offline.documents import Data
from ganglift.offline.inventory import Inventory
from ganglift.offline.problems import InvalidInput, Place, Problem, invalid, problems_of

_BUILT_IN = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_LOST_NODES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class Defaults:
    """Fills in pods of one cluster."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._classes = {one.name: one for one in inventory.all(PriorityClass)}
        self._known = _BUILT_IN | {
            pod.spec.priority_class_name: pod.spec.priority
            for pod in inventory.all(Pod)
            if pod.spec.priority_class_name
        }
        self._runtimes = {one.name: one for one in inventory.all(RuntimeClass)}

    def pod(self, data: Data, place: Place, path: str) -> Pod:
        """Return a pod as the API server stores it; raise InvalidInput for what it would refuse.

        `path` is where its template stands in the object asked for.
        """
        spec = data.get("spec")
        if not isinstance(spec, dict) or not spec.get("containers"):
            raise invalid(place, "a pod needs at least one container", _joined(path, "spec.containers"))
        try:
            # What is filled in below is read from the model's own fields, so that wrong types are found first.
            Pod.model_validate(data)
            spec = self._filled(spec, place, path)
            pod = Pod.model_validate({**data, "spec": spec})
        except ValidationError as error:
            raise InvalidInput(problems_of(error, place, path)) from error
        if problems := [Problem(place, words, _joined(path, field)) for field, words in pod_findings(pod)]:
            raise InvalidInput(problems)
        return pod

    def _filled(self, spec: Data, place: Place, path: str) -> Data:
        is_on_host = bool(spec.get("hostNetwork"))
        filled = dict(spec)
        for field in ("containers", "initContainers"):
            if field in spec:
                filled[field] = [_container(one, is_on_host) for one in spec[field]]
        if "resources" in spec:
            filled["resources"] = _pod_level(spec["resources"], filled)
        filled |= self._priority(spec, place, path)
        filled |= self._runtime(spec, place, path)
        filled["tolerations"] = [*filled.get("tolerations", ()), *_tolerations(filled.get("tolerations", ()))]
        return filled

    def _priority(self, spec: Data, place: Place, path: str) -> Data:
        name = spec.get("priorityClassName", "")
        if "priority" in spec and not name:
            words = "is set by the API server alone: name a priorityClassName instead"
            raise invalid(place, words, _joined(path, "spec.priority"))
        one = self._classes.get(name) if name else self._default_class()
        if one is not None:
            policy = spec.get("preemptionPolicy", one.preemption_policy)
            return {"priorityClassName": one.name, "priority": one.value, "preemptionPolicy": policy}
        if not name:
            return {}
        if name not in self._known:
            words = f"the cluster has no PriorityClass {name}"
            if PriorityClass not in self._inventory.listed:
                words = (
                    f"PriorityClass {name} is not known: add it to the files, for example with "
                    "`kubectl get nodes,pods,priorityclasses --all-namespaces --output json`"
                )
            raise invalid(place, words, _joined(path, "spec.priorityClassName"))
        return {"priority": self._known[name]}

    def _default_class(self) -> PriorityClass | None:
        return max((one for one in self._classes.values() if one.global_default), key=lambda c: c.value, default=None)

    def _runtime(self, spec: Data, place: Place, path: str) -> Data:
        name = spec.get("runtimeClassName")
        if not isinstance(name, str) or not name:
            return {}
        one = self._runtimes.get(name)
        if one is None:
            if RuntimeClass in self._inventory.listed:
                raise invalid(place, f"the cluster has no RuntimeClass {name}", _joined(path, "spec.runtimeClassName"))
            self._inventory.note(f"{place}: RuntimeClass {name} is not known, its overhead is not counted")
            return {}
        filled: Data = {}
        if one.overhead is not None and one.overhead.pod_fixed:
            filled["overhead"] = one.overhead.pod_fixed
        if one.scheduling is not None:
            filled["nodeSelector"] = {**spec.get("nodeSelector", {}), **one.scheduling.node_selector}
            more = [toleration.wire() for toleration in one.scheduling.tolerations]
            filled["tolerations"] = [*spec.get("tolerations", ()), *more]
        return filled


def _container(container: Data, is_on_host: bool) -> Data:
    filled = dict(container)
    if limits := container.get("resources", {}).get("limits"):
        requests = {**limits, **container["resources"].get("requests", {})}
        filled["resources"] = {**container["resources"], "requests": requests}
    if is_on_host and "ports" in container:
        filled["ports"] = [{"hostPort": port.get("containerPort", 0), **port} for port in container["ports"]]
    return filled


def _pod_level(resources: Data, spec: Data) -> Data:
    """Take limits of the whole pod as its requests where neither it nor any container requests the resource."""
    named = {
        name
        for container in (*spec.get("containers", ()), *spec.get("initContainers", ()))
        for name in container.get("resources", {}).get("requests", {})
    }
    implied = {name: limit for name, limit in resources.get("limits", {}).items() if name not in named}
    return {**resources, "requests": {**implied, **resources.get("requests", {})}}


def _tolerations(given: Any) -> Iterator[Data]:
    for key in _LOST_NODES:
        if not any(_covers(toleration, key) for toleration in given):
            yield {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


def _covers(toleration: Mapping[str, Any], key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def _joined(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field
