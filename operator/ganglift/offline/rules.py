"""The rules of our kinds that decide what is planned and stand as CEL in their CustomResourceDefinitions."""

from collections.abc import Iterator, Mapping
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
            yield from group_findings(spec)
        case "Workload":
            for number, template in enumerate(spec.get("podGroupTemplates", ())):
                path = f"spec.podGroupTemplates[{number}]"
                yield from _policy(path, template)
                yield from _choices(path, template)
        case "Job":
            yield from _job(spec)


def group_findings(spec: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what of a PodGroup's spec breaks a rule."""
    yield from _policy("spec", spec)
    yield from _choices("spec", spec)


def _job(spec: dict[str, Any]) -> Iterator[Finding]:
    scheduling = spec.get("scheduling", {})
    if "schedulingPolicy" in scheduling:
        yield from _policy("spec.scheduling", scheduling, needs_count=False)
    yield from _choices("spec.scheduling", scheduling)
    policy, parallelism = scheduling.get("schedulingPolicy", {}), spec.get("parallelism", 1)
    count = policy.get("gang", {}).get("minCount", 0)
    if count > parallelism:
        words = f"minCount {count} is above parallelism {parallelism}: lower minCount or raise parallelism"
        yield "spec.scheduling.schedulingPolicy.gang.minCount", words


def _choices(path: str, scheduling: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield where one of two must be set and both or none are."""
    mode = scheduling.get("disruptionMode")
    if mode is not None and ("single" in mode) == ("all" in mode):
        yield f"{path}.disruptionMode", "set exactly one of single and all"
    for number, claim in enumerate(scheduling.get("resourceClaims", ())):
        if ("resourceClaimName" in claim) == ("resourceClaimTemplateName" in claim):
            words = "set exactly one of resourceClaimName and resourceClaimTemplateName"
            yield f"{path}.resourceClaims[{number}]", words


def _policy(path: str, scheduling: Mapping[str, Any], *, needs_count: bool = True) -> Iterator[Finding]:
    field, policy = f"{path}.schedulingPolicy", scheduling.get("schedulingPolicy", {})
    if "gang" not in policy and "basic" not in policy:
        yield field, "no policy is set: set gang or basic"
    elif "gang" in policy and "basic" in policy:
        yield field, "basic and gang exclude each other: remove one of them"
    elif needs_count and "gang" in policy and "minCount" not in policy["gang"]:
        yield f"{field}.gang.minCount", "is missing"
