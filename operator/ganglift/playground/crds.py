"""Apply CustomResourceDefinitions, and wait until their kinds are served."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from ganglift.playground.client import APPLY_PATCH, ApiClient
from ganglift.playground.errors import PlaygroundError

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_KIND = "CustomResourceDefinition"
_POLL_S = 0.05


def apply(client: ApiClient, paths: Iterable[Path], *, timeout_s: float = 30.0) -> list[str]:
    """Apply the CustomResourceDefinitions in these files and directories; returns their names once established."""
    definitions = [definition for path in paths for definition in _read(path)]
    for definition in definitions:
        name = definition["metadata"]["name"]
        client.patch(f"{_PATH}/{name}?fieldManager=playground&force=true", definition, content_type=APPLY_PATCH)
    names = [definition["metadata"]["name"] for definition in definitions]
    deadline = time.monotonic() + timeout_s
    while waiting := [name for name in names if not _is_established(client, name)]:
        if time.monotonic() > deadline:
            raise PlaygroundError(f"not established after {timeout_s:.0f} s: {', '.join(waiting)}")
        time.sleep(_POLL_S)
    return names


def _read(path: Path) -> list[dict[str, Any]]:
    files = sorted([*path.glob("*.yaml"), *path.glob("*.yml")]) if path.is_dir() else [path]
    documents = [document for file in files for document in yaml.safe_load_all(file.read_text())]
    return [document for document in documents if document and document.get("kind") == _KIND]


def _is_established(client: ApiClient, name: str) -> bool:
    conditions = client.get(f"{_PATH}/{name}").get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
