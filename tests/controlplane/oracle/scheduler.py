"""kube-scheduler, asked about one pod after another: bound, or Unschedulable and in which words.

A pod is deleted as soon as it is answered for, so each finds the cluster as the first one did. kube-scheduler hears of
pods in the order in which they were made and deleted, and of nodes likewise.
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from tests.controlplane.cluster import NODES
from tests.controlplane.oracle import storage
from tests.controlplane.oracle.candidates import HEAVY
from tests.controlplane.oracle.worlds import PIN, SENTINEL, World, sentinel
from tests.controlplane.watch import Watch
from tests.support.clusters import NAMESPACE_LABELS
from tests.support.polling import eventually

from ganglift.playground.client import STRATEGIC_MERGE_PATCH, ApiClient, Session

Object = dict[str, Any]

_CORE = "/api/v1"
_CLAIMS = f"{_CORE}/namespaces/default/persistentvolumeclaims"
_VOLUMES = f"{_CORE}/persistentvolumes"
_ANSWER_S = 15.0


@dataclass(frozen=True)
class Answer:
    """What became of a pod: `node` if it was bound, or else kube-scheduler's words. `pod` is as the API took it in."""

    pod: Object
    node: str
    words: str

    @property
    def is_bound(self) -> bool:
        return bool(self.node)


class Scheduler:
    """One control plane's kube-scheduler. It is to have no other work."""

    def __init__(self, client: ApiClient) -> None:
        self.client = client
        self._opening = client.session()
        self._watch = Watch(client, f"{_CORE}/pods", self._note)
        self._news = threading.Condition()
        self._seen: dict[str, tuple[str, str]] = {}
        self._asked = self._worlds = 0

    def __enter__(self) -> Self:
        self._session: Session = self._opening.__enter__()
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._watch.stop()
        self._opening.__exit__(kind, error, traceback)

    # The cluster

    def furnish(self) -> None:
        """Make what all worlds share: namespaces, a runtime class, volumes."""
        self._post(f"{_CORE}/namespaces", {"metadata": {"name": "other"}})
        for name, labels in NAMESPACE_LABELS.items():
            self.client.patch(f"{_CORE}/namespaces/{name}", {"metadata": {"labels": labels}})
        runtime = {"metadata": {"name": "heavy"}, "handler": "heavy", "overhead": {"podFixed": HEAVY}}
        self._post("/apis/node.k8s.io/v1/runtimeclasses", runtime)
        self._post("/apis/storage.k8s.io/v1/csidrivers", storage.driver())
        self._post_all("/apis/storage.k8s.io/v1/csinodes", storage.csi_nodes())
        self._post_all(_VOLUMES, storage.volumes())
        eventually(lambda: self._phases(_VOLUMES), lambda phases: phases == {"Available"}, within_s=15)
        self._post_all(_CLAIMS, storage.volume_claims())
        self.client.delete(f"{_CLAIMS}/leaving")
        account = f"{_CORE}/namespaces/other/serviceaccounts"
        eventually(lambda: self.client.get(account)["items"], bool, within_s=15)
        eventually(lambda: self.client.get(_CLAIMS)["items"], _are_bound, within_s=30)

    def build(self, world: World) -> None:
        """Replace the cluster by another; return when kube-scheduler has heard of it."""
        self._worlds += 1
        for namespace in NAMESPACE_LABELS:
            self.client.delete(f"{_pods(namespace)}?gracePeriodSeconds=0")
        self.client.delete(NODES)
        self._post_all(NODES, world.nodes)
        for one in world.occupants:
            path = _pods(one.manifest["metadata"]["namespace"])
            name = one.manifest["metadata"]["name"]
            self._post(path, one.manifest)
            if one.status:
                body = {"status": one.status}
                self._session.request("PATCH", f"{path}/{name}/status", body, content_type=STRATEGIC_MERGE_PATCH)
            if one.is_deleted:
                self._session.request("DELETE", f"{path}/{name}")
        self._post(NODES, sentinel())
        self._probe()

    def _probe(self) -> None:
        """Return when a pod was bound to the sentinel node."""
        name = f"probe-{self._worlds}"
        self._post(_pods("default"), _probe(name))
        self._await(name, must_be_bound=True)
        self._session.request("DELETE", f"{_pods('default')}/{name}?gracePeriodSeconds=0")

    # The question

    def ask(self, manifest: Object, node: str) -> Answer:
        """Ask whether the pod, which can go to no other node, can go to this one."""
        self._asked += 1
        name = f"{manifest['metadata']['name']}-{self._asked}"
        path = _pods(manifest["metadata"]["namespace"])
        taken_in = self._post(path, _pinned(manifest, name, node))
        bound_to, words = self._await(name)
        self._session.request("DELETE", f"{path}/{name}?gracePeriodSeconds=0")
        if bound_to not in ("", node):
            raise AssertionError(f"a pod for {node} alone went to {bound_to}")
        return Answer(taken_in, bound_to, words)

    def _await(self, name: str, *, must_be_bound: bool = False) -> tuple[str, str]:
        deadline = time.monotonic() + _ANSWER_S
        with self._news:
            while name not in self._seen or (must_be_bound and not self._seen[name][0]):
                self._watch.check()
                if not self._news.wait(deadline - time.monotonic()):
                    raise AssertionError(f"kube-scheduler says nothing of {name}, or {self._seen.get(name)}")
            return self._seen.pop(name)

    def _note(self, kind: str, pod: Object) -> None:
        node = str(pod["spec"].get("nodeName", ""))
        conditions = pod.get("status", {}).get("conditions", ())
        refusal = [c for c in conditions if c["type"] == "PodScheduled" and c.get("reason") == "Unschedulable"]
        with self._news:
            if node or refusal:
                self._seen[pod["metadata"]["name"]] = (node, "" if node else str(refusal[0]["message"]))
            self._news.notify_all()

    # Requests

    def _phases(self, path: str) -> set[str]:
        return {item["status"].get("phase", "") for item in self.client.get(path)["items"]}

    def _post(self, path: str, body: Object) -> Object:
        made: Object = self._session.request("POST", path, body)
        return made

    def _post_all(self, path: str, bodies: Iterable[Object]) -> None:
        for body in bodies:
            self._post(path, body)


def _are_bound(claims: Iterable[Object]) -> bool:
    """Whether all claims are bound, but those that never will be."""
    return {c["metadata"]["name"] for c in claims if c["status"].get("phase") == "Bound"} == set(storage.claims())


def _pods(namespace: str) -> str:
    return f"{_CORE}/namespaces/{namespace}/pods"


def _pinned(manifest: Object, name: str, node: str) -> Object:
    """The pod under another name, with a request for what only that node offers."""
    first, *others = manifest["spec"]["containers"]
    resources = {kind: {**first.get("resources", {}).get(kind, {}), PIN + node: "1"} for kind in ("requests", "limits")}
    return {
        **manifest,
        "metadata": {**manifest["metadata"], "name": name},
        "spec": {**manifest["spec"], "containers": [{**first, "resources": resources}, *others]},
    }


def _probe(name: str) -> Object:
    container = {"name": "main", "image": "example.invalid/main"}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"tolerations": [{"operator": "Exists"}], "containers": [container]},
    }
    return _pinned(body, name, SENTINEL)
