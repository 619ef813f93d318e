"""The few requests that a playground makes of its own API server: plain HTTPS and JSON, nothing of the operator's.

One connection for each request; a `Session` keeps one open, for who has many to make. No retries: who polls, polls
again.
"""

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ganglift.playground.errors import RequestFailed

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

# What a request may raise while the API server is not there: it is starting, was killed, or is stopped.
UNREACHABLE = (OSError, http.client.HTTPException)


class Session:
    """One open connection."""

    def __init__(self, connection: http.client.HTTPConnection, token: str) -> None:
        self._connection = connection
        self._token = token

    def request(self, method: str, path: str, body: object = None, *, content_type: str = JSON) -> Any:
        """The decoded answer (text where it is no JSON). Raises RequestFailed, or one of UNREACHABLE."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": JSON}
        content = None
        if body is not None:
            headers["Content-Type"] = content_type
            content = json.dumps(body)
        self._connection.request(method, path, content, headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status >= 400:
            raise RequestFailed(method, path, response.status, _message(answer))
        is_json = (response.getheader("Content-Type") or "").startswith(JSON)
        return json.loads(answer) if is_json else answer.decode()


@dataclass(frozen=True, slots=True)
class ApiClient:
    """Requests with one user's token, the server's certificate checked."""

    port: int
    certificate: Path
    token: str
    timeout_s: float = 30.0

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A connection that is kept open for several requests."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=self.timeout_s, context=context)
        try:
            yield Session(connection, self.token)
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """GET `path`, which begins with a slash and may carry a query."""
        with self.session() as session:
            return session.request("GET", path)

    def post(self, path: str, body: object) -> Any:
        """POST an object, or a subresource's."""
        with self.session() as session:
            return session.request("POST", path, body)

    def patch(self, path: str, body: object, *, content_type: str = MERGE_PATCH) -> Any:
        """PATCH, by default a merge patch."""
        with self.session() as session:
            return session.request("PATCH", path, body, content_type=content_type)

    def delete(self, path: str) -> Any:
        """DELETE an object, or a collection."""
        with self.session() as session:
            return session.request("DELETE", path)


def _message(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["message"])
    except (ValueError, KeyError, TypeError):
        return answer.decode(errors="replace").strip()
