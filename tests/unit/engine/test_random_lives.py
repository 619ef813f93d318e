"""Random lives of a cluster: whatever people, nodes, schedulers and operators do, the rules hold, and all ends well.

Hypothesis makes up what happens and in which order; the auditor holds each step against the rules. In the end there is
room for everybody, and every gang that has its members must run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from tests.fakes.apiserver import Drop, Refuse
from tests.fakes.apiserver.refusals import internal_error
from tests.fakes.looptime import VirtualTimeLoop
from tests.support.fakecluster import FakeCluster
from tests.support.manifests import is_gated, job, node, node_of, pod, podgroup, pods

from ganglift.kube.resources import BATCH_JOBS, JOBS, NODES, POD_GROUPS, PODS

T = TypeVar("T")

SIZES = st.integers(1, 4)
MOMENTS = st.sampled_from([0.0, 0.001, 0.003, 0.01, 0.2, 1.5, 7.0, 70.0])
PICKS = st.integers(0, 1000)


class Life(RuleBasedStateMachine):
    """What may happen in a cluster."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
        self.made = 0
        self.gangs: dict[str, int] = {}
        self.jobs: list[str] = []
        self.cluster = self.do(self.begin())

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def begin(self) -> FakeCluster:
        cluster = await FakeCluster().__aenter__()
        cluster.auditor.slack_s = 90.0  # what the API server refuses is tried again after pauses that grow
        cluster.nodes(3)
        self.made = 3
        cluster.operator()
        return cluster

    def name(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    # People

    @rule(size=SIZES, moment=MOMENTS)
    def make_gang(self, size: int, moment: float) -> None:
        name = self.name("g")
        self.gangs[name] = size
        self.act(moment, self.cluster.add, podgroup(name, size, scheduleTimeoutSeconds=20), *pods(name, size))

    @rule(size=SIZES, is_disrupted_as_one=st.booleans(), moment=MOMENTS)
    def make_job(self, size: int, is_disrupted_as_one: bool, moment: float) -> None:
        name = self.name("j")
        self.jobs.append(name)
        made = job(name, size, scheduleTimeoutSeconds=20)
        if is_disrupted_as_one:
            made["spec"]["scheduling"]["disruptionMode"] = {"all": {}}
        self.act(moment, self.cluster.add, made)

    @rule(moment=MOMENTS)
    def make_plain_pod(self, moment: float) -> None:
        self.act(moment, self.cluster.add, pod(self.name("p")))

    @precondition(lambda self: self.gangs)
    @rule(pick=PICKS, size=SIZES, moment=MOMENTS)
    def edit_gang(self, pick: int, size: int, moment: float) -> None:
        name = sorted(self.gangs)[pick % len(self.gangs)]
        self.gangs[name] = size
        self.act(moment, self.cluster.set_min_count, name, size)

    @precondition(lambda self: self.gangs)
    @rule(pick=PICKS, moment=MOMENTS)
    def delete_gang(self, pick: int, moment: float) -> None:
        name = sorted(self.gangs)[pick % len(self.gangs)]
        del self.gangs[name]
        self.act(moment, self.cluster.delete, POD_GROUPS, name)
        for one in self.cluster.pods(name):
            self.act(0.0, self.cluster.delete, PODS, one["metadata"]["name"])

    @precondition(lambda self: self.jobs)
    @rule(pick=PICKS, moment=MOMENTS)
    def delete_job(self, pick: int, moment: float) -> None:
        self.act(moment, self.cluster.delete, JOBS, self.jobs.pop(pick % len(self.jobs)))

    @precondition(lambda self: self.jobs)
    @rule(pick=PICKS, suspended=st.booleans(), moment=MOMENTS)
    def suspend_or_resume(self, pick: int, suspended: bool, moment: float) -> None:
        name = self.jobs[pick % len(self.jobs)]
        self.act(moment, self.cluster.edit, JOBS, name, {"spec": {"suspend": suspended}})

    # Pods and nodes

    @precondition(lambda self: self.running())
    @rule(pick=PICKS, phase=st.sampled_from(["Succeeded", "Failed"]), moment=MOMENTS)
    def end_pod(self, pick: int, phase: str, moment: float) -> None:
        name = self.running()[pick % len(self.running())]
        self.act(moment, lambda: self.cluster.kubelets.end(name, phase=phase))

    @precondition(lambda self: self.names())
    @rule(pick=PICKS, moment=MOMENTS)
    def delete_pod(self, pick: int, moment: float) -> None:
        self.act(moment, self.cluster.delete, PODS, self.names()[pick % len(self.names())])

    @rule(gpus=st.integers(1, 2), moment=MOMENTS)
    def add_node(self, gpus: int, moment: float) -> None:
        self.act(moment, self.cluster.add, node(self.name("n"), gpus))

    @rule(pick=PICKS, is_closed=st.booleans(), moment=MOMENTS)
    def cordon(self, pick: int, is_closed: bool, moment: float) -> None:
        nodes = self.cluster.all(NODES)
        name = nodes[pick % len(nodes)]["metadata"]["name"]
        self.act(moment, self.cluster.edit, NODES, name, {"spec": {"unschedulable": is_closed}})

    # Programs

    @rule(moment=MOMENTS)
    def stop_scheduler(self, moment: float) -> None:
        self.act(moment, self.cluster.scheduler.stop)

    @rule(moment=MOMENTS)
    def let_scheduler_go_on(self, moment: float) -> None:
        self.act(moment, self.cluster.scheduler.go_on)

    @rule(moment=MOMENTS)
    def kill_operator(self, moment: float) -> None:
        self.do(self.cluster.operators[-1].kill())
        self.act(moment, lambda: None)
        self.act(0.0, self.cluster.operator)

    @rule(pick=PICKS, moment=MOMENTS)
    def let_requests_fail(self, pick: int, moment: float) -> None:
        effects = (Drop(), Drop(performed=True), Refuse(internal_error("etcd is away")))
        add = self.cluster.core.faults.add
        self.act(moment, lambda: add(lambda seen: seen.is_write, effects[pick % 3], times=pick % 7))

    @rule(moment=MOMENTS)
    def end_watches(self, moment: float) -> None:
        self.act(moment, self.cluster.core.end_watches)

    # How

    def act(self, moment: float, action: Callable[..., Any], *args: Any) -> None:
        """Do something, and let time pass."""

        async def work() -> None:
            action(*args)
            await asyncio.sleep(moment)

        self.do(work())
        assert self.cluster.auditor.findings == []

    def names(self) -> list[str]:
        return [one["metadata"]["name"] for one in self.cluster.all(PODS) if one["metadata"]["namespace"] == "default"]

    def running(self) -> list[str]:
        return [one["metadata"]["name"] for one in self.cluster.all(PODS) if one["status"]["phase"] == "Running"]

    # The end

    def teardown(self) -> None:
        try:
            self.do(self.end_well())
        finally:
            self.runner.close()

    async def end_well(self) -> None:
        cluster = self.cluster
        cluster.core.faults.clear()
        cluster.scheduler.go_on()
        for one in cluster.all(NODES):
            cluster.edit(NODES, one["metadata"]["name"], {"spec": {"unschedulable": False}})
        for name in self.jobs:
            if cluster.get(JOBS, name):
                cluster.edit(JOBS, name, {"spec": {"suspend": False}})
        cluster.nodes(30, gpus=8, first=1000)
        try:
            # Pauses of up to five minutes end, none is left out.
            await cluster.quiet(for_s=400, within_s=4000)
            self.check_that_all_run()
        finally:
            await cluster.__aexit__(None, None, None)

    def check_that_all_run(self) -> None:
        cluster = self.cluster
        for name in self.gangs:
            need = cluster.status(name)["need"]
            runs_or_lacks_pods = cluster.bound(name) >= need or cluster.count(name) < need
            assert runs_or_lacks_pods, f"gang {name} does not run: {cluster.condition(name)}"
        for name in self.jobs:
            child = cluster.get(BATCH_JOBS, name)
            is_over = bool(child and child["status"].get("conditions"))
            members = cluster.pods(f"{name}-workers")
            live = [one for one in members if one["status"]["phase"] not in ("Succeeded", "Failed")]
            assert is_over or all(node_of(one) and not is_gated(one) for one in live), f"Job {name} does not run"
        assert cluster.fences() == []


# The machine has event loops of its own.
@pytest.mark.parametrize("seed", [0])
def test_whatever_happens_the_rules_hold_and_all_ends_well(seed: int, full: bool) -> None:
    run_state_machine_as_test(
        Life,
        settings=settings(
            max_examples=300 if full else 12,
            stateful_step_count=40 if full else 20,
            deadline=None,
            derandomize=not full,
            suppress_health_check=list(HealthCheck),
            database=None,
            print_blob=True,
        ),
    )
