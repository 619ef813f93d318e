"""What an informer's troubles mean for what is known of its kind."""

from __future__ import annotations

import pytest
from tests.unit.engine.keptcache import KeptCache
from tests.unit.plan.test_volumes import claim

from ganglift.api.storage import Claim
from ganglift.engine.feeds import LedgerFeed
from ganglift.kube.errors import Forbidden, KubeError, NotServed, Request, ServerError, Status
from ganglift.plan.ledger import STORAGE_KINDS
from ganglift.plan.volumes import Storage

WATCH = Request("watch", "persistentvolumeclaims")
FORBIDDEN, NOT_SERVED = Forbidden(Status(403), WATCH), NotServed(Status(404), WATCH)


@pytest.fixture
def cache() -> KeptCache:
    """All other kinds of storage are known."""
    kept = KeptCache()
    for kind in STORAGE_KINDS[1:]:
        kept.books.ledger.listed(kind)
    return kept


@pytest.fixture
def feed(cache: KeptCache) -> LedgerFeed[Claim]:
    return LedgerFeed(cache.facts, Claim)


def storage(cache: KeptCache) -> Storage:
    return cache.books.ledger.storage()


def test_a_full_list_makes_a_kind_known(cache: KeptCache, feed: LedgerFeed[Claim]) -> None:
    feed.replace([claim()], "1")
    assert (storage(cache).is_known, feed.settled.is_set()) == (True, True)
    assert list(storage(cache).claims) == [("default", "data")]


def test_single_changes_follow(cache: KeptCache, feed: LedgerFeed[Claim]) -> None:
    feed.replace([claim("one")], "1")
    feed.upsert(claim("two"))
    feed.delete(claim("one"))
    assert list(storage(cache).claims) == [("default", "two")]


def test_a_kind_that_may_not_be_read_is_not_waited_for(cache: KeptCache, feed: LedgerFeed[Claim]) -> None:
    feed.troubled(FORBIDDEN)
    assert (storage(cache).is_known, feed.settled.is_set()) == (False, True)
    assert storage(cache).why_unknown == "the operator may not watch persistentvolumeclaims"


def test_a_kind_that_is_not_served_has_no_objects(cache: KeptCache, feed: LedgerFeed[Claim]) -> None:
    feed.troubled(NOT_SERVED)
    assert (storage(cache).is_known, feed.settled.is_set()) == (True, True)


def test_a_kind_that_is_not_served_any_more_is_not_known(cache: KeptCache, feed: LedgerFeed[Claim]) -> None:
    feed.replace([claim()], "1")
    feed.troubled(NOT_SERVED)
    assert storage(cache).why_unknown == "the cluster does not serve persistentvolumeclaims any more"


def test_a_kind_that_could_be_read_is_known_again_once_it_can(cache: KeptCache, feed: LedgerFeed[Claim]) -> None:
    feed.replace([claim()], "1")
    feed.troubled(FORBIDDEN)
    assert not storage(cache).is_known
    feed.troubled(None)
    assert storage(cache).is_known


def test_a_kind_that_could_never_be_read_is_not_known_before_its_list(
    cache: KeptCache, feed: LedgerFeed[Claim]
) -> None:
    feed.troubled(FORBIDDEN)
    feed.troubled(None)
    assert not storage(cache).is_known


@pytest.mark.parametrize("error", [ServerError(Status(500), WATCH), None])
def test_other_troubles_are_waited_out(cache: KeptCache, feed: LedgerFeed[Claim], error: KubeError | None) -> None:
    feed.troubled(error)
    assert (storage(cache).why_unknown, feed.settled.is_set()) == ("", False)
