"""What can go wrong between us and the API server.

KubeError
├── ConfigError              no usable kubeconfig or service account: nothing was sent
├── TransportError           no answer: whether a write happened is unknown unless `sent` is False
│   ├── Unreachable          refused, reset, name not found, TLS, or cut off in the middle of an answer
│   └── TimedOut             no answer in time
├── MalformedAnswer          an answer that is not what the API promises
└── StatusError              the API server answered, and said no; carries its Status
    ├── BadRequest           400
    ├── Unauthorized         401
    ├── Forbidden            403
    ├── NotFound             404, this object is not there
    │   └── NotServed        404, this kind is not there: CRD not installed, or API not on this version
    ├── NotAllowed           405
    ├── Conflict             409, the object has another resourceVersion or uid by now
    ├── AlreadyExists        409, a create met an object of that name
    ├── Gone                 410, this resourceVersion or continue token is too old: list again
    ├── UnsupportedMediaType 415
    ├── Invalid              422, the object breaks a rule: `status.causes` say which field
    ├── TooManyRequests      429, `retry_after_s` says when to come back; also a disruption budget's "not now"
    └── ServerError          5xx

An answer is not a fault: callers catch exactly the answers that they expect (`except Conflict`), and let the rest rise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http.client import responses
from typing import Any, ClassVar, Self

from pydantic_core import from_json

from ganglift.base.errors import GangliftError


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, in the words of an RBAC rule: `patch` on `pods/status` in `team-a`."""

    verb: str
    resource: str
    """Plural with its group and, after a slash, the subresource: `podgroups.scheduling.ganglift.dev/status`."""
    namespace: str | None = None
    name: str | None = None

    def __str__(self) -> str:
        text = f"{self.verb} {self.resource}"
        if self.name is not None:
            text += f" {self.name!r}"
        return text if self.namespace is None else f"{text} in namespace {self.namespace!r}"


@dataclass(frozen=True, slots=True)
class Cause:
    """One broken rule of a 422 answer."""

    reason: str
    message: str
    field: str


@dataclass(frozen=True, slots=True)
class Status:
    """The API server's own account of a refusal (metav1.Status), as far as it gave one.

    `has_details` is False for answers that never reached a resource's own code, such as the bare
    `404 page not found` for a kind that is not served.
    """

    code: int
    reason: str = ""
    message: str = ""
    name: str = ""
    group: str = ""
    kind: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_s: float | None = None
    has_details: bool = False

    @classmethod
    def from_object(cls, data: Mapping[str, Any], *, code: int = 0, retry_after_s: float | None = None) -> Self:
        """From a decoded Status object; `code` and `retry_after_s` are used where the object has none."""
        details = data.get("details") or {}
        retry_after = details.get("retryAfterSeconds") or retry_after_s
        return cls(
            code=int(data.get("code") or code),
            reason=str(data.get("reason") or ""),
            message=str(data.get("message") or ""),
            name=str(details.get("name") or ""),
            group=str(details.get("group") or ""),
            kind=str(details.get("kind") or ""),
            causes=tuple(
                Cause(str(c.get("reason") or ""), str(c.get("message") or ""), str(c.get("field") or ""))
                for c in details.get("causes") or ()
            ),
            retry_after_s=None if retry_after is None else float(retry_after),
            has_details=bool(details),
        )

    @classmethod
    def from_answer(cls, code: int, body: bytes, *, retry_after_s: float | None = None) -> Self:
        """From an HTTP answer: proxies and the server's outer layers answer in plain text, so any body will do."""
        try:
            data = from_json(body)
        except ValueError:
            data = None
        if isinstance(data, dict) and data.get("kind") == "Status":
            return cls.from_object(data, code=code, retry_after_s=retry_after_s)
        text = body[:500].decode("utf-8", "replace").strip()
        return cls(code=code, message=text or responses.get(code, ""), retry_after_s=retry_after_s)


class KubeError(GangliftError):
    """Base of all errors of this layer.

    `outcome_unknown` tells whether a write may have happened all the same: then look before you repeat it.
    """

    outcome_unknown: bool = False


class ConfigError(KubeError):
    """There is no way to a cluster: the message says what was looked for and where."""


class TransportError(KubeError):
    """The API server gave no answer to `request`."""

    def __init__(self, message: str, request: Request, *, sent: bool = True) -> None:
        super().__init__(f"{request}: {message}")
        self.request = request
        self.sent = sent
        self.outcome_unknown = sent


class Unreachable(TransportError):
    """No connection, or it broke before the answer was complete."""


class TimedOut(TransportError):
    """No answer in time."""


class MalformedAnswer(KubeError):
    """The answer to `request` is not what the API promises (a proxy's page, a truncated list)."""

    def __init__(self, message: str, request: Request) -> None:
        super().__init__(f"{request}: {message}")
        self.request = request


class StatusError(KubeError):
    """The API server refused `request` and said why in `status`."""

    advice: ClassVar[str] = ""

    def __init__(self, status: Status, request: Request) -> None:
        text = f"{request}: {status.message or status.reason or 'no reason given'} (HTTP {status.code})"
        super().__init__(f"{text}. {self.advice}" if self.advice else text)
        self.status = status
        self.request = request

    @property
    def code(self) -> int:
        return self.status.code

    @property
    def reason(self) -> str:
        """The machine-readable reason, such as `Invalid`; empty if the server gave none."""
        return self.status.reason

    @property
    def message(self) -> str:
        """The server's own words."""
        return self.status.message

    @property
    def retry_after_s(self) -> float | None:
        """Seconds after which the server wants to be asked again, if it said so."""
        return self.status.retry_after_s


class BadRequest(StatusError):
    """400: the request itself makes no sense to the server."""


class Unauthorized(StatusError):
    """401: the credentials are missing, wrong or expired."""

    advice = "The credentials are missing, wrong or expired: check the kubeconfig's user or the service account's token"


class Forbidden(StatusError):
    """403: RBAC, a quota or an admission policy says no. `request` holds verb, resource and namespace."""


class NotFound(StatusError):
    """404: the object is not there."""


class NotServed(NotFound):
    """404: the server does not know the kind."""

    advice = "The API server does not serve this kind: is its CustomResourceDefinition installed?"


class NotAllowed(StatusError):
    """405: the resource does not offer this verb."""


class Conflict(StatusError):
    """409: the object has changed, or is another one, since it was read."""


class AlreadyExists(StatusError):
    """409: there is already an object of that name."""


class Gone(StatusError):
    """410: the resourceVersion or continue token is older than the server's memory."""


class UnsupportedMediaType(StatusError):
    """415: this kind does not know this patch type (custom resources have no strategic merge)."""


class Invalid(StatusError):
    """422: the object breaks a rule of its kind, or a uid in a patch is not the object's."""


class TooManyRequests(StatusError):
    """429: the server is busy, or a disruption budget forbids this eviction for now."""


class ServerError(StatusError):
    """5xx: the server, its storage or a webhook failed; the write may have happened."""

    outcome_unknown = True


_BY_CODE: Mapping[int, type[StatusError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: NotAllowed,
    409: Conflict,
    410: Gone,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
}


def error_for(status: Status, request: Request) -> StatusError:
    """The error that stands for this refusal."""
    if status.code >= 500:
        return ServerError(status, request)
    if status.reason == "AlreadyExists":
        return AlreadyExists(status, request)
    if status.code == 404 and not status.has_details:
        return NotServed(status, request)
    return _BY_CODE.get(status.code, StatusError)(status, request)
