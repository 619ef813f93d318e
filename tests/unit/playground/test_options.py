"""What a playground can be asked to be."""

import pytest

from ganglift.playground.catalog import Version
from ganglift.playground.errors import PlaygroundError
from ganglift.playground.options import Component, FeatureGate, PlaygroundOptions


def test_equal_options_are_one_key() -> None:
    gate = FeatureGate(Component.SCHEDULER, "SchedulerAsyncAPICalls")
    first = PlaygroundOptions(nodes=3, feature_gates=(gate,))
    assert {first: "shared"}[PlaygroundOptions(nodes=3, feature_gates=(gate,))] == "shared"


def test_a_minor_means_the_version_pinned_for_it() -> None:
    assert PlaygroundOptions(version="1.34").kubernetes == Version(1, 34, 4)


def test_without_kubelets_there_is_no_kwok() -> None:
    assert Component.KWOK not in PlaygroundOptions(kubelets=False).components


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"nodes": -1}, "can't be negative"),
        ({"gpus": -1}, "can't be negative"),
        ({"request_rates": 0}, "must be above 0"),
        ({"version": "1.34.4", "native_gang_scheduling": True}, r"needs Kubernetes 1\.37 or newer, not 1\.34\.4"),
        ({"version": "newest"}, "can't be built here"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(PlaygroundError, match=complaint):
        PlaygroundOptions(**options).kubernetes  # type: ignore[arg-type]  # noqa: B018
