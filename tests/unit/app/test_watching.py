"""kopf on its own thread: it is started again when it breaks, and nothing waits for ever for it to end."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import kopf
import pytest
from tests.fakes.apiserver import Drop, FakeApiServer, Refuse, Seen, on
from tests.fakes.apiserver.refusals import expired

from ganglift.app import watching
from ganglift.base.clock import SystemClock
from ganglift.kube.credentials import Credentials
from ganglift.kube.resources import POD_GROUPS

DEADLINE_S = 30.0

KOPF_THAT_DOES_NOT_END = """
import asyncio
import threading
import kopf
from ganglift.app import watching
from ganglift.base.clock import SystemClock
from ganglift.kube.client import Limits
from ganglift.kube.credentials import Access, Credentials
from ganglift.kube.http import HttpClient

started = threading.Event()

async def operator(**_):
    started.set()
    threading.Event().wait()

kopf.operator = operator
watching.STOP_TIMEOUT_S = 0.1

async def main():
    credentials = Credentials.fixed(Access("http://127.0.0.1:1"))
    client = HttpClient(credentials, Limits())
    task = asyncio.create_task(watching.watch(kopf.OperatorRegistry(), client, credentials, SystemClock()))
    while not started.is_set():
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    print("watch has ended")

asyncio.run(main())
"""


def test_the_process_ends_though_kopf_does_not() -> None:
    path = os.pathsep.join(path for path in sys.path if path)
    ended = subprocess.run(
        [sys.executable, "-c", KOPF_THAT_DOES_NOT_END],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    assert ended.stdout == "watch has ended\n"


async def test_kopf_is_started_anew_after_it_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "RESTART_AFTER_S", 0.01)
    async with FakeApiServer() as server:
        broken = server.faults.add(on("list", POD_GROUPS), Refuse(expired("too old")))
        server.add(_group("train"))
        async with _watching(server) as told:
            await _heard(told, "train")
        assert broken.struck == 1


async def test_our_kinds_are_watched_again_once_they_are_served_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "RESTART_AFTER_S", 0.01)
    async with FakeApiServer() as server:
        server.add(_group("train"))
        async with _watching(server) as told:
            await _heard(told, "train")
            kind = server.api.kinds.pop(POD_GROUPS)
            looked_for = _asked_for(server, POD_GROUPS.base_path)
            server.end_watches(POD_GROUPS)
            async with asyncio.timeout(DEADLINE_S):
                await looked_for.wait()
            server.api.kinds[POD_GROUPS] = kind
            server.add(_group("infer"))
            await _heard(told, "infer")


@asynccontextmanager
async def _watching(server: FakeApiServer) -> "AsyncIterator[asyncio.Queue[str]]":
    """Watch PodGroups with kopf while the context lasts; gives the names that a handler is told, as it is told."""
    told: asyncio.Queue[str] = asyncio.Queue()
    loop, registry = asyncio.get_running_loop(), kopf.OperatorRegistry()

    async def tell(event: Mapping[str, Any], **_: Any) -> None:
        loop.call_soon_threadsafe(told.put_nowait, event["object"]["metadata"]["name"])

    kopf.on.event(POD_GROUPS.group, POD_GROUPS.version, POD_GROUPS.plural, registry=registry)(tell)
    async with server.client() as client:
        credentials = Credentials.fixed(server.access)
        task = asyncio.create_task(watching.watch(registry, client, credentials, SystemClock()))
        try:
            yield told
        finally:
            task.cancel()
            await asyncio.wait({task})


async def _heard(told: "asyncio.Queue[str]", name: str) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while await told.get() != name:
            pass


def _asked_for(server: FakeApiServer, path: str) -> asyncio.Event:
    """An event that is set by the next request of that path."""
    asked = asyncio.Event()

    def note(seen: Seen) -> bool:
        if seen.path == path:
            asked.set()
        return False

    server.faults.add(note, Drop())
    return asked


def _group(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": POD_GROUPS.api_version, "kind": POD_GROUPS.kind, "metadata": metadata, "spec": {}}
