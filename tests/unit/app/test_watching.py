"""kopf on its own thread: it is started again when it breaks, and nothing waits for ever for it to end."""

import asyncio
import os
import subprocess
import sys
from typing import Any

import kopf
import pytest
from tests.fakes.apiserver import FakeApiServer, Refuse, on
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
from ganglift.kube.credentials import Access, Credentials

started = threading.Event()

async def operator(**_):
    started.set()
    threading.Event().wait()

kopf.operator = operator
watching.STOP_TIMEOUT_S = 0.1

async def main():
    credentials = Credentials.fixed(Access("http://127.0.0.1:1"))
    task = asyncio.create_task(watching.watch(kopf.OperatorRegistry(), credentials, SystemClock()))
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
        server.add(_group())
        told = asyncio.Event()
        task = asyncio.create_task(watching.watch(_telling(told), Credentials.fixed(server.access), SystemClock()))
        try:
            async with asyncio.timeout(DEADLINE_S):
                await told.wait()
            assert broken.struck == 1
        finally:
            task.cancel()
            await asyncio.wait({task})


def _group() -> dict[str, Any]:
    metadata = {"name": "train", "namespace": "default"}
    return {"apiVersion": POD_GROUPS.api_version, "kind": POD_GROUPS.kind, "metadata": metadata, "spec": {}}


def _telling(told: asyncio.Event) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    loop = asyncio.get_running_loop()

    async def tell(**_: Any) -> None:
        loop.call_soon_threadsafe(told.set)

    kopf.on.event(POD_GROUPS.group, POD_GROUPS.version, POD_GROUPS.plural, registry=registry)(tell)
    return registry
