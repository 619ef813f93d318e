"""Our schemas against the live OpenAPI of a Kubernetes 1.37.2 API server with the native API on.

Every upstream field is in ours with the same type, or is listed with a reason in crds/upstream-differences.toml; and
that list has no entry that nothing needs any more.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pytest
from tests.support.crd_schema import Difference, Field, differences, fields, root_schema
from tests.support.kubectl import Kubectl

from ganglift.playground import Playground, PlaygroundOptions

DOCUMENTS = {
    "Workload": ("/openapi/v3/apis/scheduling.k8s.io/v1beta1", "io.k8s.api.scheduling.v1beta1.Workload"),
    "PodGroup": ("/openapi/v3/apis/scheduling.k8s.io/v1beta1", "io.k8s.api.scheduling.v1beta1.PodGroup"),
    "Job": ("/openapi/v3/apis/batch/v1", "io.k8s.api.batch.v1.Job"),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """The fields of one kind, upstream's and ours."""

    kind: str
    upstream: Mapping[str, Field]
    ours: Mapping[str, Field]

    def listed(self, table: str) -> list[Difference]:
        """The entries of a table of differences that are about this kind."""
        return [entry for entry in differences(table) if entry.kind == self.kind]

    def missing(self) -> list[str]:
        """Upstream's fields that ours lacks."""
        return [path for path in self.upstream if path not in self.ours]

    def extra(self) -> list[str]:
        """Our fields that upstream lacks."""
        return [path for path in self.ours if path not in self.upstream]


@pytest.fixture(scope="module")
def kubectl() -> Iterator[Kubectl]:
    with Playground.start(PlaygroundOptions(kubelets=False, native_gang_scheduling=True)) as playground:
        yield Kubectl(playground.kubeconfig)


@pytest.fixture(params=DOCUMENTS)
def pair(request: pytest.FixtureRequest, kubectl: Kubectl) -> Pair:
    kind: str = request.param
    url, name = DOCUMENTS[kind]
    components = json.loads(kubectl.run("get", "--raw", url).words)["components"]["schemas"]
    return Pair(kind, fields(components[name], components), fields(root_schema(kind)))


def test_upstream_is_seen_whole(pair: Pair) -> None:
    telling = {
        "Workload": "spec.podGroupTemplates[].schedulingPolicy.gang.minCount",
        "PodGroup": "status.conditions[].reason",
        "Job": "spec.scheduling.schedulingPolicy.gang.minCount",
    }
    assert telling[pair.kind] in pair.upstream


def test_every_upstream_field_is_ours_or_left_out_with_a_reason(pair: Pair) -> None:
    listed = pair.listed("left-out")
    assert [path for path in pair.missing() if not any(entry.covers(path) for entry in listed)] == []


def test_fields_of_one_name_have_one_type(pair: Pair) -> None:
    other = {
        path: (pair.upstream[path].type, pair.ours[path].type)
        for path in pair.ours.keys() & pair.upstream.keys()
        if (pair.upstream[path].type, pair.upstream[path].format) != (pair.ours[path].type, pair.ours[path].format)
    }
    assert other == {}


def test_lists_are_merged_as_upstream_or_listed_as_changed(pair: Pair) -> None:
    changed = {entry.path for entry in pair.listed("changed")}
    other = [
        path
        for path in pair.ours.keys() & pair.upstream.keys()
        if path not in changed and pair.upstream[path] != pair.ours[path]
    ]
    assert other == []


def test_every_field_of_our_own_is_listed(pair: Pair) -> None:
    listed = pair.listed("added")
    assert [path for path in pair.extra() if not any(entry.covers(path) for entry in listed)] == []


def test_no_entry_is_stale(pair: Pair) -> None:
    missing, extra = pair.missing(), pair.extra()
    stale = [entry.path for entry in pair.listed("left-out") if not any(entry.covers(path) for path in missing)]
    stale += [entry.path for entry in pair.listed("added") if not any(entry.covers(path) for path in extra)]
    assert stale == []
