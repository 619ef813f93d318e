"""The rules of our kinds that decide what is planned and stand as CEL in their CustomResourceDefinitions."""

from collections.abc import Iterator
from typing import Any

from ganglift.offline.inventory import Asked
from ganglift.offline.kinds import OURS, group_of

Finding = tuple[str, str]


def rule_findings(asked: Asked) -> Iterator[Finding]:
    """Yield what of an object asked for breaks a rule, as field and words. The object must keep to its schema."""
    if group_of(asked.api_version) not in OURS:
        return
    spec = asked.data.get("spec", {})
    match asked.kind:
        case "PodGroup":
            yield from _policy("spec", spec)
        case "Workload":
            for number, template in enumerate(spec.get("podGroupTemplates", ())):
                yield from _policy(f"spec.podGroupTemplates[{number}]", template)
        case "Job":
            yield from _job(spec)


def _job(spec: dict[str, Any]) -> Iterator[Finding]:
    scheduling = spec.get("scheduling", {})
    if "schedulingPolicy" in scheduling:
        yield from _policy("spec.scheduling", scheduling, needs_count=False)
    policy, parallelism = scheduling.get("schedulingPolicy", {}), spec.get("parallelism", 1)
    count = policy.get("gang", {}).get("minCount", 0)
    if count > parallelism:
        words = f"minCount {count} is above parallelism {parallelism}: lower minCount or raise parallelism"
        yield "spec.scheduling.schedulingPolicy.gang.minCount", words


def _policy(path: str, scheduling: dict[str, Any], *, needs_count: bool = True) -> Iterator[Finding]:
    field, policy = f"{path}.schedulingPolicy", scheduling.get("schedulingPolicy", {})
    if "gang" not in policy and "basic" not in policy:
        yield field, "no policy is set: set gang or basic"
    elif "gang" in policy and "basic" in policy:
        yield field, "basic and gang exclude each other: remove one of them"
    elif needs_count and "gang" in policy and "minCount" not in policy["gang"]:
        yield f"{field}.gang.minCount", "is missing"
