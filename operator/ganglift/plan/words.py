"""A verdict in words. This is the only place where that is done: status, events, metrics and `explain` all use it."""

from ganglift.base.quantity import PODS, format_units
from ganglift.plan.verdict import Behind, Cause, CauseKind, DoesNotFit, Fits, Hole, Verdict

_FIXED = {
    CauseKind.AVOIDED: "avoided after refusing pods",
    CauseKind.NOT_READY: "not ready",
    CauseKind.UNSCHEDULABLE: "unschedulable",
    CauseKind.NODE_AFFINITY: "didn't match the node selector or affinity",
    CauseKind.PORTS: "without free host ports",
    CauseKind.OUTSIDE: "outside the topology domain",
}


def words_of(verdict: Verdict) -> str:
    """Return one sentence about a verdict, without a full stop."""
    match verdict:
        case Fits(placements, unjudged):
            return _joined(f"{len(placements)} of {len(placements)} members fit", _unjudged(unjudged))
        case Behind(blocker):
            return f"waits behind {blocker}, which does not fit yet (queue policy strict)"
        case DoesNotFit():
            return _does_not_fit(verdict)


def cause_words(cause: Cause) -> str:
    """Return why a node can't take a pod, such that a count of nodes can stand before it."""
    match cause.kind:
        case CauseKind.INSUFFICIENT:
            return "too many pods" if cause.subject == PODS else f"insufficient {cause.subject}"
        case CauseKind.TAINT:
            return f"untolerated taint {cause.subject}"
    return _FIXED[cause.kind]


def _does_not_fit(verdict: DoesNotFit) -> str:
    counts = ", ".join(f"{count.nodes} {cause_words(count.cause)}" for count in verdict.causes)
    nodes = f"{verdict.nodes} {'node' if verdict.nodes == 1 else 'nodes'}"
    found = "; ".join(part for part in (counts, f"{verdict.fitting_nodes} fit") if part)
    return _joined(
        f"{verdict.fit} of {verdict.need} members fit",
        f"{nodes}: {found}" if verdict.nodes else "there are no nodes",
        _hole(verdict.hole) if verdict.hole is not None and verdict.fit < verdict.need else "",
        verdict.nearest_miss,
        "" if verdict.proven else "a plan may exist that was not found in time",
        _unjudged(verdict.unjudged),
    )


def _hole(hole: Hole) -> str:
    if hole.free == 0:
        return f"no {hole.resource} free"
    free, largest = format_units(hole.resource, hole.free), format_units(hole.resource, hole.largest)
    nodes = "node" if hole.nodes == 1 else "nodes"
    return f"{free} {hole.resource} free on {hole.nodes} {nodes}, largest hole {largest}"


def _unjudged(unjudged: tuple[str, ...]) -> str:
    return f"not judged: {'; '.join(unjudged)}" if unjudged else ""


def _joined(first: str, *rest: str) -> str:
    parts = [part for part in rest if part]
    return f"{first}: {'; '.join(parts)}" if parts else first
