"""A watch of one kind by plain HTTPS: no code and no connection is shared with the operator.

Each object that a list or the stream shows is noted as it comes, in a thread of the watch's own. The API server ends
streams as a matter of course: then the watch goes on from the last version that it has seen.
"""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from tests.support.polling import eventually

from ganglift.playground.client import UNREACHABLE, ApiClient

Object = dict[str, Any]
Note = Callable[[str, Object], None]
"""Told the type of an event (ADDED, MODIFIED, DELETED) and the object."""


class Watch:
    """Watches the objects under a path of the API from `start` on."""

    def __init__(self, client: ApiClient, path: str, note: Note) -> None:
        self._client = client
        self._path = path
        self._note = note
        self._seen: dict[str, int] = {}
        """The version that was noted last, by uid; of what is gone there is none."""
        self._gone: set[str] = set()
        self._version = ""
        self._socket: socket.socket | None = None
        self._failure: Exception | None = None
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name=f"watch of {path}", daemon=True)

    def start(self) -> None:
        """Note what is there, and from then on what happens."""
        listed = self._client.get(self._path)
        for obj in listed["items"]:
            self._take("ADDED", obj)
        self._version = listed["metadata"]["resourceVersion"]
        self._thread.start()

    def stop(self) -> None:
        """End the stream. Nothing is noted any more."""
        self._is_closing = True
        if self._socket is not None:
            with suppress(OSError):  # a stream that has ended by itself is closed already
                self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    def check(self) -> None:
        """Raise AssertionError where the stream broke for good."""
        if self._failure is not None:
            raise AssertionError(f"the independent watch of {self._path} broke") from self._failure

    def catch_up(self) -> None:
        """Return when all that the API shows now has been noted."""
        listed = self._client.get(self._path)
        now = {obj["metadata"]["uid"]: _version_of(obj) for obj in listed["items"]}
        eventually(lambda: self._behind(now, _version_of(listed)), lambda behind: not behind, within_s=15)

    def _behind(self, now: dict[str, int], at: int) -> list[str]:
        """The uids of which the list of version `at` shows a newer version, or none any more.

        What came or went after the list was made is not in question.
        """
        self.check()
        seen, gone = dict(self._seen), set(self._gone)
        late = [uid for uid, version in now.items() if uid not in gone and seen.get(uid, 0) < version]
        return [*late, *(uid for uid, version in seen.items() if uid not in now and version <= at)]

    def _take(self, kind: str, obj: Object) -> None:
        metadata = obj["metadata"]
        metadata.pop("managedFields", None)
        self._note(kind, obj)
        if kind == "DELETED":
            self._gone.add(metadata["uid"])
            self._seen.pop(metadata["uid"], None)
        else:
            self._seen[metadata["uid"]] = _version_of(obj)

    def _run(self) -> None:
        try:
            while not self._is_closing:
                self._read_stream()
        except (*UNREACHABLE, ValueError, AssertionError) as error:  # told to whoever asks next
            if not self._is_closing:
                self._failure = error

    def _read_stream(self) -> None:
        """Read one stream to its end. Raises AssertionError or one of UNREACHABLE where it breaks."""
        context = ssl.create_default_context(cafile=str(self._client.certificate))
        connection = http.client.HTTPSConnection("127.0.0.1", self._client.port, timeout=60, context=context)
        try:
            connection.request(
                "GET",
                f"{self._path}?watch=1&allowWatchBookmarks=true&timeoutSeconds=50&resourceVersion={self._version}",
                headers={"Authorization": f"Bearer {self._client.token}", "Accept": "application/json"},
            )
            self._socket = connection.sock
            response = connection.getresponse()
            if response.status != 200:
                raise AssertionError(f"watch refused with {response.status}: {response.read(500)!r}")
            self._read(response)
        finally:
            connection.close()

    def _read(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise AssertionError(f"watch ended with an error: {event['object']}")
            if event["type"] != "BOOKMARK":
                self._take(event["type"], event["object"])
            self._version = event["object"]["metadata"]["resourceVersion"]


def _version_of(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])
