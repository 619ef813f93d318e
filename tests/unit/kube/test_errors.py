"""From a refusal to the error that stands for it."""

import json

import pytest

from ganglift.base.errors import GangliftError
from ganglift.kube import errors
from ganglift.kube.errors import Request, Status, StatusError, error_for

ASKED = Request("patch", "pods/status", "team-a", "w-0")


def status(code: int, reason: str = "", **details: object) -> bytes:
    body = {"kind": "Status", "code": code, "reason": reason, "message": "the server's words", "details": details}
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.NotAllowed),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Gone),
        (415, "UnsupportedMediaType", errors.UnsupportedMediaType),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServerError),
        (504, "Timeout", errors.ServerError),
        (418, "Teapot", errors.StatusError),
    ],
)
def test_each_code_has_its_error(code: int, reason: str, expected: type[StatusError]) -> None:
    assert type(error_for(Status.from_answer(code, status(code, reason, name="w-0")), ASKED)) is expected


def test_a_bare_404_means_that_the_kind_is_not_served() -> None:
    error = error_for(Status.from_answer(404, b"404 page not found\n"), ASKED)
    assert type(error) is errors.NotServed
    assert "is its CustomResourceDefinition installed?" in str(error)


def test_the_message_says_what_was_asked_and_what_was_answered() -> None:
    error = error_for(Status.from_answer(403, status(403, "Forbidden", name="w-0")), ASKED)
    assert str(error) == "patch pods/status 'w-0' in namespace 'team-a': the server's words (HTTP 403)"


def test_a_forbidden_request_is_told_in_fields() -> None:
    error = error_for(Status.from_answer(403, status(403, "Forbidden")), ASKED)
    assert (error.request.verb, error.request.resource, error.request.namespace) == ("patch", "pods/status", "team-a")


def test_the_causes_name_the_fields() -> None:
    causes = [{"reason": "FieldValueInvalid", "message": "Invalid value: 0", "field": "spec.minCount"}]
    error = error_for(Status.from_answer(422, status(422, "Invalid", causes=causes)), ASKED)
    assert [(cause.field, cause.message) for cause in error.status.causes] == [("spec.minCount", "Invalid value: 0")]


def test_the_body_s_retry_after_wins_over_the_header_s() -> None:
    answer = status(429, "TooManyRequests", retryAfterSeconds=3)
    assert Status.from_answer(429, answer, retry_after_s=9).retry_after_s == 3


def test_the_header_s_retry_after_counts_where_the_body_has_none() -> None:
    assert Status.from_answer(429, b"busy", retry_after_s=9).retry_after_s == 9


@pytest.mark.parametrize("body", [b"", b"<html>bad gateway</html>", b"\xff\xfe", b"[1]", b'{"kind":"Other"}', b"null"])
def test_any_body_will_do(body: bytes) -> None:
    error = error_for(Status.from_answer(502, body), ASKED)
    assert isinstance(error, errors.ServerError)
    assert error.message


@pytest.mark.parametrize(
    ("error", "unknown"),
    [
        (errors.TimedOut("x", ASKED), True),
        (errors.Unreachable("x", ASKED), True),
        (errors.Unreachable("x", ASKED, sent=False), False),
        (error_for(Status(500), ASKED), True),
        (error_for(Status(409), ASKED), False),
        (error_for(Status(429), ASKED), False),
    ],
)
def test_an_error_tells_whether_a_write_may_have_happened(error: errors.KubeError, unknown: bool) -> None:
    assert error.outcome_unknown is unknown


def test_all_errors_have_one_root() -> None:
    assert issubclass(errors.KubeError, GangliftError)


def test_a_request_without_name_or_namespace_reads_well() -> None:
    assert str(Request("list", "nodes")) == "list nodes"
