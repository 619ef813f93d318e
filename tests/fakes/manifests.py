"""Small objects to put into the fake."""

from __future__ import annotations

from typing import Any


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    """A gated pod in the default namespace."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "schedulingGates": [{"name": "scheduling.ganglift.dev/gang"}],
        },
    }


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
