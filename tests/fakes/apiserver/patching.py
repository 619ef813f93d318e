"""The four patch types, as far as ganglift and kubectl use them.

Each takes the present object and the patch and returns a new object; neither argument is changed. Strategic merge knows
the list keys of the built-in kinds by field name, which is enough for pods, nodes and jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonpatch
from jsonpointer import JsonPointerException
from tests.fakes.apiserver.refusals import Obj, Refusal, bad_request

from ganglift.kube.client import PatchType

_LIST_KEYS = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "ports": "containerPort",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
_MERGED_PRIMITIVES = frozenset({"finalizers", "podCIDRs"})
_DIRECTIVE = "$patch"
_DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def apply_patch(patch_type: PatchType, current: Obj, patch: Any) -> Obj:
    """Return `current` as changed by `patch`. Raises Refusal for a patch that makes no sense."""
    if patch_type is PatchType.JSON:
        return _json_patch(current, patch)
    if not isinstance(patch, dict):
        raise bad_request("the patch must be an object")
    merge: Callable[[Obj, Obj], Obj] = merge_patch if patch_type is PatchType.MERGE else strategic_patch
    return merge(current, patch)


def merge_patch(current: Any, patch: Obj) -> Obj:
    """RFC 7396."""
    result = dict(current) if isinstance(current, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merge_patch(result.get(key), value)
        else:
            result[key] = value
    return result


def strategic_patch(current: Any, patch: Obj) -> Obj:
    """Strategic merge patch of a map."""
    if patch.get(_DIRECTIVE) == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    result = dict(current) if isinstance(current, dict) else {}
    for key, value in patch.items():
        if key == _DIRECTIVE or key.startswith(_ORDER):
            continue
        if key.startswith(_DELETE_PRIMITIVES):
            field = key.removeprefix(_DELETE_PRIMITIVES)
            result[field] = [item for item in result.get(field) or () if item not in value]
            continue
        merged = _strategic_value(key, result.get(key), value)
        if merged is None:
            result.pop(key, None)
        else:
            result[key] = merged
    return result


def _strategic_value(field: str, current: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return None if value.get(_DIRECTIVE) == "delete" else strategic_patch(current, value)
    if isinstance(value, list) and field in _LIST_KEYS and all(isinstance(item, dict) for item in value):
        return _strategic_list(_LIST_KEYS[field], current or [], value)
    if isinstance(value, list) and field in _MERGED_PRIMITIVES:
        present = list(current or ())
        return present + [item for item in value if item not in present]
    return value


def _strategic_list(merge_key: str, current: list[Obj], patch: list[Obj]) -> list[Obj]:
    if any(item.get(_DIRECTIVE) == "replace" for item in patch):
        return [item for item in patch if _DIRECTIVE not in item]
    result = list(current)
    for item in patch:
        if merge_key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {merge_key}")
        place = next((i for i, old in enumerate(result) if old.get(merge_key) == item[merge_key]), None)
        if item.get(_DIRECTIVE) == "delete":
            if place is not None:
                del result[place]
        elif place is None:
            result.append(strategic_patch({}, item))
        else:
            result[place] = strategic_patch(result[place], item)
    return result


def _json_patch(current: Obj, patch: Any) -> Obj:
    try:
        result: Obj = jsonpatch.JsonPatch(patch).apply(current)
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError) as error:
        message = f"the server rejected our request due to an error in our request: {error}"
        raise Refusal(422, "Invalid", message, details={}) from error
    return result
