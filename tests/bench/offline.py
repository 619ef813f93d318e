"""`ganglift plan` on 5,000 nodes and 50,000 pods: from the bytes of a file to a snapshot that can be planned on.

Times are of the processor, which one thread keeps busy: what it takes where nothing else runs.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from time import process_time
from typing import Any

from tests.bench.planner import NODES, PODS, RACKS, running
from tests.bench.registry import bench
from tests.builders import node

from ganglift.offline.loading import load, without_collection
from ganglift.offline.outlook import Survey
from ganglift.offline.storing import snapshot_bytes

_STAMP = "2026-11-30T12:00:00Z"
_CONTAINER = {
    "image": "registry.example/team/trainer:1.2.3",
    "imagePullPolicy": "IfNotPresent",
    "command": ["python", "train.py"],
    "args": ["--epochs=10", "--data=/data"],
    "env": [{"name": f"SETTING_{i}", "value": f"value-{i}"} for i in range(12)],
    "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
    "terminationMessagePath": "/dev/termination-log",
    "volumeMounts": [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": "token", "readOnly": True}],
}
_SPEC = {
    "dnsPolicy": "ClusterFirst",
    "enableServiceLinks": True,
    "priority": 0,
    "preemptionPolicy": "PreemptLowerPriority",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "serviceAccountName": "default",
    "terminationGracePeriodSeconds": 30,
    "tolerations": [
        {"effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ],
    "volumes": [{"name": "token", "projected": {"defaultMode": 420, "sources": [{"serviceAccountToken": {}}]}}],
}
_STATUS = {
    "conditions": [
        {"lastProbeTime": None, "lastTransitionTime": _STAMP, "status": "True", "type": kind}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ],
    "hostIP": "10.0.0.1",
    "podIP": "10.1.0.1",
    "qosClass": "Burstable",
    "startTime": _STAMP,
}


@bench("offline/load-kubectl-list", unit="s", budget=10)
def kubectl_list() -> float:
    """What `kubectl get nodes,pods --all-namespaces --output json` prints, of pods as clusters have them."""
    return _loading("cluster.json", _kubectl_list())


@bench("offline/load-snapshot", unit="s", budget=10)
def snapshot() -> float:
    """What `ganglift snapshot` saves of the same cluster."""
    return _loading("snapshot.json", snapshot_bytes(load([("cluster.json", _kubectl_list())])))


@bench("offline/save-snapshot", unit="s", budget=10)
def save() -> float:
    """The same cluster, read, into the bytes of a snapshot."""
    inventory = load([("cluster.json", _kubectl_list())])
    begun_s = process_time()
    with without_collection():
        snapshot_bytes(inventory)
    return process_time() - begun_s


def _loading(name: str, data: bytes) -> float:
    begun_s = process_time()
    with without_collection():
        survey = Survey(load([(name, data)]))
    took_s = process_time() - begun_s
    assert len(survey.snapshot.table) == NODES
    assert int(survey.snapshot.used[:, survey.snapshot.columns["pods"]].sum()) == PODS
    print(f"  {name}: {len(data) / 1e6:.0f} MB", flush=True)
    return took_s


@cache
def _kubectl_list() -> bytes:
    text = json.dumps({"apiVersion": "v1", "items": list(_objects()), "kind": "List", "metadata": {}}, indent=4)
    return text.encode()


def _objects() -> Iterator[dict[str, Any]]:
    for i in range(NODES):
        made = node(f"node-{i:05}").offers(cpu=192, memory="2Ti").gpus(8).rack(f"rack-{i % RACKS:03}").wire
        images = [{"names": [f"registry.example/image-{n}@sha256:{n:064}"], "sizeBytes": 10**9} for n in range(40)]
        yield {"apiVersion": "v1", "kind": "Node", **made, "status": made["status"] | {"images": images}}
    for i in range(PODS):
        made = deepcopy(running(i).wire)
        made["metadata"] |= {"creationTimestamp": _STAMP, "resourceVersion": str(i)}
        made["spec"] |= _SPEC
        made["spec"]["containers"][0] |= _CONTAINER
        made["status"] |= _STATUS
        yield {"apiVersion": "v1", "kind": "Pod", **made}
