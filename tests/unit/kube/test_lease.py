"""Leader election under a virtual clock: who leads when, whatever the API server does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest
from tests.fakes.apiserver import Delay, Drop, FakeApiServer, Hang, Refuse, on
from tests.fakes.apiserver.refusals import internal_error
from tests.fakes.clock import VirtualClock, settle

from ganglift.kube.client import PatchType
from ganglift.kube.lease import Elector, LeaseTiming
from ganglift.kube.resources import LEASES, PODS

REF = LEASES.ref("ganglift", "kube-system")


class Candidates:
    """Electors for one Lease on one fake, and a watch over how many lead."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = FakeApiServer(clock=self.clock)
        self.tasks: dict[str, asyncio.Task[object]] = {}
        self.electors: dict[str, Elector] = {}

    def start(self, name: str, *, quiesce: Callable[[], Awaitable[None]] | None = None) -> Elector:
        elector = Elector(self.server.direct_client(), REF, name, clock=self.clock, quiesce=quiesce)
        self.electors[name] = elector
        self.tasks[name] = asyncio.ensure_future(elector.run())
        return elector

    async def stop(self, name: str) -> None:
        """End it cleanly."""
        task = self.tasks[name]
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    @property
    def leaders(self) -> list[str]:
        return [name for name, elector in self.electors.items() if elector.is_leading]

    async def pass_time(self, seconds: int) -> set[tuple[str, ...]]:
        """Go on second by second; return every set of leaders there was."""
        seen = set()
        for _ in range(seconds * 4):
            await self.clock.advance(0.25)
            seen.add(tuple(self.leaders))
        return seen

    def spec(self) -> dict[str, object]:
        stored = self.server.api.store.get(LEASES, ("kube-system", "ganglift"))
        assert stored is not None
        spec: dict[str, object] = stored.obj["spec"]
        return spec


@pytest.fixture
async def candidates() -> AsyncIterator[Candidates]:
    candidates = Candidates()
    yield candidates
    candidates.server.faults.clear()
    for name in candidates.tasks:
        await candidates.stop(name)


async def test_the_first_candidate_leads_at_once(candidates: Candidates) -> None:
    elector = candidates.start("a")
    await settle()
    assert elector.is_leading
    assert candidates.spec()["holderIdentity"] == "a"


async def test_the_lease_says_who_and_since_when(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    assert candidates.spec() == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-11-30T12:00:00.000000Z",
        "renewTime": "2026-11-30T12:00:00.000000Z",
        "leaseTransitions": 0,
    }


async def test_the_second_candidate_waits_while_the_first_renews(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    candidates.start("b")
    assert await candidates.pass_time(300) == {("a",)}


async def test_a_replica_that_stands_by_says_once_who_leads(
    candidates: Candidates, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="ganglift.kube.lease")
    candidates.start("a")
    await settle()
    candidates.start("b")
    await candidates.pass_time(60)
    assert [text for text in caplog.messages if "standing by" in text] == [f"standing by: the Lease {REF} is held by a"]


async def test_a_leader_renews_without_a_gap(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    assert await candidates.pass_time(60) == {("a",)}
    assert candidates.spec()["leaseTransitions"] == 0


async def test_a_leader_that_ends_cleanly_is_followed_at_the_next_look(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    candidates.start("b")
    await candidates.pass_time(10)
    await candidates.stop("a")
    await candidates.pass_time(3)
    assert candidates.leaders == ["b"]
    assert candidates.spec()["leaseTransitions"] == 1


async def test_nothing_is_being_written_when_the_lease_is_let_go(candidates: Candidates) -> None:
    holders: list[object] = []

    async def quiesce() -> None:
        holders.append(candidates.spec()["holderIdentity"])
        assert not candidates.electors["a"].is_leading

    candidates.start("a", quiesce=quiesce)
    await settle()
    await candidates.stop("a")
    assert holders == ["a"]
    assert candidates.spec()["holderIdentity"] == ""


async def test_a_lease_is_not_let_go_while_something_is_still_written(candidates: Candidates) -> None:
    async def never() -> None:
        raise TimeoutError

    candidates.start("a", quiesce=never)
    await settle()
    await candidates.stop("a")
    assert candidates.spec()["holderIdentity"] == "a"


async def test_a_leader_that_vanished_is_followed_after_the_lease(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    candidates.start("b")
    await candidates.pass_time(10)
    candidates.server.faults.add(on("patch", LEASES), Hang(), times=None)
    await candidates.pass_time(10)
    assert candidates.leaders == []
    candidates.tasks["a"].cancel()
    candidates.server.faults.clear()
    await candidates.pass_time(10)
    assert candidates.leaders == ["b"]


@pytest.mark.parametrize(
    "effect",
    [Hang(), Hang(performed=True), Drop(), Drop(performed=True), Refuse(internal_error("x")), Delay(30.0)],
    ids=["hang", "hang-performed", "drop", "drop-performed", "500", "late"],
)
async def test_two_never_lead_while_the_api_server_fails(candidates: Candidates, effect: Hang) -> None:
    candidates.start("a")
    await settle()
    candidates.start("b")
    seen = await candidates.pass_time(5)
    for verb in ("get", "patch"):
        candidates.server.faults.add(on(verb, LEASES), effect, times=None)
    seen |= await candidates.pass_time(60)
    candidates.server.faults.clear()
    seen |= await candidates.pass_time(60)
    assert all(len(leaders) <= 1 for leaders in seen)
    assert len(candidates.leaders) == 1


async def test_a_leader_that_cannot_renew_stops_before_the_lease_ends(candidates: Candidates) -> None:
    elector = candidates.start("a")
    await settle()
    candidates.server.faults.add(on(None, LEASES), Hang(), times=None)
    await candidates.pass_time(9)
    lost = asyncio.ensure_future(elector.lost())
    assert candidates.leaders == ["a"]
    await candidates.pass_time(2)
    assert candidates.leaders == []
    assert lost.done()


async def test_a_frozen_leader_knows_at_once_that_it_is_late(candidates: Candidates) -> None:
    elector = candidates.start("a")
    await settle()
    candidates.clock.jump(11)
    assert not elector.is_leading


async def test_a_leader_that_stood_still_is_not_told_that_it_holds_the_lease_itself(
    candidates: Candidates, caplog: pytest.LogCaptureFixture
) -> None:
    candidates.start("a")
    await candidates.pass_time(5)
    candidates.clock.jump(11)
    await candidates.pass_time(3)
    assert _losses(caplog) == [f"no longer leading: the Lease {REF} was not renewed within 10 s"]


async def test_a_leader_whose_lease_was_taken_says_by_whom(
    candidates: Candidates, caplog: pytest.LogCaptureFixture
) -> None:
    candidates.start("a")
    await candidates.pass_time(5)
    taken = {"spec": {"holderIdentity": "thief"}}
    await candidates.server.direct_client().patch(REF, taken, patch_type=PatchType.MERGE)
    await candidates.pass_time(3)
    assert _losses(caplog) == [f"no longer leading: the Lease {REF} is held by thief"]


async def test_one_failed_renewal_costs_nothing(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    candidates.server.faults.add(on("patch", LEASES), Refuse(internal_error("x")), times=2)
    assert await candidates.pass_time(30) == {("a",)}


async def test_a_renewal_whose_answer_was_lost_is_not_a_loss(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    candidates.server.faults.add(on("patch", LEASES), Drop(performed=True), times=2)
    assert await candidates.pass_time(30) == {("a",)}


async def test_a_leader_whose_lease_was_taken_stops_at_its_next_renewal(candidates: Candidates) -> None:
    elector = candidates.start("a")
    await settle()
    taken = {"spec": {"holderIdentity": "thief"}}
    await candidates.server.direct_client().patch(REF, taken, patch_type=PatchType.MERGE)
    await candidates.pass_time(3)
    assert not elector.is_leading
    assert elector.holder == "thief"


async def test_a_lease_deleted_under_its_leader_comes_back(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    candidates.start("b")
    await candidates.pass_time(5)
    await candidates.server.direct_client().delete(REF)
    assert await candidates.pass_time(20) == {("a",)}
    assert candidates.spec()["holderIdentity"] == "a"


async def test_nobody_takes_a_deleted_lease_from_a_leader_that_can_t_know_yet(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    candidates.start("b")
    await candidates.pass_time(5)
    candidates.server.faults.add(lambda seen: seen.is_write and "'a'" in str(seen.body), Hang(), times=None)
    await candidates.server.direct_client().delete(REF)
    assert all(len(leaders) <= 1 for leaders in await candidates.pass_time(30))
    assert candidates.leaders == ["b"]


async def test_a_loser_competes_again(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    fault = candidates.server.faults.add(on(None, LEASES), Hang(), times=None)
    await candidates.pass_time(20)
    candidates.server.faults.remove(fault)
    await candidates.pass_time(20)
    assert candidates.leaders == ["a"]


async def test_waiting_for_leadership_returns_once_it_is_there(candidates: Candidates) -> None:
    candidates.start("a")
    await settle()
    elector = candidates.start("b")
    leading = asyncio.ensure_future(elector.leading())
    await candidates.pass_time(5)
    assert not leading.done()
    await candidates.stop("a")
    await candidates.pass_time(3)
    assert leading.done()


def test_timing_that_would_let_two_lead_is_refused() -> None:
    with pytest.raises(ValueError, match="renew_deadline_s < duration_s"):
        LeaseTiming(duration_s=10, renew_deadline_s=10)


async def test_only_a_lease_can_be_led(candidates: Candidates) -> None:
    with pytest.raises(ValueError, match="needs a Lease"):
        Elector(candidates.server.direct_client(), PODS.ref("x", "y"), "a")


def _losses(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [text for text in caplog.messages if "no longer leading" in text]
