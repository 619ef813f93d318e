"""The queue as data and as rows: who waits, in which order, for what."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ganglift.offline.outlook import Outlook, Result, Survey
from ganglift.plan.queue import no_policy_words

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """A gang that waits. `place` counts those that wait for room, from 1; None where something else keeps the gang."""

    outlook: Outlook
    place: int | None
    policy: str

    @property
    def created(self) -> str:
        made = self.outlook.look.group.metadata.creation_timestamp
        return made.strftime("%Y-%m-%dT%H:%M:%SZ") if made else ""


def standings(survey: Survey) -> tuple[Standing, ...]:
    """Return all gangs that wait: in queue order those that wait for room or are about to start, then the others."""
    found: list[Standing] = []
    for outlook in survey.waiting():
        is_queued = outlook.result in (Result.FITS, Result.DOES_NOT_FIT)
        policy = survey.exceptions.get(outlook.key.namespace, survey.policy)
        found.append(Standing(outlook, len(found) + 1 if is_queued else None, policy.value))
    return tuple(found)


def queue_data(survey: Survey, notes: Iterable[str] = ()) -> Data:
    """Return the queue for `-o json` and `-o yaml`."""
    gangs = [
        {
            "place": one.place,
            "namespace": one.outlook.key.namespace,
            "name": one.outlook.key.name,
            "priority": one.outlook.look.priority,
            "created": one.created,
            "policy": one.policy,
            "need": one.outlook.look.state.need,
            "members": one.outlook.look.state.members,
            "result": one.outlook.result.value,
            "reason": one.outlook.reason,
            "message": one.outlook.message,
        }
        for one in standings(survey)
    ]
    return {"queue": gangs, "notes": [*policy_notes(survey), *notes]}


def policy_notes(survey: Survey) -> tuple[str, ...]:
    """Return what there is to say of queue policies that do not exist."""
    return tuple(no_policy_words(name, word, survey.policy) for name, word in sorted(survey.wrong_policies.items()))
