"""What a kind adds to the common rules: defaults on the way in, refusals, and how it is deleted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.fakes.apiserver.refusals import Obj, Problems

if TYPE_CHECKING:
    from tests.fakes.apiserver.store import Store

DNS_LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")
DNS_SUBDOMAIN = re.compile(r"^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_QUALIFIED = re.compile(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
_DNS_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)


class Rules:
    """The plain kind: nothing is filled in, nothing is refused, a delete takes effect at once."""

    keeps_status_on_create = False

    def prepare_create(self, store: Store, obj: Obj, problems: Problems) -> None:
        """Fill in and check a new object. `status` has been taken off already where users can't set it."""

    def check_update(self, new: Obj, old: Obj, problems: Problems) -> None:
        """Check, and complete, a change of anything but the status."""

    def check_status(self, new: Obj, old: Obj, problems: Problems) -> None:
        """Check, and complete, a change through the status subresource."""

    def grace_period_s(self, obj: Obj, asked_s: int | None) -> int | None:
        """How long the object stays after a delete; None for a kind that is not deleted gracefully."""
        return None


class NodeRules(Rules):
    keeps_status_on_create = True

    def prepare_create(self, store: Store, obj: Obj, problems: Problems) -> None:
        obj.setdefault("spec", {})
        status = obj.setdefault("status", {})
        if "allocatable" not in status and "capacity" in status:
            status["allocatable"] = dict(status["capacity"])


class EventRules(Rules):
    """events.k8s.io/v1: the fields that its validation insists on."""

    def prepare_create(self, store: Store, obj: Obj, problems: Problems) -> None:
        for field, limit in (
            ("reason", 128),
            ("action", 128),
            ("reportingController", 253),
            ("reportingInstance", 128),
        ):
            value = obj.get(field) or ""
            if not value:
                problems.required(field)
            elif len(value) > limit:
                problems.invalid(field, value, f"can have at most {limit} characters")
        if not obj.get("eventTime"):
            problems.required("eventTime")
        if len(obj.get("note") or "") > 1024:
            problems.invalid("note", "...", "can have at most 1024 characters")
        if obj.get("type") not in ("Normal", "Warning"):
            problems.invalid("type", obj.get("type"), "")
        namespace = (obj.get("regarding") or {}).get("namespace") or "default"
        if obj["metadata"].get("namespace") != namespace:
            problems.invalid("involvedObject.namespace", namespace, "does not match event.namespace")

    def check_update(self, new: Obj, old: Obj, problems: Problems) -> None:
        for field in ("regarding", "reason", "action", "note", "type", "reportingController", "reportingInstance"):
            if new.get(field) != old.get(field):
                problems.immutable(field, new.get(field))


class AccessReviewRules(Rules):
    """SelfSubjectAccessReview: everything is allowed but what is in `denied` (verb, group, resource, subresource)."""

    def __init__(self) -> None:
        self.denied: set[tuple[str, str, str, str]] = set()

    def prepare_create(self, store: Store, obj: Obj, problems: Problems) -> None:
        asked = obj["spec"].get("resourceAttributes") or {}
        verb, group, resource, subresource = (asked.get(k) or "" for k in ("verb", "group", "resource", "subresource"))
        obj["status"] = {"allowed": (verb, group, resource, subresource) not in self.denied}


def check_metadata(metadata: Obj, problems: Problems) -> None:
    """Name, labels, annotations: the limits of every kind."""
    name = metadata.get("name") or ""
    if not DNS_SUBDOMAIN.match(name):
        problems.invalid("metadata.name", name, _DNS_RULE)
    check_labels(metadata.get("labels"), "metadata.labels", problems)
    for key in metadata.get("annotations") or {}:
        _check_qualified(key.lower(), "metadata.annotations", problems)
    for i, owner in enumerate(metadata.get("ownerReferences") or ()):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                problems.invalid(f"metadata.ownerReferences[{i}].{field}", "", "must not be empty")


def check_labels(labels: Obj | None, field: str, problems: Problems) -> None:
    for key, value in (labels or {}).items():
        _check_qualified(key, field, problems)
        if not isinstance(value, str):
            problems.invalid(field, value, "must be a string")
        elif len(value) > 63:
            problems.invalid(field, value, "must be no more than 63 characters")
        elif value and not _QUALIFIED.match(value):
            problems.invalid(
                field, value, "a valid label must be an empty string or consist of alphanumeric characters"
            )


def _check_qualified(key: str, field: str, problems: Problems) -> None:
    prefix, _, name = key.rpartition("/")
    if len(name) > 63 or not _QUALIFIED.match(name) or (prefix and not DNS_SUBDOMAIN.match(prefix)):
        problems.invalid(field, key, "name part must consist of alphanumeric characters, '-', '_' or '.'")
