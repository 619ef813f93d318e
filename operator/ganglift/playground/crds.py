"""Apply CustomResourceDefinitions, and wait until their kinds are served."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from ganglift.playground.client import APPLY_PATCH, ApiClient
from ganglift.playground.errors import PlaygroundError, RequestFailed

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_KIND = "CustomResourceDefinition"
_POLL_S = 0.05
_NOT_YET = (404, 429, 503)


def apply(client: ApiClient, paths: Iterable[Path], *, timeout_s: float = 30.0) -> list[str]:
    """Apply the CustomResourceDefinitions in these files and directories; returns their names once served."""
    definitions = [definition for path in paths for definition in _read(path)]
    for definition in definitions:
        name = definition["metadata"]["name"]
        client.patch(f"{_PATH}/{name}?fieldManager=playground&force=true", definition, content_type=APPLY_PATCH)
    deadline = time.monotonic() + timeout_s
    while waiting := [
        definition["metadata"]["name"] for definition in definitions if not _is_served(client, definition)
    ]:
        if time.monotonic() > deadline:
            raise PlaygroundError(f"not served after {timeout_s:.0f} s: {', '.join(waiting)}")
        time.sleep(_POLL_S)
    return [definition["metadata"]["name"] for definition in definitions]


def _read(path: Path) -> list[dict[str, Any]]:
    files = sorted([*path.glob("*.yaml"), *path.glob("*.yml")]) if path.is_dir() else [path]
    documents = [document for file in files for document in yaml.safe_load_all(file.read_text())]
    return [document for document in documents if document and document.get("kind") == _KIND]


def _is_served(client: ApiClient, definition: dict[str, Any]) -> bool:
    """Whether the kind can be listed: an established one may still answer 404, or 429 while its storage is made."""
    spec = definition["spec"]
    try:
        for version in spec["versions"]:
            client.get(f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}?limit=1")
    except RequestFailed as error:
        if error.status not in _NOT_YET:
            raise
        return False
    return True
