"""Settings: which source wins, and what is said of a wrong one."""

from pathlib import Path
from typing import Any

import pytest

from ganglift.base.settings import InvalidSettings, Settings, load_settings


def config(at: Path, text: str) -> Path:
    path = at / "config.yaml"
    path.write_text(text)
    return path


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = config(tmp_path, "maxReserved: 1\nqps: 1\nhttpPort: 1\n")
    environment = {"GANGLIFT_QPS": "2", "GANGLIFT_HTTP_PORT": "2"}
    settings = load_settings(file, {"http_port": 3, "qps": None}, environment)
    assert settings == Settings(max_reserved=1, qps=2, http_port=3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("queuePolicy: fifo", "must be 'backfill' or 'strict', not 'fifo'"),
        ("maxReserved: 0", "must be at least 1, not 0"),
        ("maxReserved: many", "must be a whole number, not 'many'"),
        ("maxReserved: 1.5", "must be a whole number, not 1.5"),
        ("maxReserved: []", "must be a whole number, not []"),
        ("httpPort: 65536", "must be at most 65535, not 65536"),
        ("qps: 0", "must be more than 0, not 0"),
        ("qps: fast", "must be a number, not 'fast'"),
        ("qps: .inf", "must be a finite number, not inf"),
        ("qps: []", "must be a number, not []"),
        ("leaderElect: perhaps", "must be true or false, not 'perhaps'"),
        ("leaderElect: []", "must be true or false, not []"),
        ("namespace: 5", "must be a text, not 5"),
        ("holdAfter: -5", "must be at least 0, not -5"),
        ("holdAfter: -5m", "'-5m' is not a duration: write for example 90s, 5m or 1h30m"),
        ("holdFor: 0", "must be more than 0, not 0"),
        ("nodeAvoid: soon", "'soon' is not a duration: write for example 90s, 5m or 1h30m"),
        ("nodeAvoid: -1", "must be at least 0, not -1"),
        ("nodeAvoid: .nan", "must be at least 0, not nan"),
        ("backoffMax: 500ms", "'500ms' is not a duration: write for example 90s, 5m or 1h30m"),
        ("backoffMax: 0.5s", "0.5s is shorter than backoffBase, which is 1s"),
    ],
)
def test_a_wrong_value_is_named_as_in_the_file_with_what_it_must_be(text: str, words: str, tmp_path: Path) -> None:
    file = config(tmp_path, text)
    key = text.partition(":")[0]
    with pytest.raises(InvalidSettings) as refusal:
        load_settings(file, {}, {})
    assert str(refusal.value) == f"settings: {key} in {file}: {words}"


@pytest.mark.parametrize(
    ("flags", "environment", "words"),
    [
        ({"queue_policy": "fifo"}, {}, "--queue-policy: must be"),
        ({}, {"GANGLIFT_QUEUE_POLICY": "fifo"}, "GANGLIFT_QUEUE_POLICY in the environment: must be"),
        ({"backoff_base": "10m"}, {}, "backoffMax: 300s is shorter than backoffBase, which is 600s"),
    ],
)
def test_a_wrong_value_is_named_as_in_its_source(
    flags: dict[str, Any], environment: dict[str, str], words: str
) -> None:
    with pytest.raises(InvalidSettings) as refusal:
        load_settings(None, flags, environment)
    assert str(refusal.value).startswith(f"settings: {words}")


@pytest.mark.parametrize("key", ["maxReservd", "5"])
def test_an_unknown_setting_is_answered_with_the_known_ones(key: str, tmp_path: Path) -> None:
    file = config(tmp_path, f"{key}: 1")
    with pytest.raises(InvalidSettings) as refusal:
        load_settings(file, {}, {})
    assert f"{key} in {file}: there is no such setting, only namespace, queuePolicy, maxReserved" in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [("a: b: c", "config.yaml is not YAML: "), ("[]", "config.yaml: expected a mapping of setting to value")],
)
def test_a_file_of_another_form_is_refused(text: str, words: str, tmp_path: Path) -> None:
    file = config(tmp_path, text)
    with pytest.raises(InvalidSettings) as refusal:
        load_settings(file, {}, {})
    assert words in str(refusal.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings) as refusal:
        load_settings(tmp_path / "none.yaml", {}, {})
    assert str(refusal.value) == f"settings file {tmp_path / 'none.yaml'}: No such file or directory"
