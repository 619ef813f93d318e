"""batch/v1 Jobs: the defaults, and which fields may change when (pkg/apis/batch/validation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fakes.apiserver.refusals import Obj, Problems
from tests.fakes.apiserver.rules import Rules

if TYPE_CHECKING:
    from tests.fakes.apiserver.store import Store

_IMMUTABLE = ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_NATURAL = ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")


class JobRules(Rules):
    def __init__(self, minor: int) -> None:
        self._minor = minor

    def prepare_create(self, store: Store, obj: Obj, problems: Problems) -> None:
        spec = obj.setdefault("spec", {})
        if "completions" not in spec and "parallelism" not in spec:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("suspend", False)
        spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
        spec.setdefault("backoffLimit", 2**31 - 1 if "backoffLimitPerIndex" in spec else 6)
        obj["status"] = {}
        _label(obj)
        _check_counts(spec, problems)
        template = spec["template"].get("spec") or {}
        if template.get("restartPolicy", "Always") == "Always":
            problems.required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
        if not template.get("containers"):
            problems.required("spec.template.spec.containers")

    def check_update(self, new: Obj, old: Obj, problems: Problems) -> None:
        before, after = old["spec"], new["spec"]
        _check_counts(after, problems)
        for field in _IMMUTABLE:
            if before.get(field) != after.get(field):
                problems.immutable(f"spec.{field}", after.get(field))
        self._check_completions(before, after, problems)
        loose = self._may_change_template(old)
        if _template(before, loose=loose) != _template(after, loose=loose):
            problems.immutable("spec.template", "...")

    def _check_completions(self, before: Obj, after: Obj, problems: Problems) -> None:
        if before.get("completions") == after.get("completions"):
            return
        indexed = after.get("completionMode") == "Indexed"
        if not indexed or after.get("completions") != after.get("parallelism"):
            problems.immutable("spec.completions", after.get("completions"))

    def _may_change_template(self, old: Obj) -> bool:
        """While suspended; before 1.36 only if the Job never started, later also once no pod of it is left."""
        status = old.get("status") or {}
        if not old["spec"].get("suspend"):
            return False
        if not status.get("startTime"):
            return True
        return self._minor >= 36 and not status.get("active")


def _label(obj: Obj) -> None:
    metadata, spec = obj["metadata"], obj["spec"]
    labels = {
        "batch.kubernetes.io/controller-uid": metadata["uid"],
        "controller-uid": metadata["uid"],
        "batch.kubernetes.io/job-name": metadata["name"],
        "job-name": metadata["name"],
    }
    template = spec.setdefault("template", {})
    described = template.setdefault("metadata", {})
    described["labels"] = (described.get("labels") or {}) | labels
    spec.setdefault("selector", {"matchLabels": {"batch.kubernetes.io/controller-uid": metadata["uid"]}})


def _check_counts(spec: Obj, problems: Problems) -> None:
    for field in _NATURAL:
        value = spec.get(field)
        if value is not None and (not isinstance(value, int) or value < 0):
            problems.invalid(f"spec.{field}", value, "must be greater than or equal to 0")
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        problems.required("spec.completions", "when completion mode is Indexed")


def _template(spec: Obj, *, loose: bool) -> Any:
    """The part of the template that must stay as it is."""
    template = spec["template"]
    if not loose:
        return template
    pod = {k: v for k, v in template["spec"].items() if k not in ("schedulingGates", "nodeSelector", "tolerations")}
    pod["affinity"] = {k: v for k, v in (pod.get("affinity") or {}).items() if k != "nodeAffinity"}
    return pod
