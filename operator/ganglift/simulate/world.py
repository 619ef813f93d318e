"""Gangs' lives in virtual time: members are made, get places, work while enough of them do, are evicted, and end.

The world knows what happens by itself; whoever schedules in it is told, and says who gets which place. A gang works
while `need` of its members have a place, and ends once it has worked for as long as it runs. A member that loses its
place is made anew when it is gone. Where the gang's disruptionMode is `all` the others leave as well, and what was done
so far is lost; else it waits for the replacement and goes on.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from ganglift.base.ids import NodeName, Uid
from ganglift.base.quantity import units_of
from ganglift.simulate.agenda import Agenda
from ganglift.simulate.clock import SimulatedClock
from ganglift.simulate.gangs import Gang
from ganglift.simulate.meter import Level, Meter
from ganglift.simulate.scenario import Pool, Scenario


@dataclass(slots=True)
class Member:
    """A pod of a gang. `made` is when, `node` where it has its place."""

    uid: Uid
    number: int
    made: int
    node: NodeName | None = None
    is_leaving: bool = False


@dataclass(slots=True)
class Life:
    """A gang that has come. `left` is for how many seconds it still has to work, `since` when it was last whole."""

    gang: Gang
    left: int
    members: dict[Uid, Member] = field(default_factory=dict)
    placed: int = 0
    """Members that have a place and are not leaving."""
    occupying: int = 0
    """Members that have a place."""
    since: int | None = None
    started: int | None = None
    ended: int | None = None
    spell: int = 0
    """Counts how often it became whole or stopped being so."""
    evicted: int = 0
    """Members that had to leave."""
    makings: int = 0

    @property
    def is_whole(self) -> bool:
        return self.since is not None

    @property
    def is_disrupted_as_one(self) -> bool:
        return self.gang.work.disruption_mode == "all"


class Scheduler(Protocol):
    """Who gives members their places, by `World.place`, and takes them by `World.evict`. The rest it is told."""

    def node_joined(self, pool: Pool, node: NodeName) -> None: ...

    def node_left(self, node: NodeName) -> None: ...

    def gang_came(self, life: Life) -> None: ...

    def member_made(self, life: Life, member: Member) -> None: ...

    def member_leaves(self, life: Life, member: Member) -> None:
        """It keeps its place until it has gone."""

    def member_gone(self, life: Life, member: Member) -> None: ...

    def gang_ended(self, life: Life) -> None:
        """Its members have gone."""

    async def decide(self) -> None:
        """Do all that can be done now."""

    def held(self) -> int:
        """Return how many free units are kept free for someone."""

    def wake_at(self) -> int | None:
        """Return when there may be something to decide although nothing has happened."""


class World:
    """See the module. `lives` are of all gangs that have come."""

    def __init__(self, scenario: Scenario, gangs: Iterable[Gang]) -> None:
        self.clock = SimulatedClock()
        self.agenda = Agenda()
        self.meter = Meter()
        self.lives: dict[str, Life] = {}
        self.nodes: dict[NodeName, int] = {}
        """Units that each node offers."""
        self.used: dict[NodeName, int] = {}
        """Units that members have there."""
        self.scheduler: Scheduler
        self.moved = 0
        """When something last happened by itself or got a place."""
        self._grace = round(scenario.eviction_grace)
        self._working = self._wasted = 0
        for pool in scenario.nodes:
            self._schedule_pool(pool, units_of(scenario.measured, pool.offers.get(scenario.measured, 0)))
        for gang in gangs:
            self.agenda.put(gang.arrives, partial(self._arrive, gang))

    @property
    def now(self) -> int:
        return self.clock.second

    def pass_time(self, second: int) -> None:
        """Go on to this second; what happens then comes next."""
        if (happens := self.agenda.next) is not None and happens <= second:
            self.moved = second
        self.meter.pass_time(second)
        self.clock.second = second

    def see(self) -> None:
        """Take note of what the nodes do from now on."""
        held = self.scheduler.held()
        self.meter.see(Level(sum(self.nodes.values()), self._working, self._wasted, held))

    # Nodes

    def _schedule_pool(self, pool: Pool, units: int) -> None:
        width = len(str(pool.count - 1))
        names = [NodeName(f"{pool.name}-{number:0{width}}") for number in range(pool.count)]
        self.agenda.put(round(pool.joins), lambda: self._join(pool, names, units))
        if pool.leaves is not None:
            self.agenda.put(round(pool.leaves), lambda: self._leave(names))

    def _join(self, pool: Pool, names: Iterable[NodeName], units: int) -> None:
        for name in names:
            self.nodes[name] = units
            self.used[name] = 0
            self.scheduler.node_joined(pool, name)

    def _leave(self, names: Iterable[NodeName]) -> None:
        leaving = set(names)
        struck = [(life, member) for life, member in self._placed() if member.node in leaving]
        for name in names:
            self.scheduler.node_left(name)
        for life, member in struck:
            self.remove(life, member)
        for name in names:
            del self.nodes[name], self.used[name]

    def _placed(self) -> Iterator[tuple[Life, Member]]:
        for life in self.lives.values():
            for member in life.members.values():
                if member.node is not None:
                    yield life, member

    # Gangs

    def _arrive(self, gang: Gang) -> None:
        life = self.lives[gang.name] = Life(gang, gang.runs)
        self.scheduler.gang_came(life)
        for number in range(gang.members):
            self._make(life, number)

    def _make(self, life: Life, number: int) -> None:
        width = len(str(life.gang.members - 1))
        suffix = f"-{life.makings - life.gang.members + 1}" if life.makings >= life.gang.members else ""
        member = Member(Uid(f"{life.gang.name}-{number:0{width}}{suffix}"), number, self.now)
        life.makings += 1
        life.members[member.uid] = member
        self.scheduler.member_made(life, member)

    def place(self, life: Life, uid: Uid, node: NodeName) -> None:
        """Give a member its place."""
        self._count(life, -1)
        member = life.members[uid]
        member.node = node
        self.used[node] += life.gang.units
        life.placed += 1
        life.occupying += 1
        self._see_whole(life)
        self._count(life, 1)

    def evict(self, life: Life, uid: Uid) -> None:
        """Have a member leave; it is gone after its grace period."""
        member = life.members[uid]
        if member.node is None or member.is_leaving:
            return
        self._begin_to_leave(life, member)
        self._disrupt(life)

    def _begin_to_leave(self, life: Life, member: Member) -> None:
        self._count(life, -1)
        life.evicted += 1
        member.is_leaving = True
        life.placed -= 1
        self._see_whole(life)
        self._count(life, 1)
        self.scheduler.member_leaves(life, member)
        self.agenda.put(self.now + self._grace, lambda: self.remove(life, member))

    def _disrupt(self, life: Life) -> None:
        """Have the others leave as well, where a gang that lacks members goes as one."""
        if not life.is_disrupted_as_one or life.is_whole or life.started is None:
            return
        self.meter.lost += (life.gang.runs - life.left) * life.gang.need * life.gang.units
        life.left = life.gang.runs
        for member in list(life.members.values()):
            if member.node is not None and not member.is_leaving:
                self._begin_to_leave(life, member)

    def remove(self, life: Life, member: Member) -> None:
        """Take the end of a member, whose owner makes another."""
        if life.ended is not None or life.members.get(member.uid) is not member:
            return
        self._take_away(life, member)
        self._make(life, member.number)
        self._disrupt(life)

    def _take_away(self, life: Life, member: Member) -> None:
        self._count(life, -1)
        del life.members[member.uid]
        if member.node is not None:
            self.used[member.node] -= life.gang.units
            life.occupying -= 1
            life.placed -= not member.is_leaving
        if life.ended is None:
            self._see_whole(life)
        self._count(life, 1)
        self.scheduler.member_gone(life, member)

    def _see_whole(self, life: Life) -> None:
        """Take note where the gang has become whole, or is so no more."""
        if life.is_whole == (life.placed >= life.gang.need):
            return
        life.spell += 1
        if life.since is not None:
            life.left -= self.now - life.since
            life.since = None
            return
        life.since = self.now
        if life.started is None:
            life.started = self.now
        spell = life.spell
        self.agenda.put(self.now + life.left, lambda: self._end(life, spell))

    def _end(self, life: Life, spell: int) -> None:
        if life.spell != spell:
            return
        self._count(life, -1)
        life.left, life.since, life.ended = 0, None, self.now
        self._count(life, 1)
        for member in list(life.members.values()):
            self._take_away(life, member)
        self.scheduler.gang_ended(life)

    def _count(self, life: Life, times: int) -> None:
        """Count, or uncount, what the gang's members have."""
        working = life.placed * life.gang.units if life.is_whole else 0
        self._working += times * working
        self._wasted += times * (life.occupying * life.gang.units - working)

    # Whoever looks at it

    def occupants(self) -> Mapping[NodeName, list[tuple[Life, Member]]]:
        """Return who has a place where."""
        found: dict[NodeName, list[tuple[Life, Member]]] = {}
        for life, member in self._placed():
            if member.node is not None:
                found.setdefault(member.node, []).append((life, member))
        return found
