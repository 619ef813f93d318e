"""`ganglift snapshot`, `plan` and `explain` beside the operator: the same words, and the nodes that it then takes."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.controlplane.cluster import GANG_JOBS, PODS, Cluster, gang_job, pod
from tests.controlplane.operator import OperatorProcess, run_once

FITS, DOES_NOT_FIT = 0, 3


class Ganglift:
    """The command on a cluster; each call returns the one gang that it tells of."""

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self._live = ("--kubeconfig", str(cluster.playground.kubeconfig))
        self._directory = directory

    def explain(self, name: str, code: int) -> dict[str, Any]:
        return self._gang("explain", name, *self._live, code=code)

    def plan(self, *files: Path, code: int) -> dict[str, Any]:
        return self._gang("plan", *map(str, files), code=code)

    def plan_live(self, *files: Path, code: int) -> dict[str, Any]:
        return self._gang("plan", *map(str, files), *self._live, code=code)

    def snapshot(self) -> Path:
        path = self._directory / "cluster.json"
        done = run_once("snapshot", "--output", str(path), *self._live)
        assert (done.returncode, done.stderr) == (0, "")
        return path

    def _gang(self, *arguments: str, code: int) -> dict[str, Any]:
        done = run_once(*arguments, "--output", "json")
        assert done.returncode == code, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        (gang,) = found["gangs"]
        return dict(gang)


@pytest.fixture
def ganglift(cluster: Cluster, tmp_path: Path) -> Ganglift:
    return Ganglift(cluster, tmp_path)


def written(path: Path, manifest: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(manifest))
    return path


@pytest.fixture
def verdict(cluster: Cluster, operator: OperatorProcess) -> str:
    """What the operator's status says of a gang of four with room for two, beside a pod that has a GPU."""
    cluster.add_gpu_nodes(3)
    cluster.create(PODS, pod("other"))
    cluster.await_bound(1)
    cluster.create(GANG_JOBS, gang_job("train", 4))
    return str(cluster.await_reason("train-workers", "Unschedulable")["message"])


def test_explain_says_what_the_operators_status_says(verdict: str, ganglift: Ganglift) -> None:
    assert ganglift.explain("train-workers", DOES_NOT_FIT)["message"] == verdict


def test_explain_names_who_has_the_room(verdict: str, ganglift: Ganglift) -> None:
    (holder,) = ganglift.explain("train-workers", DOES_NOT_FIT)["heldBy"]
    assert holder.startswith("Pod default/other holds 1 nvidia.com/gpu on gpu-")


def test_plan_of_a_snapshot_says_what_the_operators_status_says(verdict: str, ganglift: Ganglift) -> None:
    assert ganglift.plan(ganglift.snapshot(), code=DOES_NOT_FIT)["message"] == verdict


def test_plan_of_kubectls_output_says_what_the_operators_status_says(
    verdict: str, cluster: Cluster, ganglift: Ganglift, tmp_path: Path
) -> None:
    listed = tmp_path / "objects.json"
    listed.write_text(cluster.kubectl.run("get", "nodes,pods", "--all-namespaces", "--output=json").words)
    cluster.delete(f"{GANG_JOBS}/train")
    again = written(tmp_path / "again.yaml", gang_job("again", 4))
    assert ganglift.plan(again, listed, code=DOES_NOT_FIT)["message"] == verdict


def test_gang_goes_where_it_was_planned_before_it_was_submitted(
    cluster: Cluster, operator: OperatorProcess, ganglift: Ganglift, tmp_path: Path
) -> None:
    cluster.add_gpu_nodes(3, gpus=2)
    job = gang_job("train", 4)
    planned = ganglift.plan_live(written(tmp_path / "job.yaml", job), code=FITS)
    cluster.create(GANG_JOBS, job)
    bound = cluster.await_bound(4, "train-workers")
    assert Counter(place["node"] for place in planned["placements"]) == Counter(bound.values())
