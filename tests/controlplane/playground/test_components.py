"""Its parts can be killed, stopped and started, and the rest goes on."""

import signal

import pytest
from tests.controlplane.playground.looks import assert_stays, await_phase, create_pod, pod
from tests.support.polling import eventually

from ganglift.playground import Component, Playground, PlaygroundError

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"


def test_without_its_scheduler_nothing_is_placed_and_with_a_new_one_it_is(playground: Playground) -> None:
    before = playground.client.get(LEASE)["spec"]["holderIdentity"]
    playground.kill("kube-scheduler")
    assert playground.status().components[Component.SCHEDULER] is None
    assert not playground.status().is_whole
    create_pod(playground)
    playground.start_component("kube-scheduler")
    await_phase(playground, "Running")
    assert playground.client.get(LEASE)["spec"]["holderIdentity"] not in {before, ""}


@pytest.mark.parametrize("component", Component)
def test_pods_run_again_soon_after_a_component_was_killed_and_started(
    playground: Playground, component: Component
) -> None:
    before = playground.status().components[component]
    playground.restart(component)
    assert playground.status().components[component] not in {before, None}
    create_pod(playground)
    await_phase(playground, "Running")


def test_a_component_that_died_for_want_of_the_api_server_comes_back_with_it(playground: Playground) -> None:
    playground.kill(Component.APISERVER)
    playground.signal(Component.SCHEDULER, signal.SIGKILL)  # as it would end by itself when its lease runs out
    eventually(lambda: playground.status().components[Component.SCHEDULER], lambda pid: pid is None, within_s=10)
    playground.start_component(Component.APISERVER)
    assert playground.status().is_whole


def test_an_orderly_stop_gives_up_the_lease(playground: Playground) -> None:
    playground.stop_component(Component.SCHEDULER)
    assert playground.client.get(LEASE)["spec"]["holderIdentity"] == ""


def test_a_stopped_scheduler_places_nothing_until_it_goes_on(playground: Playground) -> None:
    playground.signal(Component.SCHEDULER, signal.SIGSTOP)
    create_pod(playground)
    assert_stays(lambda: "nodeName" in pod(playground)["spec"], for_s=1)
    playground.signal(Component.SCHEDULER, signal.SIGCONT)
    await_phase(playground, "Running")


def test_a_component_that_does_not_run_cannot_be_signalled(playground: Playground) -> None:
    playground.kill(Component.KWOK)
    with pytest.raises(PlaygroundError, match="kwok does not run"):
        playground.signal(Component.KWOK, signal.SIGSTOP)


def test_a_components_log_can_be_read(playground: Playground) -> None:
    assert "Serving securely" in playground.log(Component.APISERVER)
