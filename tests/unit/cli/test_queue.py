"""`ganglift queue` from files: the order of the queue, and what stands beside each gang."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.files import kubectl_list, manifests
from tests.unit.cli.commands import Run
from tests.unit.offline.ask import gpu_nodes, workers


@pytest.fixture(autouse=True)
def files(run: Run, tmp_path: Path) -> Path:
    """cluster.json with two nodes of a GPU; gangs of three, of two, and one that may not wait for others."""
    lax = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lax", "annotations": policy("backfill")}}
    odd = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "odd", "annotations": policy("fifo")}}
    (tmp_path / "cluster.json").write_bytes(kubectl_list(*gpu_nodes(1, 1), lax, odd))
    (tmp_path / "gangs.yaml").write_bytes(manifests(workers("big", 3), workers("small", 1)))
    return tmp_path


def policy(name: str) -> dict[str, str]:
    return {"scheduling.ganglift.dev/queue-policy": name}


def test_gangs_stand_in_queue_order_with_what_they_wait_for(run: Run) -> None:
    head, first, second = run("queue", "gangs.yaml", "cluster.json").out.splitlines()
    assert head.split() == ["PLACE", "GANG", "PRIORITY", "CREATED", "POLICY", "NEED", "REASON", "MESSAGE"]
    assert first.split()[:2] == ["1", "default/big-workers"]
    assert "2 of 3 members fit" in first
    assert second.split()[:2] == ["2", "default/small-workers"]
    assert "Fits" in second


def test_under_strict_the_later_gang_waits_behind_the_earlier(run: Run) -> None:
    last = run("queue", "gangs.yaml", "cluster.json", "--queue-policy", "strict").out.splitlines()[-1]
    assert "waits behind default/big-workers" in last


def test_a_namespaces_own_policy_holds_for_its_gangs(run: Run, files: Path) -> None:
    gangs = [workers("big", 3).meta(namespace="lax"), workers("small", 1).meta(namespace="lax")]
    (files / "lax.yaml").write_bytes(manifests(*gangs))
    found = json.loads(run("queue", "lax.yaml", "cluster.json", "--queue-policy", "strict", "-o", "json").out)
    assert [(gang["name"], gang["policy"], gang["result"]) for gang in found["queue"]] == [
        ("big-workers", "backfill", "DoesNotFit"),
        ("small-workers", "backfill", "Fits"),
    ]


def test_a_policy_that_does_not_exist_is_named_with_those_that_do(run: Run) -> None:
    words = "namespace odd asks for queue policy 'fifo', there are backfill and strict; backfill is used"
    assert f"note: {words}" in run("queue", "gangs.yaml", "cluster.json").err.splitlines()
    assert words in json.loads(run("queue", "gangs.yaml", "cluster.json", "-o", "json").out)["notes"]


@pytest.mark.parametrize(("form", "parse"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_other_forms_have_places_and_counts(run: Run, form: str, parse: Any) -> None:
    gangs = parse(run("queue", "gangs.yaml", "cluster.json", "-o", form).out)["queue"]
    assert [(gang["place"], gang["name"], gang["need"]) for gang in gangs] == [
        (1, "big-workers", 3),
        (2, "small-workers", 1),
    ]


def test_a_gang_that_waits_for_something_else_has_no_place(run: Run, files: Path) -> None:
    (files / "lost.yaml").write_bytes(manifests(workers("lost", 2).spec(suspend=True)))
    gangs = json.loads(run("queue", "lost.yaml", "cluster.json", "-o", "json").out)["queue"]
    assert [(gang["place"], gang["reason"]) for gang in gangs] == [(None, "Suspended")]


def test_nobody_waits(run: Run) -> None:
    assert run("queue", "cluster.json").out == "no gang waits\n"
