"""`ganglift snapshot`, `plan --live` and `explain` against an API server."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.apiserver import FakeApiServer
from tests.kinds import batch_job, podgroup
from tests.support.files import as_written, manifests, object_of, typed
from tests.unit.cli.commands import Done, Run
from tests.unit.offline.ask import gpu_nodes, workers

from ganglift.api.names import GATE, GROUP_LABEL
from ganglift.kube import resources


def worker(name: str, group: str, **spec: Any) -> dict[str, Any]:
    limits = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}
    containers = [{"name": "main", "image": "busybox", "resources": limits}]
    gates = {} if "nodeName" in spec else {"schedulingGates": [{"name": GATE}]}
    made = object_of("v1", "Pod", name, {"containers": containers, **gates, **spec})
    made["metadata"] |= {"namespace": "default", "labels": {GROUP_LABEL: group}}
    return made


@pytest.fixture
async def fake() -> AsyncIterator[FakeApiServer]:
    """Two nodes of a GPU; gang `g` of three waits there, `small` of one fits."""
    async with FakeApiServer() as server:
        server.add(
            object_of("scheduling.k8s.io/v1", "PriorityClass", "high", value=10),
            *map(typed, gpu_nodes(1, 1)),
            as_written(typed(podgroup("g").gang(3))),
            *(worker(f"w-{i}", "g", priorityClassName="high") for i in range(3)),
            as_written(typed(podgroup("small").gang(1))),
            worker("s-0", "small"),
        )
        yield server


@pytest.fixture
def kubeconfig(fake: FakeApiServer, tmp_path: Path) -> str:
    return str(fake.write_kubeconfig(tmp_path / "kubeconfig"))


async def ask(run: Run, *arguments: str) -> Done:
    """Run a command while the server answers."""
    return await asyncio.to_thread(run, *arguments)


async def test_snapshot_is_written_to_a_file_that_plan_reads(run: Run, kubeconfig: str) -> None:
    done = await ask(run, "snapshot", "-o", "cluster.json", "--kubeconfig", kubeconfig)
    assert (done.code, done.out, done.err) == (0, "", "")
    planned = await ask(run, "plan", "cluster.json")
    assert planned.code == 3
    assert [line.split()[0] for line in planned.out.splitlines()[1:]] == ["default/g", "default/small"]


async def test_snapshot_goes_to_standard_output_without_a_file(run: Run, kubeconfig: str) -> None:
    done = await ask(run, "snapshot", "--kubeconfig", kubeconfig)
    assert json.loads(done.out)["counts"]["Pod"] == 4


async def test_snapshot_is_compressed_where_its_name_says_so(run: Run, kubeconfig: str, tmp_path: Path) -> None:
    await ask(run, "snapshot", "-o", "cluster.json.gz", "--kubeconfig", kubeconfig)
    assert json.loads(gzip.decompress((tmp_path / "cluster.json.gz").read_bytes()))["counts"]["Node"] == 2
    assert (await ask(run, "plan", "cluster.json.gz")).code == 3


async def test_snapshot_says_what_could_not_be_read(run: Run, kubeconfig: str, fake: FakeApiServer) -> None:
    fake.deny("list", resources.STORAGE_CLASSES)
    done = await ask(run, "snapshot", "-o", "cluster.json", "--kubeconfig", kubeconfig)
    assert done.err.startswith("note: storageclasses.storage.k8s.io are not known, you may not list them")


async def test_snapshot_that_can_not_be_written_is_told(run: Run, kubeconfig: str) -> None:
    done = await ask(run, "snapshot", "-o", "no/such/place", "--kubeconfig", kubeconfig)
    assert (done.code, done.err) == (1, "ganglift: no/such/place: No such file or directory\n")


async def test_nodes_that_may_not_be_read_end_it_with_the_servers_words(
    run: Run, kubeconfig: str, fake: FakeApiServer
) -> None:
    fake.deny("list", resources.NODES)
    done = await ask(run, "snapshot", "--kubeconfig", kubeconfig)
    assert done.code == 1
    assert 'ganglift: list nodes: nodes "" is forbidden: User "fake" cannot list resource "nodes"' in done.err


async def test_manifests_are_planned_on_the_live_cluster(run: Run, kubeconfig: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_bytes(manifests(workers("train", 1)))
    done = await ask(run, "plan", "job.yaml", "--kubeconfig", kubeconfig)
    assert (done.code, done.out.splitlines()[1].split()[:5]) == (0, ["default/train-workers", "1", "of", "1", "Fits"])


@pytest.mark.parametrize("name", ["g", "podgroup/g", "gpg/g"])
async def test_group_is_explained_by_name(run: Run, kubeconfig: str, name: str) -> None:
    done = await ask(run, "explain", name, "--kubeconfig", kubeconfig)
    assert done.code == 3
    lines = done.out.splitlines()
    assert lines[:5] == [
        "PodGroup default/g: DoesNotFit",
        "  3 must run together (3 exist, 0 bound), priority 10, number 1 of 2 in the queue",
        "  2 of 3 members fit",
        "  of 2 nodes:",
        "    2 fit",
    ]
    assert lines[-1] == "  the operator has not said anything of it yet: does it run?"


@pytest.mark.parametrize("name", ["s-0", "pod/s-0"])
async def test_pod_is_explained_with_its_group(run: Run, kubeconfig: str, name: str) -> None:
    done = await ask(run, "explain", name, "--kubeconfig", kubeconfig)
    assert done.code == 0
    assert done.out.splitlines()[:2] == [
        "Pod default/s-0 waits behind its gate, and is to go to gpu-0",
        "PodGroup default/small: Fits",
    ]


async def test_job_is_explained_by_its_group(run: Run, kubeconfig: str, fake: FakeApiServer) -> None:
    job = as_written(typed(batch_job("work").labelled("g")))
    fake.add(job)
    done = await ask(run, "explain", "job/work", "--kubeconfig", kubeconfig)
    assert done.out.startswith("PodGroup default/g: ")


async def test_explanation_comes_as_data_too(run: Run, kubeconfig: str) -> None:
    done = await ask(run, "explain", "g", "-o", "json", "--kubeconfig", kubeconfig)
    (gang,) = json.loads(done.out)["gangs"]
    assert (gang["name"], gang["nearMisses"]) == ("g", ["would fit with one more node that has 1 nvidia.com/gpu free"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gone", "there is no PodGroup, pod or Job of a gang of the name gone in namespace default"),
        ("pod/g", "there is no pod of the name g in namespace default"),
        ("service/g", "there is no service of the name g in namespace default"),
    ],
)
async def test_what_is_not_there_can_not_be_explained(run: Run, kubeconfig: str, name: str, said: str) -> None:
    done = await ask(run, "explain", name, "--kubeconfig", kubeconfig)
    assert (done.code, done.out, done.err) == (1, "", f"ganglift: {said}\n")


@pytest.mark.parametrize("name", ["gone", "gpg/gone", "job/work"])
async def test_group_that_is_gone_is_told_with_the_pods_that_wait_for_it(
    run: Run, kubeconfig: str, fake: FakeApiServer, name: str
) -> None:
    fake.add(worker("l-0", "gone"), worker("l-1", "gone"), as_written(typed(batch_job("work").labelled("gone"))))
    done = await ask(run, "explain", name, "--kubeconfig", kubeconfig)
    assert (done.code, done.err) == (
        1,
        "ganglift: there is no PodGroup gone in namespace default, and 2 pods name it and can't start without it: "
        "l-0, l-1; create it, or correct the label\n",
    )


async def test_gated_pod_without_the_label_is_told_that_it_waits_for_ever(
    run: Run, kubeconfig: str, fake: FakeApiServer
) -> None:
    lost = worker("lost", "x")
    del lost["metadata"]["labels"]
    fake.add(lost)
    done = await ask(run, "explain", "lost", "--kubeconfig", kubeconfig)
    assert "so it waits for ever: add the label" in done.out


async def test_cluster_without_our_kinds_has_nothing_to_explain(run: Run, tmp_path: Path) -> None:
    async with FakeApiServer(custom=()) as bare:
        kubeconfig = bare.write_kubeconfig(tmp_path / "bare")
        done = await ask(run, "explain", "g", "--kubeconfig", str(kubeconfig))
    assert done.code == 1
    assert "PodGroups can't be listed: are ganglift's CRDs installed" in done.err


async def test_pod_that_is_no_member_is_told_so(run: Run, kubeconfig: str, fake: FakeApiServer) -> None:
    plain = worker("plain", "x")
    del plain["metadata"]["labels"], plain["spec"]["schedulingGates"]
    fake.add(plain)
    done = await ask(run, "explain", "plain", "--kubeconfig", kubeconfig)
    assert done.code == 0
    assert done.out.startswith("Pod default/plain is no member of a gang")


async def test_commands_write_nothing(run: Run, kubeconfig: str, fake: FakeApiServer) -> None:
    for arguments in (["snapshot"], ["plan", "--live"], ["explain", "g"]):
        await ask(run, *arguments, "--kubeconfig", kubeconfig)
    assert fake.writes == []
