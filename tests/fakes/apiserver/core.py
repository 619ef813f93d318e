"""The fake without HTTP: its state, the faults that are set, what was asked, and what is answered."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic_core import to_json
from tests.fakes.apiserver.api import OURS, Api, Target
from tests.fakes.apiserver.deletion import Collector
from tests.fakes.apiserver.discovery import discover
from tests.fakes.apiserver.faults import Distort, Effect, Faults, Refuse, Seen, on
from tests.fakes.apiserver.listing import Pager
from tests.fakes.apiserver.perform import perform
from tests.fakes.apiserver.refusals import Obj, bad_request, forbidden, not_served, unauthorized
from tests.fakes.apiserver.request import understand
from tests.fakes.apiserver.rules import AccessReviewRules
from tests.fakes.apiserver.selecting import selection
from tests.fakes.apiserver.watching import Watch

from ganglift.base.clock import Clock, SystemClock
from ganglift.kube import resources
from ganglift.kube.resources import Resource


class Core:
    """An API server that can be asked from the inside. `minor` is the Kubernetes version it behaves like."""

    def __init__(
        self,
        *,
        minor: int = 37,
        clock: Clock | None = None,
        custom: tuple[Resource, ...] = OURS,
        tokens: frozenset[str] | None = None,
        bookmark_every_s: float = 60.0,
    ) -> None:
        self.clock = clock or SystemClock()
        self.api = Api(minor=minor, clock=self.clock, custom=custom)
        self.collector = Collector(self.api)
        self.faults = Faults()
        self.watches: set[Watch] = set()
        self.seen: list[Seen] = []
        self.tokens = tokens
        """Bearer tokens that are let in; None lets everyone in."""
        self.pager = Pager(self.api)
        self.bookmark_every_s = bookmark_every_s

    @property
    def writes(self) -> list[Seen]:
        """The writes so far, dry runs aside."""
        return [seen for seen in self.seen if seen.is_write and not seen.is_dry_run]

    def add(self, *manifests: Obj) -> list[Obj]:
        """Create objects from the inside; each names its kind and, if it has one, its namespace. Returns them."""
        return [self.api.create(self._target_of(manifest), manifest).copy() for manifest in manifests]

    def end_watches(self, resource: Resource | None = None) -> None:
        """End the open watches, of one kind or of all, as the API server does now and then."""
        for watch in self.watches:
            if resource in (None, watch.resource):
                watch.end()

    def deny(self, verb: str, resource: Resource, *, subresource: str = "") -> None:
        """Refuse this verb (403), and say so when asked for access, as RBAC does."""
        rules = self.api.kinds[resources.ACCESS_REVIEWS].rules
        assert isinstance(rules, AccessReviewRules)
        rules.denied.add((verb, resource.group, resource.plural, subresource))
        refusal = forbidden(resource, "", f'User "fake" cannot {verb} resource "{resource.plural}"')
        self.faults.add(on(verb, resource, subresource=subresource), Refuse(refusal), times=None)

    def receive(
        self, *, method: str, path: str, query: Mapping[str, str], headers: Mapping[str, str], body: bytes
    ) -> tuple[Seen, Effect | None]:
        """Understand a request, note it, and look up what strikes it. Raises Refusal."""
        seen = understand(self.api, method=method, path=path, query=query, headers=headers, body=body)
        self.seen.append(seen)
        if self.tokens is not None:
            scheme, _, token = headers.get("Authorization", "").partition(" ")
            if scheme != "Bearer" or token not in self.tokens:
                raise unauthorized()
        return seen, self.faults.strike(seen)

    def answer(self, seen: Seen) -> tuple[int, bytes]:
        """Perform anything but a watch. Raises Refusal."""
        if seen.resource is not None:
            return perform(self.api, self.pager, seen)
        if seen.path in ("/healthz", "/livez", "/readyz"):
            return 200, b"ok"
        document = discover(seen.path, self.api.kinds.values(), self.api.minor)
        if document is None:
            raise not_served()
        return 200, to_json(document)

    def open_watch(self, seen: Seen, effect: Effect | None) -> Watch:
        """Raises Refusal."""
        assert seen.resource is not None
        self.api.target(seen.resource, seen.namespace)
        version = seen.query.get("resourceVersion", "")
        if version and not version.isdecimal():
            raise bad_request(f"Invalid value: {version!r}: invalid resource version")
        return Watch(
            self.api.store,
            seen.resource,
            seen.namespace,
            selection(seen.query.get("labelSelector", ""), seen.query.get("fieldSelector", "")),
            resource_version=version,
            sends_initial=seen.query.get("sendInitialEvents") == "true",
            bookmark_every_s=self.bookmark_every_s if seen.query.get("allowWatchBookmarks") == "true" else None,
            duration_s=float(seen.query.get("timeoutSeconds") or 1800),
            distort=effect if isinstance(effect, Distort) else None,
        )

    def _target_of(self, manifest: Obj) -> Target:
        wanted = (manifest["apiVersion"], manifest["kind"])
        kind = next(k for r, k in self.api.kinds.items() if (r.api_version, r.kind) == wanted)
        return Target(kind, (manifest.get("metadata") or {}).get("namespace", ""))
