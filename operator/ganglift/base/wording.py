"""Nouns, verbs and amounts in sentences, singular where there is one."""

from ganglift.base.quantity import PODS, format_units


def noun(count: int, one: str) -> str:
    """Return the noun as it stands after a number: `pod` or `pods`."""
    return one if count == 1 else f"{one}s"


def counted(count: int, one: str) -> str:
    """Return a number of things: `1 pod`, `3 pods`."""
    return f"{count} {noun(count, one)}"


def clause(count: int, one: str, does: str, do: str) -> str:
    """Return a number of things with their verb: `1 pod waits`, `3 pods wait`."""
    return f"{counted(count, one)} {does if count == 1 else do}"


def amount_of(resource: str, units: int) -> str:
    """Return how much of a resource, with its name: `12Gi memory`, `8 nvidia.com/gpu`, `1 pod`."""
    name = noun(units, "pod") if resource == PODS else resource
    return f"{format_units(resource, units)} {name}"
