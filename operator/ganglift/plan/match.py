"""Single values against single rules, with kube-scheduler's meaning for each operator.

Sources: `Requirement.Matches` and `NewRequirement` in k8s.io/apimachinery labels, `Toleration.ToleratesTaint` in
k8s.io/api core/v1 (the operators Lt and Gt are off by default there up to 1.37, so they tolerate nothing here).
"""

import re
from collections.abc import Iterable, Mapping

from ganglift.api.node import Taint
from ganglift.api.selectors import LabelSelector, Requirement, Toleration

_INTEGER = re.compile(r"[+-]?[0-9]+")
_HARD_EFFECTS = ("NoSchedule", "NoExecute")


def is_valid(requirement: Requirement) -> bool:
    """Whether upstream can parse the requirement; the term of one that it can't selects nothing."""
    match requirement.operator:
        case "In" | "NotIn":
            return bool(requirement.values)
        case "Exists" | "DoesNotExist":
            return not requirement.values
        case "Gt" | "Lt":
            return len(requirement.values) == 1 and _integer(requirement.values[0]) is not None
    return False


def matches_value(requirement: Requirement, value: str | None) -> bool:
    """Whether a label of that value, None for no such label, meets a valid requirement."""
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    have = _integer(value) if value is not None else None
    bound = _integer(requirement.values[0])
    if have is None or bound is None:
        return False
    return have > bound if requirement.operator == "Gt" else have < bound


def matches_labels(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether labels meet a label selector; None selects nothing, an empty one everything."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        is_valid(requirement) and matches_value(requirement, labels.get(requirement.key))
        for requirement in selector.match_expressions
    )


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether any of the tolerations tolerates the taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def first_untolerated(tolerations: Iterable[Toleration], taints: Iterable[Taint]) -> Taint | None:
    """Return the first taint that keeps the pod off the node, or None; PreferNoSchedule keeps nobody off."""
    tolerations = tuple(tolerations)
    return next((t for t in taints if t.effect in _HARD_EFFECTS and not tolerates(tolerations, t)), None)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def _integer(text: str) -> int | None:
    """Parse as Go's `strconv.ParseInt(text, 10, 64)` does."""
    if _INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
