"""A live cluster into an inventory: one list of each kind, read in pages. Nothing is written, nothing is watched.

Nodes and pods must be there to be read. What else can't be listed, for want of a permission or because the cluster does
not serve it, is noted, and what depends on it is told as not judged.
"""

from datetime import datetime

from pydantic import ValidationError
from pydantic_core import from_json

from ganglift.api.node import Node
from ganglift.api.pod import Pod
from ganglift.kube.client import Client
from ganglift.kube.decoding import split_page
from ganglift.kube.errors import Forbidden, Gone, NotFound, Request
from ganglift.offline.inventory import Inventory
from ganglift.offline.kinds import CLUSTER_KINDS, ClusterKind
from ganglift.offline.loading import without_collection

PAGE = 500
_INDISPENSABLE = (Node, Pod)


async def list_cluster(client: Client, now: datetime) -> Inventory:
    """Return what the planner needs of a cluster as it is now.

    Raises KubeError where nodes or pods can't be read, or the API server does not answer.
    """
    inventory = Inventory(taken_at=now, shows_cluster=True)
    with without_collection():
        inventory.kubernetes = str(from_json(await client.fetch("/version")).get("gitVersion", ""))
        for kind in CLUSTER_KINDS:
            try:
                items = await _items(client, kind)
            except (Forbidden, NotFound) as error:
                if kind.model in _INDISPENSABLE:
                    raise
                inventory.note(_words(kind, error))
                continue
            for item in items:
                _take(inventory, kind, item)
            inventory.listed.add(kind.model)
    return inventory


async def _items(client: Client, kind: ClusterKind) -> list[bytes]:
    while True:
        try:
            return await _pages(client, kind)
        except Gone:
            # The list took longer than the server remembers: it has changed too much to be pieced together.
            continue


async def _pages(client: Client, kind: ClusterKind) -> list[bytes]:
    request = Request("list", kind.resource.qualified)
    items: list[bytes] = []
    token = ""
    while True:
        body = await client.list_page(kind.resource, limit=PAGE, continue_token=token)
        page = split_page(body, request)
        items += page.items
        token = page.continue_token
        if not token:
            return items


def _take(inventory: Inventory, kind: ClusterKind, item: bytes) -> None:
    try:
        one = kind.model.model_validate_json(item)
    except ValidationError as error:
        inventory.note(
            f"one of the {kind.resource.qualified} can't be read and is left out: {error.errors()[0]['msg']}"
        )
        return
    inventory.put(one)
    if isinstance(one, Pod):
        inventory.see_nomination(one, item)


def _words(kind: ClusterKind, error: Forbidden | NotFound) -> str:
    why = "you may not list them" if isinstance(error, Forbidden) else "the cluster does not serve them"
    return f"{kind.resource.qualified} are not known, {why}: {kind.lacking or 'they'} can't be told"
