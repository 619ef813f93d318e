"""Outlooks as data for programs, and as rows for people. Verdicts are put into words by `plan.words` alone."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ganglift.base.ids import NodeName
from ganglift.base.quantity import format_units
from ganglift.base.wording import noun
from ganglift.offline.holding import holders_of
from ganglift.offline.outlook import Outlook, Result, Survey
from ganglift.plan.verdict import Behind, CauseCount, DoesNotFit, Fits, Hole, Placement, Verdict
from ganglift.plan.words import cause_words, holder_words, near_miss_words

Data = dict[str, Any]

NODES_SHOWN = 6


def report(survey: Survey, outlooks: Iterable[Outlook], notes: Iterable[str] = ()) -> Data:
    """Return all that is known, for `-o json` and `-o yaml`. docs/planning.md describes the fields."""
    gangs = [gang_data(survey, outlook) for outlook in outlooks]
    return {"allFit": all(Result(gang["result"]).is_well for gang in gangs), "gangs": gangs, "notes": list(notes)}


def gang_data(survey: Survey, outlook: Outlook) -> Data:
    """Return what is known of one group."""
    state = outlook.look.state
    return {
        "namespace": outlook.key.namespace,
        "name": outlook.key.name,
        "policy": "Gang" if state.is_gang else "Basic",
        "need": state.need,
        "members": state.members,
        "scheduled": state.scheduled,
        "priority": outlook.look.priority,
        "result": outlook.result.value,
        "reason": outlook.reason,
        "message": outlook.message,
        "placements": [_placed(survey, one) for one in outlook.placements],
        "beyondNeed": [_placed(survey, one) for one in outlook.extras],
        **_verdict_data(outlook.verdict),
        "heldBy": [holder_words(holder) for holder in holders_of(survey, outlook)],
    }


def where_or_why(outlook: Outlook, *, most_nodes: int | None = NODES_SHOWN) -> str:
    """Return the last column of the table: nodes with how many members each gets, or why there are none."""
    if outlook.result is not Result.FITS or not isinstance(outlook.verdict, Fits):
        return outlook.message
    parts = [_nodes(outlook.placements, most_nodes)]
    if outlook.extras:
        parts.append(f"{len(outlook.extras)} more on {_nodes(outlook.extras, most_nodes)}")
    if outlook.verdict.unjudged:
        parts.append(f"not judged: {', '.join(outlook.verdict.unjudged)}")
    return "; ".join(parts)


def _nodes(placements: Iterable[Placement], most: int | None) -> str:
    counts = Counter[NodeName](place.node for place in placements)
    names = sorted(counts)
    shown = [f"{name} ({counts[name]})" if counts[name] > 1 else name for name in names[:most]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more {noun(more, 'node')}" if more > 0 else "")


def _placed(survey: Survey, place: Placement) -> Data:
    pod = survey.pod(place.uid)
    placed: Data = {"pod": pod.name if pod is not None else place.uid, "node": place.node}
    return placed | ({"pins": dict(place.pins)} if place.pins else {})


def _verdict_data(verdict: Verdict | None) -> Data:
    match verdict:
        case Fits():
            return {"inSequence": verdict.in_sequence, "notJudged": list(verdict.unjudged)}
        case Behind():
            return {"behind": str(verdict.blocker)}
        case DoesNotFit():
            return _does_not_fit(verdict)
    return {}


def _does_not_fit(verdict: DoesNotFit) -> Data:
    hole, domain = verdict.hole, verdict.domain
    data: Data = {
        "fit": verdict.fit,
        "absent": verdict.absent,
        "nodes": verdict.nodes,
        "fittingNodes": verdict.fitting_nodes,
        "causes": _counts(verdict.causes),
        "closedAfter": _counts(verdict.closed),
        "nearMisses": [near_miss_words(miss) for miss in verdict.near_misses],
        "isProven": verdict.proven,
        "notJudged": list(verdict.unjudged),
    }
    if hole is not None:
        data["free"] = _hole(hole)
    if domain is not None:
        data["domain"] = {"key": domain.key, "domains": domain.domains, "holdsMost": domain.best}
    return data


def _counts(counts: Iterable[CauseCount]) -> list[Data]:
    return [
        {
            "cause": count.cause.kind.value,
            "subject": count.cause.subject,
            "nodes": count.nodes,
            "words": cause_words(count.cause),
        }
        for count in counts
    ]


def _hole(hole: Hole) -> Data:
    """Return what is free on nodes open to the members, and what is on nodes that are closed to them."""
    return {
        "resource": hole.resource,
        "asked": format_units(hole.resource, hole.asked),
        "total": format_units(hole.resource, hole.free),
        "nodes": hole.nodes,
        "largestOnOneNode": format_units(hole.resource, hole.largest),
        "closedTotal": format_units(hole.resource, hole.closed_free),
        "closedNodes": hole.closed_nodes,
    }
