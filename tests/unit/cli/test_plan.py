"""`ganglift plan` from files: what it prints, and how it ends."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.builders import node, pod
from tests.kinds import podgroup
from tests.support.files import kubectl_list, manifests, object_of
from tests.unit.cli.commands import Run
from tests.unit.offline.ask import gpu_nodes, inventory_of, workers

from ganglift.offline.documents import SNAPSHOT_API
from ganglift.offline.storing import snapshot_bytes


@pytest.fixture(autouse=True)
def files(run: Run, tmp_path: Path) -> Path:
    """cluster.json with three nodes of a GPU, job.yaml of a gang of three, big.yaml of one of four."""
    (tmp_path / "cluster.json").write_bytes(kubectl_list(*gpu_nodes(1, 1, 1)))
    (tmp_path / "job.yaml").write_bytes(manifests(workers("train", 3)))
    (tmp_path / "big.yaml").write_bytes(manifests(workers("big", 4)))
    return tmp_path


def test_table_shows_where_each_gang_goes(run: Run) -> None:
    done = run("plan", "job.yaml", "cluster.json")
    assert done.out.splitlines() == [
        "GANG                   NEED    RESULT  WHERE OR WHY NOT",
        "default/train-workers  3 of 3  Fits    gpu-0, gpu-1, gpu-2",
    ]
    assert (done.code, done.err) == (0, "")


def test_gang_that_does_not_fit_ends_it_with_3_and_its_verdict(run: Run) -> None:
    done = run("plan", "big.yaml", "cluster.json")
    assert done.code == 3
    assert "DoesNotFit  3 of 4 members fit: 3 nodes: 3 fit;" in done.out


def test_later_gang_sees_what_the_earlier_one_took(run: Run) -> None:
    done = run("plan", "job.yaml", "big.yaml", "cluster.json", "-o", "json")
    found = json.loads(done.out)
    assert [(gang["name"], gang["result"]) for gang in found["gangs"]] == [
        ("train-workers", "Fits"),
        ("big-workers", "DoesNotFit"),
    ]
    assert not found["allFit"]
    assert found["gangs"][1]["heldBy"] == [
        "PodGroup default/train-workers, before it in the queue, is to get 3 nvidia.com/gpu on 3 nodes"
    ]


@pytest.mark.parametrize(("form", "parse"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_other_forms_have_every_member_with_its_node(run: Run, form: str, parse: Any) -> None:
    (gang,) = parse(run("plan", "job.yaml", "cluster.json", "-o", form).out)["gangs"]
    assert gang["placements"] == [{"pod": f"train-{i}", "node": f"gpu-{i}"} for i in range(3)]


def test_verdict_in_data_has_its_causes_counted(run: Run, files: Path) -> None:
    (files / "tight.json").write_bytes(kubectl_list(*gpu_nodes(1), node("spot").gpus(9).taint("spot")))
    (gang,) = json.loads(run("plan", "job.yaml", "tight.json", "-o", "json").out)["gangs"]
    assert gang["causes"] == [
        {
            "cause": "taint",
            "subject": "spot:NoSchedule",
            "nodes": 1,
            "words": "untolerated taint spot:NoSchedule",
        }
    ]
    assert (gang["fit"], gang["need"], gang["nodes"], gang["fittingNodes"]) == (1, 3, 2, 1)


def test_verdict_in_data_tells_what_is_free_on_open_and_on_closed_nodes(run: Run, files: Path) -> None:
    (files / "tight.json").write_bytes(kubectl_list(*gpu_nodes(1), node("spot").gpus(9).taint("spot")))
    (gang,) = json.loads(run("plan", "job.yaml", "tight.json", "-o", "json").out)["gangs"]
    assert gang["free"] == {
        "resource": "nvidia.com/gpu",
        "asked": "1",
        "total": "1",
        "nodes": 1,
        "largestOnOneNode": "1",
        "closedTotal": "9",
        "closedNodes": 1,
    }


def test_wide_table_names_every_node(run: Run, files: Path) -> None:
    (files / "many.json").write_bytes(kubectl_list(*gpu_nodes(*[1] * 9)))
    (files / "nine.yaml").write_bytes(manifests(workers("nine", 9)))
    assert "gpu-5 and 3 more nodes" in run("plan", "nine.yaml", "many.json").out
    assert "gpu-8" in run("plan", "nine.yaml", "many.json", "-o", "wide").out


def test_without_manifests_the_gangs_that_wait_in_the_cluster_are_planned(run: Run, files: Path) -> None:
    waiting = [podgroup("g").gang(1), pod("w").gang("g").gpu(1).gated()]
    runs = [podgroup("r").gang(1), pod("r-0").gang("r").gpu(1).on("gpu-0")]
    (files / "busy.json").write_bytes(kubectl_list(*gpu_nodes(1, 1), *waiting, *runs))
    assert [line.split()[0] for line in run("plan", "busy.json").out.splitlines()[1:]] == ["default/g"]
    assert "default/r" in run("plan", "busy.json", "--all").out


def test_gangs_of_the_cluster_are_shown_beside_manifests_only_if_asked_for(run: Run, files: Path) -> None:
    waiting = [podgroup("g").gang(1), pod("w").gang("g").gpu(1).gated()]
    (files / "busy.json").write_bytes(kubectl_list(*gpu_nodes(1, 1, 1, 1), *waiting))
    assert "default/g" not in run("plan", "job.yaml", "busy.json").out
    assert "default/g" in run("plan", "job.yaml", "busy.json", "--all").out


def test_strict_queue_lets_nobody_pass(run: Run) -> None:
    done = run("plan", "big.yaml", "job.yaml", "cluster.json", "--queue-policy", "strict")
    assert "waits behind default/big-workers" in done.out


def test_standard_input_is_a_file_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = io.TextIOWrapper(io.BytesIO(manifests(workers("piped", 2))))
    monkeypatch.setattr(sys, "stdin", manifest)
    assert "default/piped-workers" in run("plan", "-", "cluster.json").out


def test_manifests_without_a_namespace_are_of_the_one_given(run: Run, files: Path) -> None:
    job = object_of("batch.ganglift.dev/v1", "Job", "t", {"template": {"spec": {"containers": [{"name": "a"}]}}})
    job["spec"] |= {"scheduling": {"schedulingPolicy": {"gang": {}}}}
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    (files / "t.yaml").write_bytes(manifests(job))
    assert "team-a/t-workers" in run("plan", "t.yaml", "cluster.json", "-n", "team-a").out


def test_notes_go_to_standard_error(run: Run, files: Path) -> None:
    (files / "web.yaml").write_bytes(manifests(object_of("v1", "Service", "web", {"ports": []})))
    done = run("plan", "web.yaml", "job.yaml", "cluster.json")
    assert done.err == "note: web.yaml: Service web: no matter of planning\n"
    assert "web" not in done.out


def test_nothing_to_plan_is_said_and_is_no_failure(run: Run) -> None:
    done = run("plan", "cluster.json")
    assert (done.code, done.out) == (0, "no gangs\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["job.yaml"], "ganglift: there are no nodes in the files: add a snapshot"),
        (["gone.yaml", "cluster.json"], "ganglift: gone.yaml: No such file or directory"),
        (["."], "ganglift: .: Is a directory"),
        (["cut.json"], "ganglift: cut.json: the file was cut short"),
        (["job.yaml", "cluster.json", "--kubeconfig", "nowhere"], "ganglift: --kubeconfig names nowhere"),
        (["job.yaml", "--live"], "ganglift: no cluster to talk to: give --kubeconfig"),
    ],
)
def test_what_can_not_be_planned_ends_it_with_1_and_words(
    run: Run, files: Path, arguments: list[str], said: str
) -> None:
    (files / "cut.json").write_bytes(kubectl_list(node("n1"))[:-30])
    done = run("plan", *arguments)
    assert done.code == 1
    assert done.err.startswith(said)
    assert done.out == ""


SNAPSHOT = snapshot_bytes(inventory_of(kubectl_list(*gpu_nodes(1, 1, 1))))
TOPOLOGY = {"schedulingConstraints": {"topology": [{"key": "acme.io/rack"}]}}
IDLE = workers("j", 1).template(containers=[{"name": "main", "image": "busybox"}])


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ({"cluster.json": SNAPSHOT[: len(SNAPSHOT) // 2]}, 1, "ganglift: cluster.json: the file was cut short"),
        (
            {"cluster.json": SNAPSHOT.replace(SNAPSHOT_API.encode(), b"snapshot.ganglift.dev/v9")},
            1,
            "ganglift: cluster.json: apiVersion: the snapshot is of version snapshot.ganglift.dev/v9",
        ),
        (
            {"job.yaml": manifests(workers("j", 1, gpus=-1))},
            1,
            "Job default/j: spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]: -1 is negative",
        ),
        ({"job.yaml": manifests(workers("j", 1, gpus=10**20))}, 1, "100000000000000000000 is more than any node can"),
        (
            {"job.yaml": manifests(podgroup("g").gang(2), podgroup("g").gang(3))},
            1,
            "ganglift: job.yaml: PodGroup default/g: there is another of that name in job.yaml",
        ),
        (
            {"job.yaml": manifests(IDLE)},
            0,
            "job.yaml: Job default/j: spec.template.spec.containers: nothing is requested",
        ),
        (
            {"job.yaml": manifests(workers("j", 1).gang(**TOPOLOGY))},
            3,
            "job.yaml: Job default/j: spec.scheduling.schedulingConstraints.topology[0].key: no node has the label",
        ),
    ],
    ids=["cut short", "another version", "negative", "absurd", "two groups", "asks for nothing", "unknown topology"],
)
def test_bad_input_is_told_with_file_and_field(
    run: Run, files: Path, given: dict[str, bytes], code: int, said: str
) -> None:
    for name, data in given.items():
        (files / name).write_bytes(data)
    done = run("plan", "job.yaml", "cluster.json")
    assert done.code == code, done.err
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_hundred_thousand_members_are_planned(run: Run, files: Path) -> None:
    (files / "job.yaml").write_bytes(manifests(workers("huge", 100_000)))
    done = run("plan", "job.yaml", "cluster.json")
    assert (done.code, done.err) == (3, "")
    assert "3 of 100000 members fit" in done.out


def test_unknown_form_of_output_is_wrong_usage(run: Run) -> None:
    assert run("plan", "job.yaml", "cluster.json", "-o", "xml").code == 2


def test_exit_codes_are_in_the_help(run: Run) -> None:
    assert "0 all fit, 3 some do not fit, 1 something is wrong" in " ".join(run("plan", "--help").out.split())
