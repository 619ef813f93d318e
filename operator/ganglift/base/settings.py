"""Settings of the operator: one table, from a YAML file, then the environment, then flags; the later wins.

Durations are written like `90s`, `5m`, `1h30m` or as a number of seconds, and are seconds here.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from ganglift.base.errors import GangliftError

_PREFIX = "GANGLIFT_"
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")


class InvalidSettings(GangliftError):
    """Settings that can't be read or don't hold; the message names each field and what to write instead."""


def parse_duration(value: Any) -> Any:
    """Return seconds for `1h30m`, `5m`, `0.5s`; other values are passed on for pydantic to judge."""
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None or not any(match.groups()):
        try:
            return float(value)
        except ValueError:
            raise ValueError(f"{value!r} is not a duration: write for example 90s, 5m or 1h30m") from None
    hours, minutes, seconds = match.groups()
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0)


Seconds = Annotated[float, BeforeValidator(parse_duration), Field(ge=0, allow_inf_nan=False)]


class Settings(BaseModel):
    """Every setting of `ganglift run`, with its default."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    namespace: str = Field("ganglift-system", description="Namespace of the operator: its Lease and its fence pods.")
    queue_policy: Literal["backfill", "strict"] = Field(
        "backfill", description="Whether a smaller gang may pass a bigger one that does not fit."
    )
    max_reserved: int = Field(
        1000, ge=1, description="Most pods with a standing reservation; a bigger gang may exceed it alone."
    )
    hold_after: Seconds = Field(
        300.0, description="How long a gang waits before room is held for it on nodes that are still busy."
    )
    hold_for: Seconds = Field(1800.0, gt=0, description="How long room is held for one gang at most.")
    backoff_base: Seconds = Field(1.0, description="First wait of a gang whose start failed; doubles each time.")
    backoff_max: Seconds = Field(
        300.0, validate_default=True, description="Longest wait of a gang whose start failed; not below the first."
    )
    node_avoid: Seconds = Field(
        600.0, description="How long a node that refused two members, or was lost with one, is not chosen for gangs."
    )
    qps: float = Field(200.0, gt=0, allow_inf_nan=False, description="Sustained writes per second to the API server.")
    sweep_interval: Seconds = Field(10.0, gt=0, description="How often everything is looked at again without an event.")
    leader_elect: bool = Field(
        True, description="Take the Lease before writing anything, so that replicas can stand by."
    )
    http_port: int = Field(
        8080, ge=0, le=65535, description="Port of /healthz, /readyz and /metrics; 0 is any free one."
    )
    log_format: Literal["text", "json"] = Field("text", description="How log lines are written.")

    @field_validator("backoff_max")
    @classmethod
    def _not_below_the_first(cls, value: float, info: ValidationInfo) -> float:
        first = info.data.get("backoff_base", 0.0)
        if value < first:
            raise ValueError(f"{value:g}s is shorter than backoffBase, which is {first:g}s")
        return value


def load_settings(
    config: Path | None, flags: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> Settings:
    """Return the settings in force.

    `config` is a YAML file with camelCase keys; `flags` maps field names to values, None for a flag not given.
    Raises InvalidSettings for an unreadable file, an unknown key or a value out of range.
    """
    values: dict[str, Any] = {}
    names = {field.alias or name: name for name, field in Settings.model_fields.items()}
    origins = {name: alias for alias, name in names.items()}
    for key, value in _from_file(config).items() if config else ():
        name = names.get(key, str(key))
        values[name], origins[name] = value, f"{key} in {config}"
    variables = os.environ if environment is None else environment
    for name in Settings.model_fields:
        if (value := variables.get(variable := _PREFIX + name.upper())) is not None:
            values[name], origins[name] = value, f"{variable} in the environment"
    for name, value in flags.items():
        if value is not None:
            values[name], origins[name] = value, "--" + name.replace("_", "-")
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        problems = "; ".join(_problem(detail, origins, names) for detail in error.errors())
        raise InvalidSettings(f"settings: {problems}") from error


def _problem(detail: ErrorDetails, origins: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Say where a value stands, by the name it has there, and what is wrong with it."""
    key = str(detail["loc"][0])
    origin = origins.get(names.get(key, key), key)
    if detail["type"] == "extra_forbidden":
        return f"{origin}: there is no such setting, only {', '.join(names)}"
    words = _WORDS.get(detail["type"])
    if words is None:
        return f"{origin}: {detail['msg'].removeprefix('Value error, ')}"
    return f"{origin}: {words.format_map(detail.get('ctx', {}))}, not {detail['input']!r}"


_WORDS = {
    "literal_error": "must be {expected}",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "string_type": "must be a text",
}
"""Our words for pydantic's findings."""


def _from_file(path: Path) -> dict[Any, Any]:
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise InvalidSettings(f"settings file {path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InvalidSettings(f"settings file {path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict | None):
        raise InvalidSettings(f"settings file {path}: expected a mapping of setting to value")
    return content or {}
