"""The playgrounds that tests share, by what they differ in, and the marks that run a test on several of them."""

import pytest

from ganglift.playground.options import Component, FeatureGate, PlaygroundOptions

NEWEST = PlaygroundOptions(version="1.37.2")
OLDEST = PlaygroundOptions(version="1.34.4")
RAISED = PlaygroundOptions(version="1.37.2", request_rates=5000)

# For who asks kube-scheduler thousands of questions: nothing else acts, and it answers at once.
NEWEST_BARE = PlaygroundOptions(version="1.37.2", kubelets=False, request_rates=5000)
OLDEST_BARE = PlaygroundOptions(version="1.34.4", kubelets=False, request_rates=5000)

_TOPOLOGY = "TopologyAwareWorkloadScheduling"
NATIVE_GANGS = PlaygroundOptions(
    version="1.37.2",
    kubelets=False,
    request_rates=5000,
    native_gang_scheduling=True,
    feature_gates=tuple(FeatureGate(each, _TOPOLOGY) for each in (Component.APISERVER, Component.SCHEDULER)),
)

_ASYNC = FeatureGate(Component.SCHEDULER, "SchedulerAsyncAPICalls")
NEWEST_ASYNC = PlaygroundOptions(version="1.37.2", feature_gates=(_ASYNC,))
OLDEST_ASYNC = PlaygroundOptions(version="1.34.4", feature_gates=(_ASYNC,))


def on(**playgrounds: PlaygroundOptions) -> pytest.MarkDecorator:
    """Run a test on each of these, its `cluster` being there."""
    return pytest.mark.parametrize("cluster", playgrounds.values(), ids=playgrounds, indirect=True)


on_both_versions = on(newest=NEWEST, oldest=OLDEST)
on_both_rates = on(default_rates=NEWEST, raised_rates=RAISED)
