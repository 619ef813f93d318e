"""One group or one pod, in words: how it stands, what the planner says, why, and who has the room that is lacking."""

from collections.abc import Iterable, Iterator

from ganglift.api.pod import Pod
from ganglift.api.scheduling import PodGroup
from ganglift.base.ids import Key
from ganglift.base.wording import clause, counted
from ganglift.gang.membership import blocked_by
from ganglift.gang.outcome import listed
from ganglift.gang.reasons import ConditionType
from ganglift.gang.remarks import lost_words
from ganglift.gang.split import belongs
from ganglift.offline.holding import holders_of
from ganglift.offline.outlook import Outlook, Survey
from ganglift.offline.report import where_or_why
from ganglift.plan.verdict import DoesNotFit, Fits
from ganglift.plan.words import cause_words, fit_words, hints_of, holder_words

HOLDERS_SHOWN = 10


def group_lines(survey: Survey, outlook: Outlook) -> Iterator[str]:
    """Yield the lines that explain a group."""
    look, state = outlook.look, outlook.look.state
    yield f"PodGroup {outlook.key}: {outlook.result}"
    if state.is_gang:
        counts = f"{state.members} exist, {state.scheduled} bound"
        yield f"  {state.need} must run together ({counts}), priority {look.priority}{_queue_words(survey, outlook)}"
    if isinstance(outlook.verdict, DoesNotFit):
        yield from _verdict_lines(survey, outlook, outlook.verdict)
    elif isinstance(outlook.verdict, Fits):
        yield f"  {outlook.message}"
        yield f"  on {where_or_why(outlook, most_nodes=None)}"
    else:
        yield f"  {outlook.reason}: {outlook.message}"
    yield from _operator_lines(look.group, outlook)


def pod_lines(pod: Pod, outlook: Outlook | None) -> Iterator[str]:
    """Yield the lines that explain a pod, before those of its group, if it has one."""
    if pod.group is None and pod.has_gate:
        yield f"Pod {pod.key}: {lost_words(pod)}"
    elif pod.group is None:
        yield f"Pod {pod.key} is no member of a gang: it has no label that names a PodGroup"
    elif outlook is None:
        yield f"Pod {pod.key} names PodGroup {pod.group}, which does not exist: create it or correct the label"
    else:
        yield f"Pod {pod.key} {_standing_words(pod, outlook)}"


def missing_group_words(pods: Iterable[Pod], key: Key) -> str:
    """Return what there is to say of pods that name a group that does not exist; empty where there are none."""
    naming = sorted(pod.name for pod in pods if pod.group == key and pod.has_gate and not pod.is_deleting)
    if not naming:
        return ""
    words = f"{clause(len(naming), 'pod', 'names', 'name')} it"
    return f"{words} and can't start without it: {listed(tuple(naming))}; create it, or correct the label"


def _verdict_lines(survey: Survey, outlook: Outlook, verdict: DoesNotFit) -> Iterator[str]:
    yield f"  {fit_words(verdict)}"
    if verdict.nodes:
        width = len(str(verdict.nodes))
        yield f"  of {counted(verdict.nodes, 'node')}:"
        for count in verdict.causes:
            yield f"    {count.nodes:>{width}} {cause_words(count.cause)}"
        yield f"    {verdict.fitting_nodes:>{width}} fit"
        for count in verdict.closed:
            yield f"    {count.nodes:>{width}} after that {cause_words(count.cause)}"
    else:
        yield "  there are no nodes"
    for hint in hints_of(verdict):
        yield f"  {hint}"
    holders = holders_of(survey, outlook)
    for holder in holders[:HOLDERS_SHOWN]:
        yield f"  {holder_words(holder)}"
    if (more := len(holders) - HOLDERS_SHOWN) > 0:
        yield f"  and {more} more {'holds' if more == 1 else 'hold'} room there"


def _queue_words(survey: Survey, outlook: Outlook) -> str:
    waiting = list(survey.planned.verdicts)
    if outlook.key not in waiting:
        return ""
    return f", number {waiting.index(outlook.key) + 1} of {len(waiting)} in the queue"


def _operator_lines(group: PodGroup, outlook: Outlook) -> Iterator[str]:
    """Say what the operator's status says where that is something else."""
    condition = group.condition(ConditionType.SCHEDULED)
    if condition is None:
        yield "  the operator has not said anything of it yet: does it run?"
    elif condition.message != outlook.message:
        since = condition.last_transition_time
        at = f" since {since.isoformat().replace('+00:00', 'Z')}" if since is not None else ""
        yield f"  the operator's status says {condition.reason}{at}: {condition.message}"


def _standing_words(pod: Pod, outlook: Outlook) -> str:
    """Return what a pod is to its group."""
    membership = outlook.look.membership
    node = next((place.node for place in (*outlook.placements, *outlook.extras) if place.uid == pod.uid), None)
    kept = blocked_by(pod)
    words: tuple[tuple[tuple[Pod, ...], str], ...] = (
        (membership.gated, f"waits behind its gate, and is to go to {node}" if node else "waits behind its gate"),
        (membership.blocked, f"can't be counted on: {kept[1]}" if kept else ""),
        (membership.lifted, f"has been released{f', with room on {pod.nominated}' if pod.nominated else ''}"),
        (membership.bound, f"is bound to {pod.spec.node_name}"),
        (membership.leaving, "is being deleted: gone for the count, its room is still taken"),
        (membership.succeeded, "has succeeded"),
        (membership.failed, "has failed"),
        (membership.surplus, "is one too many for its completion index, or has one that its Job lacks: never released"),
        *(
            ((stranger.pod,), f"bears the label and is no member: {stranger.message}")
            for stranger in membership.strangers
        ),
    )
    return next((text for pods, text in words if any(one.uid == pod.uid for one in pods)), "is counted in none")


def group_of_pod(survey: Survey, pod: Pod) -> Outlook | None:
    """Return the group that a pod belongs to: the part, where its group is split by a label."""
    return next((outlook for outlook in survey.outlooks.values() if belongs(pod, outlook.look.group)), None)
