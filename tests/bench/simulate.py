"""The simulation: three days of 500 nodes of eight GPUs, which are asked for 85 % of their time."""

import time

from tests.bench.registry import bench

from ganglift.simulate.scenario import GPU, scenario_of
from ganglift.simulate.simulation import gangwise, podwise

OFFERS = {GPU: 8, "cpu": 192, "memory": "1920Gi"}
DAYS = {"nodes": [{"count": 500, "offers": OFFERS}], "load": {"lasts": "72h", "offered": 0.85}}


@bench("simulate/three-days-of-500-nodes", unit="s", budget=30)
def three_days() -> float:
    """Processor time to simulate them with ganglift, with all holds and preemption."""
    scenario = scenario_of("the benchmark", DAYS)
    begun = time.process_time()
    run = gangwise(scenario)
    assert run.started > run.gangs * 0.95
    return time.process_time() - begun


@bench("simulate/three-days-pod-by-pod", unit="s", budget=10)
def pod_by_pod() -> float:
    """Processor time to simulate them with kube-scheduler alone."""
    scenario = scenario_of("the benchmark", DAYS)
    begun = time.process_time()
    assert podwise(scenario).total.wasted > 0
    return time.process_time() - begun
