"""Kubernetes quantities as integers.

kube-scheduler sums cpu in milli-cores and everything else in whole units (bytes, devices), each request rounded up
(`Quantity.MilliValue`, `Quantity.Value` in k8s.io/apimachinery). Floats never appear: `0.1` is exactly 100 milli.
"""

import re
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

from ganglift.base.errors import GangliftError
from ganglift.base.ids import ResourceName

CPU = ResourceName("cpu")
MEMORY = ResourceName("memory")
PODS = ResourceName("pods")
EPHEMERAL_STORAGE = ResourceName("ephemeral-storage")

_SUFFIXES = {
    "n": Decimal(10) ** -9,
    "u": Decimal(10) ** -6,
    "m": Decimal(10) ** -3,
    "": Decimal(1),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
    "Pi": Decimal(2) ** 50,
    "Ei": Decimal(2) ** 60,
}
_PATTERN = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)")
_MAX = 2**63 - 1


class InvalidQuantity(GangliftError):
    """A text that is no Kubernetes quantity."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is not a quantity: write a number with an optional suffix such as m, k, Mi or Gi")
        self.text = text


def parse_quantity(text: str | int | float) -> Decimal:
    """Return the exact value of a quantity such as `100m`, `1.5Gi`, `2e3`; raise InvalidQuantity for anything else."""
    match = _PATTERN.fullmatch(str(text))
    if match is None:
        raise InvalidQuantity(str(text))
    number, exponent, suffix = match.groups()
    return Decimal(number + (exponent or "")) * _SUFFIXES[suffix or ""]


@lru_cache(maxsize=65536)
def units_of(resource: str, text: str | int | float) -> int:
    """Return a quantity in the units kube-scheduler counts that resource in: milli-cores for cpu, else whole units.

    Rounded up, capped at 2**63-1 as upstream's int64 is. Raises InvalidQuantity.
    """
    value = parse_quantity(text)
    if resource == CPU:
        value *= 1000
    return min(int(value.to_integral_value(rounding=ROUND_CEILING)), _MAX)


def format_units(resource: str, units: int) -> str:
    """Return units of a resource as people write them: `1500m` of cpu, `12Gi` of memory, `8` of a device."""
    if resource == CPU:
        return str(units // 1000) if units % 1000 == 0 else f"{units}m"
    if resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith("hugepages-"):
        for suffix in ("Ti", "Gi", "Mi", "Ki"):
            size = int(_SUFFIXES[suffix])
            if units and units % size == 0:
                return f"{units // size}{suffix}"
    return str(units)
