"""The API's verbs on stored objects, without HTTP: what a request does, and what it is answered.

Every verb is one synchronous step, so requests never see each other half done. Each raises `Refusal` where a real API
server would refuse, and stores nothing with `dry_run`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.apiserver.kinds import Kind, builtin_kinds, custom_kind
from tests.fakes.apiserver.patching import apply_patch
from tests.fakes.apiserver.pods import PodRules
from tests.fakes.apiserver.refusals import (
    Obj,
    Problems,
    Refusal,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    method_not_allowed,
    modified,
    not_found,
    not_served,
    unsupported_media_type,
)
from tests.fakes.apiserver.rules import check_metadata
from tests.fakes.apiserver.store import Place, Store, Stored

from ganglift.base.clock import Clock, SystemClock
from ganglift.kube import resources
from ganglift.kube.client import PatchType
from ganglift.kube.resources import Resource

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
OURS = (resources.WORKLOADS, resources.POD_GROUPS, resources.JOBS)


@dataclass(frozen=True)
class Target:
    """What a request is about."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def resource(self) -> Resource:
        return self.kind.resource

    @property
    def place(self) -> Place:
        return self.namespace, self.name


@dataclass
class Api:
    """An API server's state and rules. `minor` chooses the Kubernetes version whose behaviour is shown."""

    minor: int = 37
    clock: Clock = field(default_factory=SystemClock)
    custom: Iterable[Resource] = OURS
    """Custom resources that are served from the start."""

    def __post_init__(self) -> None:
        self.store = Store(self.clock)
        self.kinds: dict[Resource, Kind] = {}
        for kind in builtin_kinds(self.minor):
            self.serve(kind)
        for resource in self.custom:
            self.serve(custom_kind(resource))
        for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
            self.create(Target(self.kinds[resources.NAMESPACES]), {"metadata": {"name": name}})

    def serve(self, kind: Kind) -> None:
        self.kinds[kind.resource] = kind
        self.store.add_table(kind.resource)

    def stop_serving(self, resource: Resource) -> None:
        del self.kinds[resource]
        self.store.drop_table(resource)

    def target(self, resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> Target:
        """Raises Refusal (404) for a kind that is not served."""
        kind = self.kinds.get(resource)
        if kind is None or (bool(namespace) and not resource.namespaced):
            raise not_served()
        return Target(kind, namespace, name, subresource)

    def get(self, target: Target) -> Stored:
        stored = self.store.get(target.resource, target.place)
        if stored is None:
            raise not_found(target.resource, target.name)
        return stored

    def create(self, target: Target, body: Obj, *, dry_run: bool = False) -> Stored:
        """Make an object."""
        if not target.kind.is_stored:
            return self._review(target, body)
        obj, resource = self._new_object(target, body), target.resource
        metadata = obj["metadata"]
        place = (target.namespace, metadata["name"])
        self._admit_namespace(target, metadata["name"])
        if self.store.get(resource, place) is not None:
            raise already_exists(resource, metadata["name"])
        problems = Problems()
        check_metadata(metadata, problems)
        rules = target.kind.rules
        if target.kind.has_status and not rules.keeps_status_on_create:
            obj.pop("status", None)
        rules.prepare_create(self.store, obj, problems)
        problems.raise_for(resource, metadata["name"])
        if dry_run:
            return Stored(resource, obj, self.store.revision)
        stored = self.store.commit(resource, place, obj)
        if resource == resources.CRDS:
            self._install(obj)
        return stored

    def _review(self, target: Target, body: Obj) -> Stored:
        obj = body | {"metadata": {}}
        target.kind.rules.prepare_create(self.store, obj, Problems())
        return Stored(target.resource, obj, self.store.revision)

    def replace(self, target: Target, body: Obj, *, dry_run: bool = False) -> Stored:
        """PUT: `body` in the place of the object."""
        current = self.get(target)
        metadata = body.get("metadata") or {}
        if metadata.get("uid", current.uid) != current.uid:
            why = f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: {current.uid}"
            raise conflict(target.resource, target.name, why)
        if target.kind.needs_version_to_replace and not metadata.get("resourceVersion"):
            problems = Problems()
            problems.invalid("metadata.resourceVersion", "0x0", "must be specified for an update")
            problems.raise_for(target.resource, target.name)
        return self._update(target, current, dict(body), dry_run=dry_run)

    def patch(self, target: Target, patch_type: PatchType, patch: Any, *, dry_run: bool = False) -> Stored:
        """Change the object; an apply makes it if need be."""
        if patch_type is PatchType.STRATEGIC and target.kind.is_custom:
            raise unsupported_media_type(patch_type.value)
        stored = self.store.get(target.resource, target.place)
        if patch_type is PatchType.APPLY:
            if stored is None and not target.subresource:
                return self.create(target, patch, dry_run=dry_run)
            patch_type = PatchType.MERGE if target.kind.is_custom else PatchType.STRATEGIC
        current = self.get(target)
        changed = apply_patch(patch_type, current.copy(), patch)
        return self._update(target, current, changed, dry_run=dry_run)

    def bind(self, target: Target, binding: Obj, *, dry_run: bool = False) -> None:
        """POST pods/NAME/binding: what kube-scheduler does."""
        rules = target.kind.rules
        if not isinstance(rules, PodRules):
            raise method_not_allowed()
        current = self.get(target)
        metadata = binding.get("metadata") or {}
        if metadata.get("uid", current.uid) != current.uid:
            raise conflict(target.resource, target.name, f"Precondition failed: UID in precondition: {metadata['uid']}")
        pod = current.copy()
        rules.bind(pod, binding, self.store.timestamp())
        if not dry_run:
            self.store.commit(target.resource, target.place, pod)

    def commit(self, target: Target, obj: Obj) -> Stored:
        """Store a changed copy as it is: for what happens inside the server, such as a deletion's mark."""
        return self.store.commit(target.resource, target.place, obj)

    def _update(self, target: Target, current: Stored, new: Obj, *, dry_run: bool) -> Stored:
        resource, old = target.resource, current.obj
        metadata = new["metadata"] = dict(new.get("metadata") or {})
        version = metadata.get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            raise modified(resource, target.name)
        problems = Problems()
        _keep_system_metadata(metadata, old["metadata"], problems)
        self._keep_other_half(target, new, old)
        check_metadata(metadata, problems)
        if not problems.causes:
            check = target.kind.rules.check_status if target.subresource == "status" else target.kind.rules.check_update
            check(new, old, problems)
        problems.raise_for(resource, target.name)
        if target.kind.has_generation and new.get("spec") != old.get("spec"):
            metadata["generation"] = old["metadata"].get("generation", 1) + 1
        if dry_run:
            return Stored(resource, new, current.revision)
        if _is_ready_to_go(metadata):
            return self.store.remove(resource, target.place, new)
        stored = self.store.commit(resource, target.place, new)
        if resource == resources.CRDS and stored is not current:
            self._install(new)
        return stored

    def _keep_other_half(self, target: Target, new: Obj, old: Obj) -> None:
        """A write to the object leaves its status alone, and one to its status everything else."""
        if target.subresource == "status":
            if target.kind.is_custom:
                new["metadata"] = dict(old["metadata"])
            for key in [key for key in new if key not in ("metadata", "status")]:
                del new[key]
            new.update({key: value for key, value in old.items() if key not in ("metadata", "status")})
        elif target.kind.has_status:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        new["kind"], new["apiVersion"] = target.resource.kind, target.resource.api_version

    def _new_object(self, target: Target, body: Obj) -> Obj:
        resource = target.resource
        _check_kind(target, body)
        metadata = dict(body.get("metadata") or {})
        if metadata.get("resourceVersion"):
            raise Refusal(500, "InternalError", "resourceVersion should not be set on objects to be created")
        if metadata.setdefault("namespace", target.namespace) != target.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        if not target.namespace:
            del metadata["namespace"]
        if not metadata.get("name"):
            if not metadata.get("generateName"):
                problems = Problems()
                problems.required("metadata.name", "name or generateName is required")
                problems.raise_for(resource, "")
            suffix = "".join(self.store.random.choices(_SUFFIX, k=5))
            metadata["name"] = metadata["generateName"][:58] + suffix
        for given_by_server in ("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"):
            metadata.pop(given_by_server, None)
        metadata |= {"uid": self.store.new_uid(), "creationTimestamp": self.store.timestamp()}
        if target.kind.has_generation:
            metadata["generation"] = 1
        return body | {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}

    def _admit_namespace(self, target: Target, name: str) -> None:
        """The NamespaceLifecycle admission plugin."""
        if not target.resource.namespaced:
            return
        if not target.namespace:
            raise method_not_allowed()
        namespace = self.store.get(resources.NAMESPACES, ("", target.namespace))
        if namespace is None:
            raise not_found(resources.NAMESPACES, target.namespace)
        if namespace.obj["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {target.namespace} because it is being terminated"
            cause = {"reason": "NamespaceTerminating", "message": f"namespace {target.namespace} is being terminated"}
            raise forbidden(target.resource, name, why, [cause])

    def _install(self, crd: Obj) -> None:
        """Serve the versions of a CustomResourceDefinition."""
        spec = crd["spec"]
        names = spec["names"]
        for version in spec["versions"]:
            namespaced = spec.get("scope") != "Cluster"
            resource = Resource(spec["group"], version["name"], names["plural"], names["kind"], namespaced)
            has_status = "status" in (version.get("subresources") or {})
            if version.get("served", True):
                short_names = tuple(names.get("shortNames") or ())
                self.serve(custom_kind(resource, has_status=has_status, short_names=short_names))
        place = ("", crd["metadata"]["name"])
        stored = self.store.get(resources.CRDS, place)
        assert stored is not None
        now = self.store.timestamp()
        established = {"type": "Established", "status": "True", "reason": "InitialNamesAccepted"}
        status = {"conditions": [established | {"lastTransitionTime": now}], "acceptedNames": names}
        if (stored.obj.get("status") or {}).get("acceptedNames") != names:
            self.store.commit(resources.CRDS, place, stored.copy() | {"status": status})


def _check_kind(target: Target, body: Obj) -> None:
    """Built-in kinds are decoded by the path they are sent to; custom resources must say what they are."""
    resource = target.resource
    for field_name, expected in (("kind", resource.kind), ("apiVersion", resource.api_version)):
        if field_name not in body and target.kind.is_custom:
            missing = field_name[0].upper() + field_name[1:]
            raise bad_request(f"the object provided is unrecognized: Object '{missing}' is missing")
        if body.get(field_name, expected) != expected:
            raise bad_request(f"the object provided is unrecognized (must be of type {resource.kind})")


def _keep_system_metadata(new: Obj, old: Obj, problems: Problems) -> None:
    """What no write can change: silently kept, or refused, as the real server does."""
    if new.get("uid", old["uid"]) != old["uid"]:
        problems.immutable("metadata.uid", new["uid"])
    for field_name in ("name", "namespace"):
        if new.get(field_name, old.get(field_name)) != old.get(field_name):
            problems.immutable(f"metadata.{field_name}", new[field_name])
    kept = ("uid", "name", "namespace", "creationTimestamp", "generation", "generateName")
    for field_name in (*kept, "deletionTimestamp", "deletionGracePeriodSeconds"):
        if field_name in old:
            new[field_name] = old[field_name]
        else:
            new.pop(field_name, None)
    if "deletionTimestamp" in old:
        added = [item for item in new.get("finalizers") or () if item not in (old.get("finalizers") or ())]
        if added:
            why = f"no new finalizers can be added if the object is being deleted, found new finalizers {added}"
            problems.forbidden("metadata.finalizers", why)
    for field_name in ("finalizers", "labels", "annotations", "ownerReferences"):
        if not new.get(field_name):
            new.pop(field_name, None)


def _is_ready_to_go(metadata: Obj) -> bool:
    """Whether a deletion waited only for what this write took away."""
    waits_for_kubelet = metadata.get("deletionGracePeriodSeconds")
    return "deletionTimestamp" in metadata and not metadata.get("finalizers") and not waits_for_kubelet
