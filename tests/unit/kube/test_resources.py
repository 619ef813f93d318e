"""Paths of kinds and objects."""

import pytest

from ganglift.kube.resources import BATCH_JOBS, JOBS, NODES, POD_GROUPS, PODS, Ref


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.path(), "/api/v1/pods"),
        (PODS.path("team-a"), "/api/v1/namespaces/team-a/pods"),
        (NODES.path(), "/api/v1/nodes"),
        (BATCH_JOBS.path("team-a"), "/apis/batch/v1/namespaces/team-a/jobs"),
        (PODS.ref("w-0", "team-a").path(), "/api/v1/namespaces/team-a/pods/w-0"),
        (PODS.ref("w-0", "team-a").path("status"), "/api/v1/namespaces/team-a/pods/w-0/status"),
        (NODES.ref("n1").path(), "/api/v1/nodes/n1"),
        (
            POD_GROUPS.ref("g", "team-a").path("status"),
            "/apis/scheduling.ganglift.dev/v1beta1/namespaces/team-a/podgroups/g/status",
        ),
        (PODS.ref("../nodes", "a/b").path(), "/api/v1/namespaces/a%2Fb/pods/..%2Fnodes"),
    ],
)
def test_a_path_leads_to_its_kind_or_object(path: str, expected: str) -> None:
    assert path == expected


def test_our_jobs_are_told_from_built_in_ones() -> None:
    assert (str(JOBS), str(BATCH_JOBS)) == ("jobs.batch.ganglift.dev", "jobs.batch")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PODS.ref("w-0"), "pods need a namespace"),
        (lambda: NODES.ref("n1", "team-a"), "nodes have no namespace"),
        (lambda: NODES.path("team-a"), "nodes have no namespace"),
        (lambda: NODES.ref(""), "needs a name"),
    ],
)
def test_a_place_that_cannot_be_is_refused(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=words):
        make()


def test_a_place_reads_as_users_write_it() -> None:
    assert str(PODS.ref("w-0", "team-a")) == "pods team-a/w-0"


def test_places_are_values() -> None:
    assert {PODS.ref("a", "x"), Ref(PODS, "a", "x"), PODS.ref("a", "y")} == {PODS.ref("a", "x"), PODS.ref("a", "y")}
