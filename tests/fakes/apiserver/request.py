"""From a request to what it means: verb, kind, place, body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import yaml
from pydantic_core import from_json
from tests.fakes.apiserver.api import Api
from tests.fakes.apiserver.faults import Seen
from tests.fakes.apiserver.refusals import bad_request, not_served

from ganglift.kube.client import PatchType

_NAMED = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_COLLECTION = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}


def understand(
    api: Api, *, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
) -> Seen:
    """Raises Refusal (404) for a kind that is not served, and (400) for a body that can't be read."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    located = _locate(parts)
    if located is None:
        return Seen(method.lower(), path, query=query, headers=headers)
    group, version, rest = located
    namespace, plural, name, subresource = _split(rest)
    resource = next(
        (r for r in api.kinds if (r.group, r.version, r.plural) == (group, version, plural)),
        None,
    )
    if resource is None:
        raise not_served()
    content_type = headers.get("Content-Type", "").partition(";")[0]
    return Seen(
        verb=_verb(method, name, query),
        path=path,
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
        query=query,
        content_type=content_type,
        body=_decode(body, content_type),
        headers=headers,
    )


def _locate(parts: list[str]) -> tuple[str, str, list[str]] | None:
    """Group, version and the rest of a path that leads to a kind."""
    match parts:
        case ["api", version, plural, *rest]:
            return "", version, [plural, *rest]
        case ["apis", group, version, plural, *rest]:
            return group, version, [plural, *rest]
    return None


def _split(rest: list[str]) -> tuple[str, str, str, str]:
    """Namespace, plural, name, subresource."""
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *more = [*rest, "", ""][: max(3, len(rest))]
    if more:
        raise not_served()
    return namespace, plural, name, subresource


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method == "GET" and not name and query.get("watch") in ("true", "1"):
        return "watch"
    return (_NAMED if name else _COLLECTION).get(method, method.lower())


def _decode(body: bytes, content_type: str) -> Any:
    if not body:
        return None
    try:
        return from_json(body)
    except ValueError as error:
        if content_type not in (PatchType.APPLY, "application/yaml"):
            raise bad_request(f"error decoding the body: {error}") from error
    return yaml.safe_load(body)
