"""Label and field selectors, in the syntax of list and watch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.fakes.apiserver.refusals import Obj, bad_request

Predicate = Callable[[Obj], bool]

_SET_BASED = re.compile(r"^\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*$")
_TERM = re.compile(r"[^,(]*(?:\([^)]*\))?[^,]*")
_FIELDS = {
    "metadata.name",
    "metadata.namespace",
    "spec.nodeName",
    "spec.schedulerName",
    "spec.restartPolicy",
    "spec.unschedulable",
    "status.phase",
    "status.nominatedNodeName",
    "status.successful",
    "type",
    "reason",
    "reportingController",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.uid",
    "regarding.kind",
    "regarding.name",
    "regarding.namespace",
    "regarding.uid",
}


def everything(_: Obj) -> bool:
    return True


def selection(label_selector: str, field_selector: str) -> Predicate:
    """Return the test that both selectors make together. Raises Refusal (400) if one can't be read."""
    tests = [_label_test(term) for term in _terms(label_selector)]
    tests += [_field_test(term) for term in field_selector.split(",") if term.strip()]
    if not tests:
        return everything
    return lambda obj: all(test(obj) for test in tests)


def _terms(selector: str) -> list[str]:
    return [term.strip() for term in _TERM.findall(selector) if term.strip(" ,")]


def _label_test(term: str) -> Predicate:
    if match := _SET_BASED.match(term):
        key, operator, listed = match.groups()
        values = {value.strip() for value in listed.split(",")}
        if operator == "in":
            return lambda obj: _labels(obj).get(key) in values
        return lambda obj: _labels(obj).get(key) not in values
    for sign in ("!=", "==", "="):
        if sign in term:
            key, value = (part.strip() for part in term.split(sign, 1))
            wanted = sign != "!="
            return lambda obj: (_labels(obj).get(key) == value) is wanted
    if term.startswith("!"):
        return lambda obj: term[1:].strip() not in _labels(obj)
    if " " in term:
        raise bad_request(f"unable to parse requirement: {term!r}")
    return lambda obj: term in _labels(obj)


def _labels(obj: Obj) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def _field_test(term: str) -> Predicate:
    sign = "!=" if "!=" in term else "==" if "==" in term else "="
    field, _, value = (part.strip() for part in term.partition(sign))
    if field not in _FIELDS:
        raise bad_request(f'field label not supported: "{field}"')
    path = field.split(".")
    # The two APIs of events name the same field differently, and both take core's name for it.
    other = ["regarding", *path[1:]] if path[0] == "involvedObject" else path
    wanted = sign != "!="
    return lambda obj: (value in (_value_at(obj, path), _value_at(obj, other))) is wanted


def _value_at(obj: Obj, path: list[str]) -> str:
    value: Any = obj
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
