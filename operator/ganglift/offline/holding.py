"""Who has the room that a gang lacks: pods on nodes that would do if they were empty, summed up by owner."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ganglift.api.pod import Pod
from ganglift.base.ids import Key, NodeName
from ganglift.gang.membership import bound_at
from ganglift.offline.outlook import Outlook, Survey
from ganglift.plan.holders import Holder, asked, lacking, shares
from ganglift.plan.shape import shape_of
from ganglift.plan.snapshot import Kind
from ganglift.plan.verdict import DoesNotFit, Fits

_Name = tuple[str, Kind | None, str]
"""Owner, how it holds, and of which resource."""


@dataclass(slots=True)
class _Sum:
    units: int = 0
    pods: int = 0
    nodes: set[NodeName] = field(default_factory=set)
    since: str = ""

    def add(self, units: int, node: NodeName, since: str = "") -> None:
        self.units += units
        self.pods += 1
        self.nodes.add(node)
        self.since = min(filter(None, (self.since, since)), default="")


def holders_of(survey: Survey, outlook: Outlook) -> tuple[Holder, ...]:
    """Return who holds what the group lacks: pods on nodes now, and gangs before it in the queue.

    The resource that is shortest comes first, and of each the biggest holder.
    """
    if not isinstance(outlook.verdict, DoesNotFit):
        return ()
    sums: dict[_Name, _Sum] = defaultdict(_Sum)
    _add_placed(sums, survey, outlook, outlook.verdict)
    _add_planned(sums, survey, outlook.key, outlook.verdict)
    holders = (
        Holder(who, kind, resource, found.units, found.pods, tuple(sorted(found.nodes)), found.since)
        for (who, kind, resource), found in sums.items()
    )
    shortest = outlook.verdict.hole.resource if outlook.verdict.hole is not None else ""
    return tuple(sorted(holders, key=lambda one: (one.resource != shortest, one.resource, -one.units, one.who)))


def _add_placed(sums: dict[_Name, _Sum], survey: Survey, outlook: Outlook, verdict: DoesNotFit) -> None:
    own = {pod.uid for pod in outlook.look.membership.gated}
    for share in shares(survey.snapshot, verdict, own):
        pod = survey.pod(share.uid)
        if pod is not None:
            since = bound_at(pod)
            text = since.isoformat().replace("+00:00", "Z") if since is not None else ""
            sums[_owner(survey, pod), share.kind, share.resource].add(share.units, share.node, text)


def _add_planned(sums: dict[_Name, _Sum], survey: Survey, key: Key, verdict: DoesNotFit) -> None:
    busy, resources = frozenset(verdict.busy), lacking(verdict)
    for group, pod, node in _planned_before(survey, key):
        if node in busy:
            for resource, units in asked(shape_of(pod).demand, resources):
                sums[f"PodGroup {group}", None, resource].add(units, node)


def _planned_before(survey: Survey, key: Key) -> Iterator[tuple[Key, Pod, NodeName]]:
    for group, verdict in survey.planned.verdicts.items():
        if group == key:
            return
        for place in verdict.placements if isinstance(verdict, Fits) else ():
            if (pod := survey.pod(place.uid)) is not None:
                yield group, pod, place.node


def _owner(survey: Survey, pod: Pod) -> str:
    """Return whose a pod is, as people look for it: its gang, else its controller, else itself."""
    if pod.group is not None and pod.group in survey.outlooks:
        return f"PodGroup {pod.group}"
    owner = pod.controller
    return f"{owner.kind} {pod.metadata.namespace}/{owner.name}" if owner is not None else f"Pod {pod.key}"
