"""A live cluster for the commands that look and write nothing."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from ganglift.kube.client import Limits
from ganglift.kube.credentials import Credentials
from ganglift.kube.http import HttpClient
from ganglift.offline.inventory import Inventory
from ganglift.offline.listing import list_cluster

_LIMITS = Limits(request_timeout_s=60)
"""A page of pods from a busy API server may take its time."""


def look(kubeconfig: Path | None, context: str | None = None) -> Inventory:
    """Return what the planner needs of the cluster; raise KubeError where it can't be had."""
    return asyncio.run(_look(Credentials.from_environment(kubeconfig, context=context)))


async def _look(credentials: Credentials) -> Inventory:
    async with HttpClient(credentials, _LIMITS) as client:
        return await list_cluster(client, datetime.now(UTC))
