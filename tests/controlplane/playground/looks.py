"""What these tests ask of a playground, and of the machine it runs on."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.polling import eventually

from ganglift.playground import Playground

PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
ANNOTATION = "playground.ganglift.dev/"


def pods(playground: Playground) -> list[str]:
    return [pod["metadata"]["name"] for pod in playground.client.get(PODS)["items"]]


def create_pod(playground: Playground, name: str = "a", *, gpus: int = 0, **annotations: str) -> None:
    container: dict[str, Any] = {"name": "c", "image": "none"}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    marks = {ANNOTATION + key.replace("_", "-"): value for key, value in annotations.items()}
    playground.client.post(
        PODS,
        {
            "metadata": {"name": name, "annotations": marks},
            "spec": {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 2},
        },
    )


def pod(playground: Playground, name: str = "a") -> dict[str, Any]:
    """The pod, or an empty one when it is gone."""
    found = [pod for pod in playground.client.get(PODS)["items"] if pod["metadata"]["name"] == name]
    return found[0] if found else {"spec": {}, "status": {}}


def await_phase(playground: Playground, phase: str, name: str = "a") -> dict[str, Any]:
    return eventually(lambda: pod(playground, name), lambda pod: pod["status"].get("phase") == phase, within_s=20)


def assert_stays(ask: Callable[[], object], *, for_s: float) -> None:
    """Look all the while; what is asked must not change."""
    first, deadline = ask(), time.monotonic() + for_s
    while time.monotonic() < deadline:
        assert ask() == first


def processes_of(directory: Path) -> list[str]:
    """The command lines of all processes on this machine that name the directory."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [command for command in commands if str(directory) in command]


def await_nothing_left(directory: Path) -> None:
    eventually(lambda: processes_of(directory), lambda found: not found, within_s=20)
    eventually(directory.exists, lambda exists: not exists, within_s=20)
