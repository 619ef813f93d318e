"""values.schema.json refuses what the chart or the operator would not understand."""

import json
from typing import Any

import helm_python
import pytest
from pydantic import ValidationError
from tests.chart.rendering import CHART, chart, only, render

from ganglift.base.settings import Settings, load_settings

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
THE_CHARTS_OWN = {"namespace", "httpPort", "leaderElect"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"replica": 3}, "'replica' not allowed"),
        ({"replicas": -1}, "minimum: got -1"),
        ({"replicas": "two"}, "got string, want integer"),
        ({"image": {"repository": ""}}, "/image/repository"),
        ({"image": {"pullPolicy": "Sometimes"}}, "'Always', 'IfNotPresent', 'Never'"),
        ({"imagePullSecrets": ["registry"]}, "/imagePullSecrets/0"),
        ({"settings": {"maxReservd": 5}}, "'maxReservd' not allowed"),
        ({"settings": {"maxReserved": 0}}, "minimum: got 0"),
        ({"settings": {"queuePolicy": "fifo"}}, "'backfill', 'strict'"),
        ({"settings": {"backoffMax": "5 min"}}, "'5 min' does not match"),
        ({"settings": {"backoffMax": -1}}, "minimum: got -1"),
        ({"settings": {"holdFor": 0}}, "/settings/holdFor"),
        ({"settings": {"holdFor": "0s"}}, "/settings/holdFor"),
        ({"settings": {"sweepInterval": "0h0m"}}, "/settings/sweepInterval"),
        ({"settings": {"namespace": "elsewhere"}}, "'namespace' not allowed"),
        ({"settings": {"leaderElect": False}}, "'leaderElect' not allowed"),
        ({"metrics": {"port": 80}}, "minimum: got 80"),
        ({"metrics": {"serviceMonitor": {"interval": "often"}}}, "'often' does not match"),
        ({"resources": {"request": {"cpu": "1"}}}, "'request' not allowed"),
        ({"nodeSelector": {"gpu": True}}, "got boolean, want string"),
    ],
    ids=str,
)
def test_bad_value_is_refused_by_name(values: dict[str, Any], words: str) -> None:
    with pytest.raises(helm_python.HelmValuesError) as refusal:
        render(values)
    assert words in str(refusal.value)


DURATIONS: list[str | int | float] = [0, 0.5, 301, "0s", "0.5s", "5m", "1h1m"]
COMBINATIONS = [
    *({"backoffBase": base} for base in DURATIONS),
    *({"backoffMax": most} for most in DURATIONS),
    *({"backoffBase": base, "backoffMax": most} for base in DURATIONS for most in DURATIONS),
    *({name: some} for name in ("holdAfter", "holdFor", "nodeAvoid", "sweepInterval") for some in DURATIONS),
]


@pytest.mark.parametrize("settings", COMBINATIONS, ids=str)
def test_chart_takes_what_the_operator_starts_with_and_nothing_else(settings: dict[str, Any]) -> None:
    try:
        Settings.model_validate(settings)
        starts = True
    except ValidationError:
        starts = False
    assert _is_rendered({"settings": settings}) == starts


def test_settings_that_do_not_go_together_are_refused_by_name() -> None:
    words = r"settings\.backoffMax 300s is shorter than settings\.backoffBase 10m: set both"
    with pytest.raises(helm_python.HelmError, match=words):
        render({"settings": {"backoffBase": "10m"}})


def test_schema_knows_each_key_of_the_defaults() -> None:
    defaults = chart().values
    assert not _unknown(defaults, SCHEMA)


def test_schema_knows_each_setting_of_the_operator_that_is_not_the_charts() -> None:
    settings = {field.alias for field in Settings.model_fields.values()}
    assert set(SCHEMA["properties"]["settings"]["properties"]) == settings - THE_CHARTS_OWN


def test_choices_of_a_setting_are_the_operators() -> None:
    operators = Settings.model_json_schema(by_alias=True)["properties"]
    charts = SCHEMA["properties"]["settings"]["properties"]
    named = {name: spec["enum"] for name, spec in charts.items() if "enum" in spec}
    assert named == {name: spec["enum"] for name, spec in operators.items() if "enum" in spec}


@pytest.mark.parametrize("duration", ["90s", "5m", "1h30m", "0.5s", 30, 1.5])
def test_duration_is_read_by_the_operator_as_the_chart_takes_it(duration: Any, tmp_path: Any) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(only(render({"settings": {"nodeAvoid": duration}}), "ConfigMap")["data"]["config.yaml"])
    expected = Settings.model_validate({"nodeAvoid": duration}).node_avoid
    assert load_settings(config, {}, {}).node_avoid == expected


def _is_rendered(values: dict[str, Any]) -> bool:
    try:
        render(values)
    except helm_python.HelmError:
        return False
    return True


def _unknown(values: Any, schema: dict[str, Any], path: str = "") -> list[str]:
    """Keys of `values` that the schema has no word on."""
    if not isinstance(values, dict) or "properties" not in schema:
        return []
    found = []
    for key, value in values.items():
        known = schema["properties"].get(key)
        found += [f"{path}.{key}"] if known is None else _unknown(value, known, f"{path}.{key}")
    return found
