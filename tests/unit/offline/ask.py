"""A small cluster and gangs for it, and the way from files to outlooks."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.builders import NodeBuilder, node
from tests.kinds import GangJobBuilder, gang_job

from ganglift.offline.expansion import expand
from ganglift.offline.inventory import Inventory
from ganglift.offline.loading import load, without_collection
from ganglift.offline.outlook import Outlook, Survey
from ganglift.offline.problems import InvalidInput
from ganglift.offline.schema import read_schemas

SCHEMAS = read_schemas([Path(__file__).parents[3] / "crds"])


def inventory_of(*files: bytes) -> Inventory:
    """Load files named a.yaml, b.yaml and on, and bring what they ask for into being."""
    inventory = load(named(*files))
    expand(inventory, SCHEMAS)
    return inventory


def survey_of(*files: bytes) -> Survey:
    with without_collection():
        return Survey(inventory_of(*files))


def only_outlook(*files: bytes) -> Outlook:
    (outlook,) = survey_of(*files).outlooks.values()
    return outlook


def named(*files: bytes) -> list[tuple[str, bytes]]:
    return [(f"{chr(ord('a') + number)}.yaml", data) for number, data in enumerate(files)]


def complaints(act: Callable[[], object]) -> str:
    """What is said of bad input."""
    with pytest.raises(InvalidInput) as caught:
        act()
    return str(caught.value)


def gpu_nodes(*gpus: int) -> list[NodeBuilder]:
    """Nodes gpu-0, gpu-1 and on with so many GPUs."""
    return [node(f"gpu-{number}").gpus(count) for number, count in enumerate(gpus)]


def workers(name: str, count: int, gpus: int = 1) -> GangJobBuilder:
    """Our Job of so many workers that start together."""
    limits = {"limits": {"nvidia.com/gpu": gpus}}
    containers = [{"name": "main", "image": "busybox", "resources": limits}]
    job = gang_job(name).spec(parallelism=count, completions=count).gang()
    return job.template(containers=containers, restartPolicy="Never")
