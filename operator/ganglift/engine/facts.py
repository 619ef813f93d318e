"""What the watches show of claims, volumes, classes and namespaces, and whom a change of it can matter to.

Such objects change all the time in a cluster where nothing waits for them, so a change is heeded where it can matter:
of a claim by the groups whose pods mount it, of what claims are bound to by groups that have any and wait, of a
namespace's labels where pods are in it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ganglift.api.model import Object
from ganglift.api.names import QUEUE_POLICY
from ganglift.api.policy import DisruptionBudget
from ganglift.api.storage import Claim, ClaimRef, CsiNode, Namespace, PersistentVolume, StorageClass, VolumeSpec
from ganglift.base.ids import Key, Uid
from ganglift.engine.mounting import Mounting
from ganglift.plan.books import Books

T = TypeVar("T", bound=Object)


class FactsListener(Protocol):
    """Who wants to know when it is time to look again."""

    def capacity_grew(self, by: Key | None = None) -> None:
        """Something that can let any group start has changed."""
        ...

    def volumes_changed(self, key: Key) -> None:
        """What the volumes of this group's pods depend on has changed, which may be what it failed on."""
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """Keeps the ledger of the books.

    `count_again` takes a new look at pods, and returns their groups once told; `has_pods` tells of a namespace whether
    there are pods in it that rules can mean.
    """

    books: Books
    mounting: Mounting
    listener: FactsListener
    count_again: Callable[[Iterable[Uid]], Iterable[Key]]
    has_pods: Callable[[str], bool]

    def replace(self, kind: type[T], objects: Iterable[T]) -> None:
        """Take a full list of a kind."""
        if self.books.ledger.replace(kind, objects):
            self.count_again(self.mounting.all())
        self.listener.capacity_grew()

    def lose(self, kind: type[Object], why: str) -> None:
        """Note that a kind can't be listed; `why` is in words for the user."""
        self.books.ledger.unknown(kind, why)
        self.listener.capacity_grew()

    def regain(self, kind: type[Object]) -> None:
        """Note that what is known of a kind is up to date again."""
        self.books.ledger.listed(kind)
        self.listener.capacity_grew()

    def put(self, one: Object) -> None:
        """Take an object that was made or changed."""
        old = self.books.ledger.known(one)
        if self.books.ledger.put(one):
            self._heed(one, old)

    def drop(self, one: Object) -> None:
        """Take the end of an object."""
        if self.books.ledger.drop(one):
            self._heed(one, one)

    def _heed(self, one: Object, old: Object | None) -> None:
        """Tell of a change; `old` is the object as it was, or the object itself at its end."""
        match one:
            case Claim():
                self._heed_claim(one, was_bound=isinstance(old, Claim) and old.is_fully_bound)
            case PersistentVolume(spec=VolumeSpec(claim_ref=ClaimRef(key=key))):
                self.count_again(self.mounting.users(key))
            case PersistentVolume() | StorageClass() | CsiNode():
                for key in self.mounting.waiting_groups():
                    self.listener.volumes_changed(key)
            case Namespace():
                has_moved = old is None or old is one or old.metadata.labels != one.metadata.labels
                has_policy = _policy_of(one) != (_policy_of(old) if old is not None and old is not one else "")
                if has_policy or (has_moved and self.has_pods(one.name)):
                    self.listener.capacity_grew()
            case DisruptionBudget():
                pass  # looked at when somebody is to be evicted
            case _:
                self.listener.capacity_grew()

    def _heed_claim(self, claim: Claim, *, was_bound: bool) -> None:
        groups = self.count_again(self.mounting.users(claim.key))
        if claim.is_fully_bound and not was_bound:
            for key in groups:
                self.listener.volumes_changed(key)


def _policy_of(namespace: Object) -> str:
    return namespace.metadata.annotations.get(QUEUE_POLICY, "")
