"""Who is meant: pods by namespace and labels."""

from collections.abc import Iterable
from dataclasses import dataclass

from ganglift.api.selectors import Requirement
from ganglift.plan.match import is_valid, matches_value
from ganglift.plan.shape import Shape


@dataclass(frozen=True, slots=True)
class PodSelector:
    """Which pods a rule means: those in the namespaces (None: any) that meet all requirements (None: no pod does)."""

    namespaces: frozenset[str] | None
    requirements: tuple[Requirement, ...] | None

    def matches(self, shape: Shape) -> bool:
        """Whether a pod of this shape is meant."""
        if self.requirements is None or (self.namespaces is not None and shape.namespace not in self.namespaces):
            return False
        return all(is_valid(one) and matches_value(one, shape.label(one.key)) for one in self.requirements)


def labels_read(selectors: Iterable[PodSelector]) -> frozenset[str]:
    """Return the labels that any of the selectors looks at."""
    return frozenset(one.key for selector in selectors for one in selector.requirements or ())
