"""The chart as helm renders it, without a cluster.

Helm's own code does it, from the Python package that carries it as a library.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import helm_python
import yaml

REPOSITORY = Path(__file__).parents[2]
CHART = REPOSITORY / "helm" / "ganglift"
NAMESPACE = "ganglift-system"

Manifest = dict[str, Any]


@cache
def chart() -> helm_python.Chart:
    return helm_python.Chart.load(CHART)


def render(values: dict[str, Any] | None = None) -> list[Manifest]:
    """Return every object of the release `ganglift` in the namespace `ganglift-system`.

    Raises helm_python.HelmError where the chart or its schema refuses the values.
    """
    templates = chart().render(values or {}, name="ganglift", namespace=NAMESPACE)
    return list(_objects(templates))


def _objects(templates: dict[str, str]) -> Iterator[Manifest]:
    for path, text in sorted(templates.items()):
        if path.endswith(".yaml"):
            yield from (manifest for manifest in yaml.safe_load_all(text) if manifest)


def of_kind(manifests: list[Manifest], kind: str) -> list[Manifest]:
    return [manifest for manifest in manifests if manifest["kind"] == kind]


def only(manifests: list[Manifest], kind: str) -> Manifest:
    """Return the one object of that kind."""
    (manifest,) = of_kind(manifests, kind)
    return manifest
