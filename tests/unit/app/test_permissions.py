"""The rights that the operator asks for at its start: what it can't do without, and what it can."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import pytest
from tests.fakes.apiserver import FakeApiServer

from ganglift.app.permissions import MissingPermissions, check_permissions
from ganglift.kube.http import HttpClient
from ganglift.kube.resources import DEVICE_CLASSES, PERSISTENT_VOLUMES, PODS


@pytest.fixture
async def fake() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer() as server:
        yield server


@pytest.fixture
async def client(fake: FakeApiServer) -> AsyncIterator[HttpClient]:
    async with fake.client() as client:
        yield client


async def test_what_it_cannot_do_without_is_named_all_at_once(fake: FakeApiServer, client: HttpClient) -> None:
    fake.deny("watch", PODS)
    fake.deny("patch", PODS, subresource="status")
    with pytest.raises(MissingPermissions) as caught:
        await check_permissions(client, "ganglift-system", "ganglift")
    assert [str(missing) for missing in caught.value.missing] == ["patch pods/status", "watch pods"]


async def test_what_it_can_do_without_is_logged_and_stops_nothing(
    fake: FakeApiServer, client: HttpClient, caplog: pytest.LogCaptureFixture
) -> None:
    fake.deny("list", PERSISTENT_VOLUMES)
    fake.deny("watch", DEVICE_CLASSES)
    with caplog.at_level(logging.WARNING):
        await check_permissions(client, "ganglift-system", "ganglift")
    assert [vars(record)["permission"] for record in caplog.records] == [
        "list persistentvolumes",
        "watch deviceclasses.resource.k8s.io",
    ]


async def test_nothing_is_said_where_nothing_is_missing(client: HttpClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await check_permissions(client, "ganglift-system", "ganglift")
    assert caplog.records == []
