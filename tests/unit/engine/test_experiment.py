"""The experiment: four members, room for three."""

from tests.support.fakecluster import FakeCluster
from tests.support.manifests import node, podgroup, pods


async def test_nobody_starts_without_room_for_all_and_all_do_with_it(cluster: FakeCluster) -> None:
    cluster.nodes(3)
    cluster.operator()
    cluster.add(podgroup("g", 4), *pods("g", 4))
    await cluster.until(lambda: cluster.reason("g") == "Unschedulable")
    assert "3 of 4" in cluster.condition("g")["message"]
    await cluster.stays(lambda: cluster.count("g", gated=True) == 4, for_s=60)
    cluster.add(node("n4"))
    await cluster.until(lambda: cluster.bound("g") == 4, within_s=1)
    await cluster.until(lambda: cluster.reason("g") == "Scheduled", within_s=1)
