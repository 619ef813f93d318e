"""One request, performed: from what was understood to a code and a body."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_json
from tests.fakes.apiserver.api import Api, Target
from tests.fakes.apiserver.deletion import delete, delete_collection, evict
from tests.fakes.apiserver.faults import Seen
from tests.fakes.apiserver.listing import Pager, select
from tests.fakes.apiserver.refusals import Obj, bad_request, method_not_allowed, not_served, unsupported_media_type
from tests.fakes.apiserver.selecting import selection
from tests.fakes.apiserver.store import Stored

from ganglift.kube.client import PatchType

_SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


def perform(api: Api, pager: Pager, seen: Seen) -> tuple[int, bytes]:
    """Return the HTTP code and the answer. Raises Refusal."""
    assert seen.resource is not None
    target = api.target(seen.resource, seen.namespace, seen.name, seen.subresource)
    if seen.resource.namespaced and seen.name and not seen.namespace:
        raise not_served()
    if seen.subresource not in ("", "status"):
        return _subresource(api, target, seen)
    if seen.subresource == "status" and not target.kind.has_status:
        raise not_served()
    if seen.verb in ("list", "deletecollection"):
        return 200, _collection(api, pager, target, seen)
    return 201 if seen.verb == "create" else 200, _single(api, target, seen).json


def _single(api: Api, target: Target, seen: Seen) -> Stored:
    dry_run = seen.is_dry_run
    match seen.verb:
        case "get":
            return api.get(target)
        case "create":
            return api.create(target, _object(seen), dry_run=dry_run)
        case "update":
            return api.replace(target, _object(seen), dry_run=dry_run)
        case "patch":
            return api.patch(target, _patch_type(seen), seen.body, dry_run=dry_run)
        case "delete":
            return delete(api, target, _delete_options(seen))
    raise method_not_allowed()


def _collection(api: Api, pager: Pager, target: Target, seen: Seen) -> bytes:
    selects = selection(seen.query.get("labelSelector", ""), seen.query.get("fieldSelector", ""))
    if seen.verb == "list":
        return pager.page(target, selects, int(seen.query.get("limit") or 0), seen.query.get("continue", ""))
    chosen = [stored.obj["metadata"] for stored in select(api, target, selects)]
    places = [(metadata.get("namespace", ""), metadata["name"]) for metadata in chosen]
    delete_collection(api, target, places, _delete_options(seen))
    return to_json(_SUCCESS)


def _subresource(api: Api, target: Target, seen: Seen) -> tuple[int, bytes]:
    if target.resource.plural != "pods" or seen.verb != "create":
        raise not_served()
    if seen.subresource == "binding":
        api.bind(target, _object(seen), dry_run=seen.is_dry_run)
    elif seen.subresource == "eviction":
        evict(api, target, _object(seen), dry_run=seen.is_dry_run)
    else:
        raise not_served()
    return 201, to_json(_SUCCESS)


def _object(seen: Seen) -> Obj:
    if not isinstance(seen.body, dict):
        raise bad_request("the body must be an object")
    return seen.body


def _patch_type(seen: Seen) -> PatchType:
    try:
        return PatchType(seen.content_type)
    except ValueError as error:
        raise unsupported_media_type(seen.content_type) from error


def _delete_options(seen: Seen) -> Obj:
    """From the body, or the query, as kubectl sends them by turns."""
    options: dict[str, Any] = dict(seen.body or {})
    for key in ("propagationPolicy", "gracePeriodSeconds", "dryRun"):
        if key in seen.query:
            options.setdefault(key, int(seen.query[key]) if key == "gracePeriodSeconds" else seen.query[key])
    return options
