"""What else lives in a cluster, on the fake API server: the Job controller, and kubelets.

Both act on what is stored, a moment after it changed. The Job controller keeps what ganglift relies on: pods are made
until `parallelism` of them are active; a pod that ends or is deleted is counted before its finalizer is removed, and
one without the finalizer never is; a suspended Job's pods go uncounted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

from tests.fakes.apiserver.core import Core
from tests.fakes.apiserver.deletion import delete
from tests.fakes.apiserver.pods import set_condition
from tests.fakes.apiserver.refusals import Obj, Refusal
from tests.fakes.apiserver.store import Change, Place

from ganglift.kube.resources import BATCH_JOBS, PODS, Resource

TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
_ENDS = ("Succeeded", "Failed")


class _Controller:
    """Acts again and again on what has changed, `late_s` after it did."""

    def __init__(self, core: Core, *, late_s: float = 0.002) -> None:
        self.api = core.api
        self._late_s = late_s
        self._dirty: dict[Place, None] = {}
        self._woken = asyncio.Event()
        core.api.store.observe(self._notice)

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._woken.wait()
            await asyncio.sleep(self._late_s)
            self.work()

    def work(self) -> None:
        """Act on all that has changed so far."""
        self._woken.clear()
        while self._dirty:
            place = next(iter(self._dirty))
            del self._dirty[place]
            self.act(place)

    def act(self, place: Place) -> None:
        raise NotImplementedError

    def concerned(self, resource: Resource, place: Place, obj: Obj) -> Iterator[Place]:
        raise NotImplementedError

    def _notice(self, resource: Resource, place: Place, change: Change) -> None:
        for one in self.concerned(resource, place, change.stored.obj):
            self._dirty[one] = None
            self._woken.set()

    def pod(self, place: Place) -> Obj | None:
        stored = self.api.store.get(PODS, place)
        return stored.copy() if stored is not None else None

    def commit(self, resource: Resource, obj: Obj) -> None:
        metadata = obj["metadata"]
        self.api.commit(self.api.target(resource, metadata["namespace"], metadata["name"]), obj)

    def delete(self, pod: Obj, grace_s: int | None = None) -> None:
        metadata = pod["metadata"]
        options: dict[str, Any] = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        with suppress(Refusal):
            delete(self.api, self.api.target(PODS, metadata["namespace"], metadata["name"]), options)


class Kubelets(_Controller):
    """Run bound pods, and let deleted ones go at once."""

    def concerned(self, resource: Resource, place: Place, obj: Obj) -> Iterator[Place]:
        if resource == PODS and obj["spec"].get("nodeName"):
            yield place

    def act(self, place: Place) -> None:
        pod = self.pod(place)
        if pod is None:
            return
        if "deletionTimestamp" in pod["metadata"]:
            if pod["metadata"].get("deletionGracePeriodSeconds"):
                self.delete(pod, grace_s=0)
        elif pod["status"]["phase"] == "Pending":
            pod["status"]["phase"] = "Running"
            set_condition(pod, {"type": "Ready", "status": "True"}, self.api.store.timestamp())
            self.commit(PODS, pod)

    def end(self, name: str, *, phase: str = "Succeeded", reason: str = "", namespace: str = "default") -> None:
        """Let a pod end."""
        pod = self.pod((namespace, name))
        assert pod is not None, f"there is no pod {name}"
        pod["status"] |= {"phase": phase} | ({"reason": reason} if reason else {})
        set_condition(pod, {"type": "Ready", "status": "False"}, self.api.store.timestamp())
        self.commit(PODS, pod)


class JobController(_Controller):
    """Makes, counts and removes the pods of batch/v1 Jobs."""

    def concerned(self, resource: Resource, place: Place, obj: Obj) -> Iterator[Place]:
        if resource == BATCH_JOBS:
            yield place
        if resource == PODS:
            for owner in obj["metadata"].get("ownerReferences") or ():
                if owner["kind"] == "Job" and owner["apiVersion"] == "batch/v1":
                    yield place[0], owner["name"]

    def act(self, place: Place) -> None:
        self._let_go(self._orphans(place))
        stored = self.api.store.get(BATCH_JOBS, place)
        if stored is None:
            return
        job = stored.copy()
        pods = self._pods_of(place[0], job)
        status = job.setdefault("status", {})
        if _is_finished(status) or "deletionTimestamp" in job["metadata"]:
            self._let_go(pods)
            return
        if not job["spec"].get("suspend"):
            status.setdefault("startTime", self.api.store.timestamp())
        self._count(job, pods)
        active = [pod for pod in pods if _is_active(pod)]
        if not self._conclude(job, active):
            active = self._adjust(job, active)
        status["active"] = len(active)
        status["ready"] = sum(1 for pod in active if pod["status"]["phase"] == "Running")
        self.commit(BATCH_JOBS, job)

    def _pods_of(self, namespace: str, job: Obj) -> list[Obj]:
        uid = job["metadata"]["uid"]
        found = [place for kind, place in self.api.store.dependents(uid) if kind == PODS and place[0] == namespace]
        return [pod for place in found if (pod := self.pod(place)) is not None]

    def _orphans(self, place: Place) -> list[Obj]:
        """Pods being deleted whose Job of that name is gone: their finalizer would keep them for ever."""
        orphans = []
        for (namespace, _), stored in self.api.store.table(PODS).objects.items():
            if namespace == place[0] and "deletionTimestamp" in stored.obj["metadata"]:
                owners = stored.obj["metadata"].get("ownerReferences") or ()
                gone = [
                    owner for owner in owners if owner["kind"] == "Job" and self.api.store.find(owner["uid"]) is None
                ]
                orphans += [stored.copy()] if gone else []
        return orphans

    def _count(self, job: Obj, pods: list[Obj]) -> None:
        """Count what has ended since the last look; pods of a suspended Job, and untracked ones, count for nothing."""
        status, is_suspended = job["status"], job["spec"].get("suspend", False)
        done = _indexes(status.get("completedIndexes", ""))
        for pod in pods:
            ended = pod["status"]["phase"] in _ENDS or "deletionTimestamp" in pod["metadata"]
            if not ended or TRACKING not in pod["metadata"].get("finalizers", ()):
                continue
            if pod["status"]["phase"] == "Succeeded":
                status["succeeded"] = status.get("succeeded", 0) + 1
                done |= {int(pod["metadata"]["annotations"][INDEX])} if _is_indexed(job) else set()
            elif not is_suspended:
                status["failed"] = status.get("failed", 0) + 1
            self._untrack(pod)
        if done:
            status["completedIndexes"] = ",".join(map(str, sorted(done)))

    def _conclude(self, job: Obj, active: list[Obj]) -> bool:
        """End the Job if it is done or has failed too often."""
        spec, status = job["spec"], job["status"]
        completions = spec.get("completions")
        is_done = status.get("succeeded", 0) >= completions if completions is not None else False
        if not is_done and status.get("failed", 0) <= spec["backoffLimit"]:
            return False
        word = "Complete" if is_done else "Failed"
        status["conditions"] = [{"type": word, "status": "True", "lastTransitionTime": self.api.store.timestamp()}]
        self._let_go(active)
        active.clear()
        return True

    def _adjust(self, job: Obj, active: list[Obj]) -> list[Obj]:
        """Make the pods that are missing, or delete those that are too many, unbound ones first."""
        spec, status = job["spec"], job["status"]
        wanted = 0 if spec.get("suspend") else spec["parallelism"]
        if spec.get("completions") is not None:
            wanted = min(wanted, spec["completions"] - status.get("succeeded", 0))
        active.sort(key=lambda pod: not pod["spec"].get("nodeName"))
        for pod in active[wanted:]:
            self._let_go([pod])
        taken = {int(pod["metadata"]["annotations"][INDEX]) for pod in active} if _is_indexed(job) else set()
        taken |= _indexes(status.get("completedIndexes", ""))
        made = []
        for _ in range(wanted - len(active)):
            index = next(i for i in range(len(taken) + 1) if i not in taken) if _is_indexed(job) else None
            taken |= {index} if index is not None else set()
            made.append(self._make(job, index))
        return [*active[:wanted], *made]

    def _make(self, job: Obj, index: int | None) -> Obj:
        template, name = job["spec"]["template"], job["metadata"]["name"]
        metadata: Obj = deepcopy(template.get("metadata") or {})
        if index is not None:
            metadata["annotations"] = metadata.get("annotations", {}) | {INDEX: str(index)}
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": job["metadata"]["uid"]}
        metadata |= {
            "generateName": f"{name}-" if index is None else f"{name}-{index}-",
            "namespace": job["metadata"]["namespace"],
            "finalizers": [TRACKING],
            "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
        }
        target = self.api.target(PODS, job["metadata"]["namespace"])
        return self.api.create(target, {"metadata": metadata, "spec": deepcopy(template["spec"])}).copy()

    def _let_go(self, pods: list[Obj]) -> None:
        """Delete pods that count for nothing any more."""
        for pod in pods:
            if (now := self.pod((pod["metadata"]["namespace"], pod["metadata"]["name"]))) is not None:
                self._untrack(now)
                if now["status"]["phase"] not in _ENDS:
                    self.delete(now)

    def _untrack(self, pod: Obj) -> None:
        metadata = pod["metadata"]
        if TRACKING not in metadata.get("finalizers", ()):
            return
        metadata["finalizers"] = [name for name in metadata["finalizers"] if name != TRACKING]
        with suppress(Refusal):
            self.api.replace(self.api.target(PODS, metadata["namespace"], metadata["name"]), pod)


def _is_finished(status: Obj) -> bool:
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in status.get("conditions", ()))


def _is_active(pod: Obj) -> bool:
    return pod["status"]["phase"] not in _ENDS and "deletionTimestamp" not in pod["metadata"]


def _is_indexed(job: Obj) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def _indexes(text: str) -> set[int]:
    return {int(part) for part in text.split(",") if part}
