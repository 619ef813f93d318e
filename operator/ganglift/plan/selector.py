"""Who is meant: pods by namespace and labels."""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from itertools import product

from ganglift.api.selectors import Requirement
from ganglift.plan.match import is_valid, matches_value
from ganglift.plan.shape import Pair, Shape

Meaning = tuple[str | None, Pair | None]
"""A namespace, None for any, and a label that all pods meant have, None where the rule demands none."""


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

    def meanings(self) -> Iterator[Meaning]:
        """Yield under what to file the selector, so that it is found by what pods it may mean are and have."""
        namespaces: Iterable[str | None] = (None,) if self.namespaces is None else sorted(self.namespaces)
        wanted = next((one for one in self.requirements or () if one.operator == "In"), None)
        pairs: Iterable[Pair | None] = (None,) if wanted is None else [(wanted.key, value) for value in wanted.values]
        return product(namespaces, pairs)


def labels_read(selectors: Iterable[PodSelector]) -> frozenset[str]:
    """Return the labels that any of the selectors looks at."""
    return frozenset(one.key for selector in selectors for one in selector.requirements or ())


def meanings_of(shapes: Iterable[Shape], labels: Set[str] | None = None) -> list[Meaning]:
    """Return all under which selectors that may mean one of the shapes are filed, by these labels alone if given."""
    return list(
        dict.fromkeys(
            (namespace, pair)
            for shape in shapes
            for namespace in (None, shape.namespace)
            for pair in (None, *(pair for pair in shape.labels if labels is None or pair[0] in labels))
        )
    )
