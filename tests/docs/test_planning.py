"""docs/planning.md: its commands, run in order against an API server, print what the page says."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.docs.markdown import DOCS, REPOSITORY, Block, blocks
from tests.fakes.apiserver import FakeApiServer
from tests.support.files import object_of

from ganglift.api.names import GATE, GROUP_LABEL
from ganglift.kube.client import PatchType
from ganglift.kube.resources import PODS
from ganglift.offline.outlook import Result

PAGE = DOCS / "planning.md"
BLOCKS = blocks(PAGE)
PLANNED = {0, 3}
LIMITS = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


class Reader:
    """Someone who follows the page, in a directory with the examples and the page's own files."""

    def __init__(self, directory: Path, kubeconfig: Path) -> None:
        self._directory = directory
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = os.environ | {"PATH": path, "KUBECONFIG": str(kubeconfig), "HOME": str(directory)}
        (directory / "examples").symlink_to(REPOSITORY / "examples")
        for block in blocks(PAGE, "yaml"):
            name = re.match(r"# (\S+\.yaml)\n", block.text)
            assert name is not None, f"{block} does not say which file it is"
            (directory / name[1]).write_text(block.text)

    async def run(self, command: str) -> Done:
        shell = await asyncio.create_subprocess_exec(
            "bash", "-o", "pipefail", "-c", command,
            cwd=self._directory, env=self._environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await asyncio.wait_for(shell.communicate(), 60)
        return Done(shell.returncode or 0, out.decode(), err.decode())


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "busybox", "resources": LIMITS}]
    made = object_of("v1", "Pod", name, {"containers": containers} | spec)
    made["metadata"]["namespace"] = "default"
    return made


def member(name: str) -> dict[str, Any]:
    made = pod(name, schedulingGates=[{"name": GATE}])
    made["metadata"]["labels"] = {GROUP_LABEL: "experiment-workers"}
    return made


def job(name: str) -> dict[str, Any]:
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}}
    made = object_of("batch/v1", "Job", name, spec)
    made["metadata"]["namespace"] = "default"
    return made


def running(name: str, owner: dict[str, Any]) -> dict[str, Any]:
    """A pod of the Job that holds a GPU."""
    made = pod(name, nodeName="gpu-0")
    named = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    made["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "controller": True, **named}]
    return made


@pytest.fixture
async def reader(tmp_path: Path) -> AsyncIterator[Reader]:
    """A reader whose kubeconfig leads to the cluster of the page's last example: its nodes, and a gang that waits."""
    (nodes,) = (yaml.safe_load(block.text)["items"] for block in blocks(PAGE, "yaml") if "nodes.yaml" in block.text)
    policy = {"schedulingPolicy": {"gang": {"minCount": 4}}}
    group = object_of("scheduling.ganglift.dev/v1beta1", "PodGroup", "experiment-workers", policy)
    group["metadata"]["namespace"] = "default"
    async with FakeApiServer() as server:
        (other,) = server.add(job("other"))
        server.add(*nodes, group, *(member(f"experiment-{number}") for number in range(4)), running("other-0", other))
        bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-30T12:00:00Z"}
        status = {"status": {"phase": "Running", "conditions": [bound]}}
        async with server.client() as client:
            ref = PODS.ref("other-0", "default")
            await client.patch(ref, status, patch_type=PatchType.MERGE, subresource="status")
        yield Reader(tmp_path, server.write_kubeconfig(tmp_path / "kubeconfig"))


async def test_every_command_of_the_page_does_its_work(reader: Reader) -> None:
    for block in blocks(PAGE, "sh"):
        for command in block.text.strip().splitlines():
            done = await reader.run(command)
            assert done.code in PLANNED, f"{block}: {command}: {done.err}"


async def test_commands_print_what_the_page_shows(reader: Reader) -> None:
    shown = [(command, output) for command, output in pairwise(BLOCKS) if _is_output(command, output)]
    assert len(shown) == 3
    for command, output in shown:
        assert (await reader.run(command.text)).out == output.text, str(command)


def test_every_result_is_explained() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)) == {result.value for result in Result}


def _is_output(command: Block, output: Block) -> bool:
    return command.language == "sh" and output.language == "text"
