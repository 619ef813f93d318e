"""The ways in which an API server says no, in its own words (metav1.Status)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ganglift.kube.resources import Resource

Obj = dict[str, Any]


class Refusal(Exception):
    """An answer with an HTTP code of 400 and more."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Obj | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_s = retry_after_s
        self.status: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }
        if details is not None or retry_after_s is not None:
            self.status["details"] = dict(details or {})
        if retry_after_s is not None:
            self.status["details"]["retryAfterSeconds"] = retry_after_s


def _about(resource: Resource, name: str, **more: Any) -> Obj:
    details: Obj = {"name": name, "kind": resource.plural}
    if resource.group:
        details["group"] = resource.group
    return details | more


def not_found(resource: Resource, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{resource.qualified} "{name}" not found', details=_about(resource, name))


def not_served() -> Refusal:
    """For a path that no kind claims; the server sends it as bare text."""
    return Refusal(404, "", "404 page not found")


def already_exists(resource: Resource, name: str) -> Refusal:
    message = f'{resource.qualified} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, details=_about(resource, name))


def conflict(resource: Resource, name: str, why: str) -> Refusal:
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return Refusal(409, "Conflict", message, details=_about(resource, name))


def modified(resource: Resource, name: str) -> Refusal:
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def forbidden(resource: Resource, name: str, why: str, causes: Sequence[Obj] = ()) -> Refusal:
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    more = {"causes": list(causes)} if causes else {}
    return Refusal(403, "Forbidden", message, details=_about(resource, name, **more))


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def unsupported_media_type(content_type: str) -> Refusal:
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        f"application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml; got {content_type}"
    )
    return Refusal(415, "UnsupportedMediaType", message)


def method_not_allowed() -> Refusal:
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, details={})


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def expired(message: str) -> Refusal:
    return Refusal(410, "Expired", message)


def too_many_requests(message: str, *, retry_after_s: int | None = None, causes: Sequence[Obj] = ()) -> Refusal:
    details = {"causes": list(causes)} if causes else None
    return Refusal(429, "TooManyRequests", message, details=details, retry_after_s=retry_after_s)


def internal_error(message: str) -> Refusal:
    return Refusal(500, "InternalError", f"Internal error occurred: {message}", details={"causes": []})


class Problems:
    """Broken rules of one object, gathered so that the answer names them all."""

    def __init__(self) -> None:
        self.causes: list[Obj] = []

    def add(self, field: str, reason: str, message: str) -> None:
        self.causes.append({"reason": f"FieldValue{reason}", "message": message, "field": field})

    def invalid(self, field: str, value: Any, why: str) -> None:
        self.add(field, "Invalid", f"Invalid value: {_show(value)}: {why}")

    def immutable(self, field: str, value: Any) -> None:
        self.invalid(field, value, "field is immutable")

    def forbidden(self, field: str, why: str) -> None:
        self.add(field, "Forbidden", f"Forbidden: {why}")

    def required(self, field: str, why: str = "") -> None:
        self.add(field, "Required", f"Required value: {why}" if why else "Required value")

    def duplicate(self, field: str, value: Any) -> None:
        self.add(field, "Duplicate", f"Duplicate value: {_show(value)}")

    def raise_for(self, resource: Resource, name: str) -> None:
        """Raise the 422 that lists them, if there are any."""
        if not self.causes:
            return
        kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
        lines = [f"{cause['field']}: {cause['message']}" for cause in self.causes]
        text = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
        details = {"name": name, "kind": resource.kind, "causes": self.causes}
        if resource.group:
            details["group"] = resource.group
        raise Refusal(422, "Invalid", f'{kind} "{name}" is invalid: {text}', details=details)


def _show(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
