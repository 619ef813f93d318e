"""A verdict in words. This is the only place where that is done: status, events, metrics and `explain` all use it."""

from collections.abc import Sequence

from ganglift.base.ids import NodeName
from ganglift.base.quantity import PODS, format_units
from ganglift.base.wording import amount_of, clause, counted, noun
from ganglift.plan.holders import Holder
from ganglift.plan.snapshot import Kind
from ganglift.plan.verdict import (
    Behind,
    Cause,
    CauseCount,
    CauseKind,
    DoesNotFit,
    DomainMiss,
    Fits,
    FreeUp,
    Hole,
    Label,
    MoreNodes,
    NearMiss,
    Tolerate,
    Uncordon,
    Verdict,
)

_CAUSES = {
    CauseKind.AVOIDED: "avoided after refusing or losing pods",
    CauseKind.NOT_READY: "not ready",
    CauseKind.UNSCHEDULABLE: "unschedulable",
    CauseKind.TAINT: "untolerated taint {}",
    CauseKind.NODE_AFFINITY: "didn't match the node selector or affinity",
    CauseKind.PORTS: "without free host ports",
    CauseKind.INSUFFICIENT: "insufficient {}",
    CauseKind.DISK: "with a disk in use that only one pod may mount",
    CauseKind.CLAIM: "{}",
    CauseKind.CLAIM_IN_USE: "claim {} is in use by another pod",
    CauseKind.VOLUME_LIMIT: "with too many volumes",
    CauseKind.VOLUME_AFFINITY: "out of reach of volume {}",
    CauseKind.VOLUME_ZONE: "not in the zone of volume {}",
    CauseKind.NO_LABEL: "without label {}",
    CauseKind.SPREAD: "would break the spread over {}",
    CauseKind.AFFINITY: "not near the pods asked for, by {}",
    CauseKind.ANTI_AFFINITY: "kept apart by anti-affinity over {}",
    CauseKind.DOMAIN: "in other domains of {}",
}
_MOST_NAMED = 3
_HOLDING = {
    Kind.BOUND: "bound",
    Kind.TERMINATING: "terminating",
    Kind.LIFTED: "being bound",
    Kind.ASSUMED: "being reserved",
    Kind.RESERVED: "reserved",
    Kind.PINNED: "that can go there only",
}


def words_of(verdict: Verdict) -> str:
    """Return one sentence about a verdict, without a full stop."""
    match verdict:
        case Fits():
            count = len(verdict.placements)
            return _joined(_fit_words(count, count), unjudged_words(verdict.unjudged))
        case Behind(blocker):
            return f"waits behind {blocker}, which does not fit yet (queue policy strict)"
        case DoesNotFit():
            return _does_not_fit(verdict)


def cause_words(cause: Cause) -> str:
    """Return why a node can't take a pod, such that a count of nodes can stand before it."""
    if cause == Cause(CauseKind.INSUFFICIENT, PODS):
        return "too many pods"
    return _CAUSES[cause.kind].format(cause.subject)


def near_miss_words(*misses: NearMiss) -> str:
    """Return what would make the gang fit: any one of these."""
    return f"would fit {' or '.join(map(_change, misses))}" if misses else ""


def _change(miss: NearMiss) -> str:
    match miss:
        case MoreNodes():
            return _more_nodes(miss)
        case FreeUp(resource, units, node):
            return f"if {amount_of(resource, units)} on {node} {'frees' if units == 1 else 'free'} up"
        case Tolerate(taint, nodes):
            return f"if the pods tolerate {taint}, which {clause(nodes, 'node', 'has', 'have')}"
        case Uncordon(names):
            return f"if {_these(names)} uncordoned"
        case Label(labels, names):
            return f"if {_these(names)} labelled {_labels(labels)}"


def _more_nodes(miss: MoreNodes) -> str:
    nodes = "one more node that has" if miss.count == 1 else f"{miss.count} more nodes that each have"
    amounts = _list([amount_of(name, units) for name, units in miss.requests])
    labels = f", labelled {_labels(miss.labels)}" if miss.labels else ""
    affinity = ", as the pods' node affinity asks" if miss.by_affinity else ""
    return f"with {nodes} {amounts} free{labels}{affinity}"


def _these(names: tuple[NodeName, ...]) -> str:
    """Name nodes, the first few of many, with the verb that is to follow."""
    rest = len(names) - _MOST_NAMED
    shown = [*names[:_MOST_NAMED], *([f"{rest} more {noun(rest, 'node')}"] if rest > 0 else [])]
    return f"{_list(shown)} {'is' if len(names) == 1 else 'are'}"


def _labels(labels: tuple[tuple[str, str], ...]) -> str:
    return _list([f"{key}={value}" for key, value in labels])


def _list(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def fit_words(verdict: DoesNotFit) -> str:
    """Return how many members fit."""
    return _fit_words(verdict.fit, verdict.need)


def _fit_words(fit: int, need: int) -> str:
    return f"{fit} of {clause(need, 'member', 'fits', 'fit')}"


def hints_of(verdict: DoesNotFit) -> tuple[str, ...]:
    """Return what there is to say beside the counts over nodes: what is free, what would help, what is not certain."""
    hints = (
        _domain(verdict.domain),
        _hole(verdict.hole),
        near_miss_words(*verdict.near_misses),
        f"{verdict.absent} more must exist" if verdict.absent else "",
        "" if verdict.proven else "a plan may exist that was not found in the work allowed",
        unjudged_words(verdict.unjudged),
    )
    return tuple(filter(None, hints))


def holder_words(holder: Holder) -> str:
    """Return who holds how much, how and since when."""
    nodes = holder.nodes[0] if len(holder.nodes) == 1 else counted(len(holder.nodes), "node")
    amount = amount_of(holder.resource, holder.units)
    if holder.kind is None:
        return f"{holder.who}, before it in the queue, is to get {amount} on {nodes}"
    pods = counted(holder.pods, "pod")
    since = f" since {holder.since}" if holder.since else ""
    return f"{holder.who} holds {amount} on {nodes}: {pods} {_HOLDING[holder.kind]}{since}"


def _does_not_fit(verdict: DoesNotFit) -> str:
    return _joined(fit_words(verdict), _counts(verdict), *hints_of(verdict))


def _counts(verdict: DoesNotFit) -> str:
    if not verdict.nodes:
        return "there are no nodes"
    fitting = ", after that ".join(filter(None, (f"{verdict.fitting_nodes} fit", counts_words(verdict.closed))))
    found = "; ".join(filter(None, (counts_words(verdict.causes), fitting)))
    return f"{counted(verdict.nodes, 'node')}: {found}"


def counts_words(counts: Sequence[CauseCount]) -> str:
    """Return how many nodes have which cause against them."""
    return ", ".join(f"{count.nodes} {cause_words(count.cause)}" for count in counts)


def _domain(miss: DomainMiss | None) -> str:
    if miss is None:
        return ""
    if not miss.domains:
        return f"no node has the label {miss.key}"
    return f"no domain of {miss.key} holds the gang, {miss.best} holds most of it"


def _hole(hole: Hole | None) -> str:
    if hole is None:
        return ""
    told = f"{amount_of(hole.resource, hole.free) if hole.free else f'no {hole.resource}'} free"
    if hole.free:
        told += f" on {counted(hole.nodes, 'node')}"
    if hole.closed_free:
        told += " open to it" if hole.free else " on nodes open to it"
    if hole.free:
        told += f", largest hole {format_units(hole.resource, hole.largest)}"
    if hole.closed_free:
        closed = format_units(hole.resource, hole.closed_free)
        told += f", {closed} free on {hole.closed_nodes} other {noun(hole.closed_nodes, 'node')}"
    return told


def unjudged_words(unjudged: tuple[str, ...]) -> str:
    """Return what the planner has no rule for, empty if there is nothing."""
    return f"not judged: {'; '.join(unjudged)}" if unjudged else ""


def _joined(first: str, *rest: str) -> str:
    parts = [part for part in rest if part]
    return f"{first}: {'; '.join(parts)}" if parts else first
