"""Deleting: preconditions, grace, finalizers, evictions under a disruption budget, and what becomes of dependents.

`Collector` is the garbage collector of the controller manager. It runs on its own, so a dependent outlives its owner by
a moment; while `stopped`, it outlives it for good, as without a controller manager.
"""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import timedelta
from typing import Any

from tests.fakes.apiserver.api import Api, Target
from tests.fakes.apiserver.pods import set_condition
from tests.fakes.apiserver.refusals import Obj, Refusal, bad_request, conflict, too_many_requests
from tests.fakes.apiserver.store import Change, Place, Stored, owner_uids

from ganglift.kube import resources
from ganglift.kube.resources import Resource

_FOREGROUND = "foregroundDeletion"
_ORPHAN = "orphan"
_POLICY_FINALIZERS = {"Foreground": _FOREGROUND, "Orphan": _ORPHAN}


def delete(api: Api, target: Target, options: Obj) -> Stored:
    """Delete the object, or mark it for deletion. Returns its last, or its marked, state."""
    current = api.get(target)
    _check_preconditions(target, current, options)
    obj = current.copy()
    metadata = obj["metadata"]
    _mark_dependents(api, target, metadata, options)
    grace_s = target.kind.rules.grace_period_s(obj, options.get("gracePeriodSeconds"))
    if "deletionTimestamp" in metadata:
        shorter = grace_s is not None and grace_s < metadata.get("deletionGracePeriodSeconds", 0)
        if shorter:
            metadata["deletionGracePeriodSeconds"] = grace_s
    else:
        metadata["deletionTimestamp"] = _in_seconds(api, grace_s or 0)
        metadata["deletionGracePeriodSeconds"] = grace_s or 0
        if "generation" in metadata:
            metadata["generation"] += 1
    if options.get("dryRun"):
        return Stored(target.resource, obj, current.revision)
    if metadata.get("finalizers") or metadata["deletionGracePeriodSeconds"]:
        return api.commit(target, obj)
    return api.store.remove(target.resource, target.place, obj)


def evict(api: Api, target: Target, eviction: Obj, *, dry_run: bool) -> None:
    """POST pods/NAME/eviction. Raises Refusal (429) while a disruption budget forbids it."""
    current = api.get(target)
    if (eviction.get("metadata") or {}).get("name") != target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = dict(eviction.get("deleteOptions") or {})
    if dry_run:
        options["dryRun"] = ["All"]
    _check_preconditions(target, current, options)
    pod = current.copy()
    is_disruption = pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
    if is_disruption:
        _spend_budget(api, pod, dry_run=bool(options.get("dryRun")))
    if not options.get("dryRun"):
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        set_condition(pod, condition, api.store.timestamp())
        api.commit(target, pod)
    delete(api, target, options)


class Collector:
    """Deletes objects whose owners are gone, and finishes foreground and orphaning deletions."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._queue: deque[tuple[Resource, Place]] = deque()
        self._scheduled: asyncio.Handle | None = None
        self.stopped = False
        api.store.observe(self._notice)

    def restart(self) -> None:
        """Go on after `stopped`, with all that was missed."""
        self.stopped = False
        for table in self._api.store.tables():
            self._queue.extend((table.resource, place) for place in table.objects)
        self._schedule()

    def run(self) -> None:
        """Work through the queue now."""
        while self._queue and not self.stopped:
            resource, place = self._queue.popleft()
            if self._api.store.serves(resource) and (stored := self._api.store.get(resource, place)):
                self._settle(resource, place, stored)

    def _notice(self, resource: Resource, place: Place, change: Change) -> None:
        if change.type == "DELETED":
            self._queue.extend(self._api.store.dependents(change.stored.uid))
            self._queue.extend(filter(None, (self._api.store.find(uid) for uid in owner_uids(change.stored.obj))))
        elif owner_uids(change.stored.obj) or "deletionTimestamp" in change.stored.obj["metadata"]:
            self._queue.append((resource, place))
        if resource == resources.NAMESPACES and change.type == "DELETED":
            self._queue.extend(self._inside(place[1]))
        self._schedule()

    def _inside(self, namespace: str) -> list[tuple[Resource, Place]]:
        tables = self._api.store.tables()
        return [(table.resource, place) for table in tables for place in table.objects if place[0] == namespace]

    def _schedule(self) -> None:
        if not self._queue or self.stopped or self._scheduled is not None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # used without a loop: the caller calls `run`
        self._scheduled = loop.call_soon(self._run_scheduled)

    def _run_scheduled(self) -> None:
        self._scheduled = None
        self.run()

    def _settle(self, resource: Resource, place: Place, stored: Stored) -> None:
        metadata = stored.obj["metadata"]
        target = self._api.target(resource, *place)
        finalizers = metadata.get("finalizers") or []
        dependents = self._api.store.dependents(stored.uid)
        if "deletionTimestamp" in metadata and _ORPHAN in finalizers:
            for dependent, at in dependents:
                self._disown(dependent, at, stored.uid)
            self._drop_finalizer(target, stored, _ORPHAN)
        elif "deletionTimestamp" in metadata and _FOREGROUND in finalizers:
            for dependent, at in dependents:
                self._delete(dependent, at, "Foreground")
            if not self._api.store.dependents(stored.uid):
                self._drop_finalizer(target, stored, _FOREGROUND)
        elif self._is_orphaned(stored) or self._is_homeless(resource, place):
            self._delete(resource, place, "Background")

    def _is_orphaned(self, stored: Stored) -> bool:
        owners = owner_uids(stored.obj)
        return bool(owners) and not any(self._api.store.find(uid) for uid in owners)

    def _is_homeless(self, resource: Resource, place: Place) -> bool:
        return resource.namespaced and self._api.store.get(resources.NAMESPACES, ("", place[0])) is None

    def _delete(self, resource: Resource, place: Place, policy: str) -> None:
        target = self._api.target(resource, *place)
        if "deletionTimestamp" not in self._api.get(target).obj["metadata"]:
            delete(self._api, target, {"propagationPolicy": policy})

    def _disown(self, resource: Resource, place: Place, uid: str) -> None:
        target = self._api.target(resource, *place)
        obj = self._api.get(target).copy()
        others = [owner for owner in obj["metadata"].pop("ownerReferences") if owner["uid"] != uid]
        if others:
            obj["metadata"]["ownerReferences"] = others
        self._api.commit(target, obj)

    def _drop_finalizer(self, target: Target, stored: Stored, finalizer: str) -> None:
        obj = stored.copy()
        obj["metadata"]["finalizers"] = [name for name in obj["metadata"]["finalizers"] if name != finalizer]
        self._api.replace(target, obj)


def delete_collection(api: Api, target: Target, places: list[Place], options: Obj) -> None:
    """DELETE on a collection: each of `places` by itself; what is gone already is no error."""
    for namespace, name in places:
        try:
            delete(api, api.target(target.resource, namespace, name), options)
        except Refusal as refusal:
            if refusal.code != 404:
                raise


def _check_preconditions(target: Target, current: Stored, options: Obj) -> None:
    asked: dict[str, Any] = options.get("preconditions") or {}
    metadata = current.obj["metadata"]
    for field, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if asked.get(field, metadata[field]) != metadata[field]:
            why = (
                f"the {label} in the precondition ({asked[field]}) does not match the {label} in record "
                f"({metadata[field]}). The object might have been deleted and then recreated"
            )
            raise conflict(target.resource, target.name, why)


def _mark_dependents(api: Api, target: Target, metadata: Obj, options: Obj) -> None:
    """Note in the object's finalizers that its dependents must be seen to before it goes."""
    default = "Orphan" if target.kind.orphans_by_default else "Background"
    finalizer = _POLICY_FINALIZERS.get(options.get("propagationPolicy") or default)
    if finalizer and api.store.dependents(metadata["uid"]):
        present = metadata.get("finalizers") or []
        metadata["finalizers"] = [*present, finalizer] if finalizer not in present else present


def _in_seconds(api: Api, seconds: int) -> str:
    return (api.clock.now() + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _spend_budget(api: Api, pod: Obj, *, dry_run: bool) -> None:
    namespace = pod["metadata"]["namespace"]
    labels = pod["metadata"].get("labels") or {}
    for place, stored in api.store.table(resources.POD_DISRUPTION_BUDGETS).objects.items():
        selector = ((stored.obj.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
        if place[0] != namespace or not selector or not selector.items() <= labels.items():
            continue
        budget = stored.copy()
        allowed = (budget.get("status") or {}).get("disruptionsAllowed", 0)
        if allowed <= 0:
            name = place[1]
            cause = {"reason": "DisruptionBudget", "message": f"The disruption budget {name} does not allow evictions"}
            message = "Cannot evict pod as it would violate the pod's disruption budget."
            raise too_many_requests(message, causes=[cause])
        if not dry_run:
            budget["status"]["disruptionsAllowed"] = allowed - 1
            api.commit(api.target(resources.POD_DISRUPTION_BUDGETS, *place), budget)
