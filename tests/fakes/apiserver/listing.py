"""Lists in pages. A list that has more to give is remembered, so that all its pages show the same moment."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_core import to_json
from tests.fakes.apiserver.api import Api, Target
from tests.fakes.apiserver.refusals import Obj, expired
from tests.fakes.apiserver.selecting import Predicate
from tests.fakes.apiserver.store import Place, Stored


@dataclass(frozen=True)
class _Rest:
    revision: int
    items: list[Stored]


class Pager:
    """Answers list requests."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._rests: dict[str, _Rest] = {}
        self._issued = 0

    def expire(self) -> None:
        """Forget all unfinished lists: their continue tokens get 410."""
        self._rests.clear()

    def page(self, target: Target, selects: Predicate, limit: int, token: str) -> bytes:
        """Return one page as JSON. Raises Refusal (410) for a token that is no longer known."""
        if token:
            rest = self._rests.pop(token, None)
            if rest is None:
                raise expired("The provided continue parameter is too old to display a consistent list result")
        else:
            rest = _Rest(self._api.store.revision, select(self._api, target, selects))
        items, beyond = (rest.items[:limit], rest.items[limit:]) if limit else (rest.items, [])
        metadata: Obj = {"resourceVersion": str(rest.revision)}
        if beyond:
            self._issued += 1
            metadata |= {"continue": f"page-{self._issued}", "remainingItemCount": len(beyond)}
            self._rests[metadata["continue"]] = _Rest(rest.revision, beyond)
        resource = target.resource
        head = to_json({"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": metadata})
        # Only lists of custom resources repeat kind and apiVersion in each item.
        body = b",".join(stored.json if target.kind.is_custom else stored.bare for stored in items)
        return b'%s,"items":[%s]}\n' % (head[:-1], body)


def select(api: Api, target: Target, selects: Predicate) -> list[Stored]:
    """The objects of a collection in the order of their keys, as etcd gives them."""
    objects = api.store.table(target.resource).objects
    places: list[Place] = sorted(objects)
    if target.namespace:
        places = [place for place in places if place[0] == target.namespace]
    return [objects[place] for place in places if selects(objects[place].obj)]
