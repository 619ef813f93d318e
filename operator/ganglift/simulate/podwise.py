"""Decides as kube-scheduler does where nothing holds gangs together: one pod after another, each by itself.

    queue      by priority, then by creation; all that wait are tried again when a pod has gone or a node has come
    filters    the planner's, which are kube-scheduler's
    scoring    NodeResourcesFit, by what is used of all that the pod asks for; of equal nodes the first by name
    no preemption, as with classes whose preemptionPolicy is Never

So a gang may have members that have started and wait for others. Where they give up after a while, as a rendezvous
does, they leave and are made anew, at the end of the queue.
"""

import numpy as np
from numpy.typing import NDArray

from ganglift.base.ids import NodeName, Uid
from ganglift.plan.books import Books, Kind
from ganglift.plan.room import Room
from ganglift.plan.shape import Demand, Shape, shape_of
from ganglift.simulate.gangs import member_of, node_of
from ganglift.simulate.scenario import PodByPod, Pool
from ganglift.simulate.world import Life, Member, World

_SCALE = 1_000_000


class Podwise:
    """See the module."""

    def __init__(self, world: World, how: PodByPod) -> None:
        self._world = world
        self._how = how
        self._books = Books()
        self._shapes: dict[str, Shape] = {}
        self._waiting: dict[Uid, tuple[Life, Member]] = {}
        self._is_news = False
        self._half_since: dict[str, int] = {}
        """Of gangs of which some members have a place and too few: since when."""

    # What the world tells

    def node_joined(self, pool: Pool, node: NodeName) -> None:
        self._books.set_node(node_of(pool, node))
        self._is_news = True

    def node_left(self, node: NodeName) -> None:
        self._books.remove_node(node)

    def gang_came(self, life: Life) -> None:
        self._shapes[life.gang.name] = shape_of(member_of(life.gang, Uid(life.gang.name), life.gang.arrives))

    def member_made(self, life: Life, member: Member) -> None:
        self._waiting[member.uid] = (life, member)
        self._is_news = True

    def member_leaves(self, life: Life, member: Member) -> None:
        """Its place is taken until it has gone."""

    def member_gone(self, life: Life, member: Member) -> None:
        self._waiting.pop(member.uid, None)
        self._books.remove(member.uid)
        self._is_news = True
        self._see_half(life)

    def gang_ended(self, life: Life) -> None:
        del self._shapes[life.gang.name]

    # Deciding

    async def decide(self) -> None:
        if not self._is_news:
            return
        self._is_news = False
        room = Room(self._books.snapshot())
        full: set[Demand] = set()
        queue = sorted(self._waiting.values(), key=_queue_order)
        for life, member in queue:
            shape = self._shapes[life.gang.name]
            if shape.demand in full:
                continue
            node = self._best(room, shape.demand)
            if node is None:
                full.add(shape.demand)
                continue
            room.take(shape, node)
            self._bind(life, member, shape, room.snapshot.names[node])

    def _bind(self, life: Life, member: Member, shape: Shape, node: NodeName) -> None:
        del self._waiting[member.uid]
        self._books.place_shape(member.uid, shape, node, Kind.BOUND)
        self._world.place(life, member.uid, node)
        self._see_half(life)

    def _see_half(self, life: Life) -> None:
        """Let members that wait for others give up in a while."""
        name = life.gang.name
        if life.is_whole or not life.occupying or life.ended is not None:
            self._half_since.pop(name, None)
        elif name not in self._half_since and self._how.gives_up_after:
            since = self._half_since[name] = self._world.now
            self._world.agenda.put(since + round(self._how.gives_up_after), lambda: self._give_up(life, since))

    def _give_up(self, life: Life, since: int) -> None:
        if self._half_since.get(life.gang.name) != since:
            return
        for member in [member for member in life.members.values() if member.node is not None]:
            self._world.remove(life, member)

    def _best(self, room: Room, demand: Demand) -> int | None:
        capacity = room.capacity(demand)
        if not capacity.any():
            return None
        scores = np.where(capacity > 0, self._scores(room, demand), -1)
        return int(scores.argmax())

    def _scores(self, room: Room, demand: Demand) -> NDArray[np.int64]:
        columns = [room.snapshot.columns[name] for name, _ in demand.requests if name in room.snapshot.columns]
        offered = room.snapshot.allocatable[:, columns]
        used = room.used[:, columns] * _SCALE // np.maximum(offered, 1)
        scores: NDArray[np.int64] = used.sum(axis=1)
        return scores if self._how.scoring == "MostAllocated" else len(columns) * _SCALE - scores

    # What the simulation asks

    def held(self) -> int:
        return 0

    def wake_at(self) -> int | None:
        return None


def _queue_order(one: tuple[Life, Member]) -> tuple[int, int, str, int]:
    life, member = one
    return -life.gang.work.priority, member.made, life.gang.name, member.number
