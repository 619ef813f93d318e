"""One HTTP exchange with the API server, and nothing about Kubernetes beyond who is asked and as whom.

HTTP/1.1 with keep-alive connections (aiohttp). Turns every way in which an exchange can fail into `Unreachable` or
`TimedOut`. aiohttp itself repeats a GET, PUT or DELETE once when an idle connection turns out to have been closed
meanwhile: each of these is harmless to repeat (a uid or resourceVersion that no longer matches is a Conflict).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from ganglift import __version__
from ganglift.kube.credentials import Access, Credentials
from ganglift.kube.errors import Request, Status, TimedOut, Unreachable

_READ_BUFFER_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Call:
    """What to send. `request` says the same in the words of RBAC, for errors."""

    method: str
    path: str
    request: Request
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"

    def url(self, server: str) -> URL:
        query = urlencode(self.query)
        return URL(f"{server}{self.path}?{query}" if query else server + self.path, encoded=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whatever it says. `access` is what it was asked with."""

    code: int
    body: bytes
    access: Access
    retry_after_s: float | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.code < 300

    @property
    def status(self) -> Status:
        """The refusal; its Retry-After header counts where the Status itself names no time."""
        return Status.from_answer(self.code, self.body, retry_after_s=self.retry_after_s)


class Transport:
    """Connections to one API server, shared by all clients made from it."""

    def __init__(self, credentials: Credentials, *, connect_timeout_s: float) -> None:
        self.credentials = credentials
        self._connect_timeout_s = connect_timeout_s
        self._session: aiohttp.ClientSession | None = None

    async def exchange(self, call: Call, timeout_s: float) -> Answer:
        """Send and read the whole answer within `timeout_s`. Raises TransportError, ConfigError."""
        try:
            async with asyncio.timeout(timeout_s):
                access = await self.credentials.access()
                async with self._send(call, access) as response:
                    body = await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise _translate(error, call, timeout_s) from error
        return Answer(response.status, body, access, _retry_after(response))

    @asynccontextmanager
    async def stream(
        self, call: Call, *, open_timeout_s: float, silence_s: float
    ) -> AsyncIterator[Answer | AsyncIterator[bytes]]:
        """Open a stream of lines; gives an Answer instead when the server refuses. Raises TransportError.

        The iterator raises Unreachable when the stream breaks, also in the middle of a line, and TimedOut after
        `silence_s` without a byte.
        """
        try:
            async with asyncio.timeout(open_timeout_s):
                access = await self.credentials.access()
                response = await self._send(call, access, silence_s=silence_s)
                refusal = None if response.status == 200 else await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise _translate(error, call, open_timeout_s) from error
        try:
            if refusal is not None:
                yield Answer(response.status, refusal, access, _retry_after(response))
            else:
                async with aclosing(_lines(response, call, silence_s)) as lines:
                    yield lines
        finally:
            _abort(response)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
            # Aborted TLS connections are closed by the loop, one turn after the other for each layer.
            for _ in range(3):
                await asyncio.sleep(0)

    def _send(self, call: Call, access: Access, *, silence_s: float | None = None) -> Any:
        headers = {} if access.token is None else {"Authorization": access.token}
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        return self._open_session().request(
            call.method,
            call.url(access.server),
            data=call.body,
            headers=headers,
            ssl=access.ssl,
            server_hostname=access.server_hostname,
            proxy=access.proxy,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout_s, sock_read=silence_s),
        )

    def _open_session(self) -> aiohttp.ClientSession:
        """Make the session on first use: it belongs to the running loop."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # The client bounds what is in flight; watches come on top.
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=_READ_BUFFER_BYTES,
                headers={
                    "User-Agent": f"ganglift/{__version__}",
                    "Accept": "application/json",
                    # Compressing long lists costs the API server more time than the network saves.
                    "Accept-Encoding": "identity",
                },
            )
        return self._session


async def _lines(response: aiohttp.ClientResponse, call: Call, silence_s: float) -> AsyncGenerator[bytes, None]:
    rest = b""
    try:
        async for chunk in response.content.iter_any():
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            for line in lines:
                if line:
                    yield line
    except (aiohttp.ClientError, OSError) as error:
        raise _translate(error, call, silence_s) from error
    if rest.strip():
        raise Unreachable("the stream ended in the middle of a line", call.request)


def _abort(response: aiohttp.ClientResponse) -> None:
    """Drop the connection of a stream at once: a polite end of TLS would outlive its caller."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


def _translate(error: Exception, call: Call, timeout_s: float) -> Unreachable | TimedOut:
    """Name the failure, and whether the request may have arrived."""
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return TimedOut("no connection to the API server in time", call.request, sent=False)
    if isinstance(error, TimeoutError):
        return TimedOut(f"no answer within {timeout_s:.3g} s", call.request)
    if isinstance(error, aiohttp.ClientConnectorError):
        return Unreachable(f"no connection to {error.host}:{error.port}: {_why(error)}", call.request, sent=False)
    return Unreachable(" ".join(str(error).split()) or type(error).__name__, call.request)


def _why(error: aiohttp.ClientConnectorError) -> str:
    """What the system says: aiohttp's own text shows the TLS context as an object in memory."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return str(error.certificate_error)
    cause = error.os_error
    text = cause.strerror or str(cause)
    # asyncio puts the address, which is named already, in the place of the system's words.
    return os.strerror(cause.errno) if cause.errno and text.startswith("Connect call failed") else text


def _retry_after(response: aiohttp.ClientResponse) -> float | None:
    """Seconds from the Retry-After header; the API server never sends its other form, a date."""
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None
