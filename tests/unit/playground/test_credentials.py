"""Tokens, keys and kubeconfigs: new each time, complete, private."""

import base64
import stat
from pathlib import Path

import pytest
import yaml

from ganglift.playground import credentials
from ganglift.playground.state import StateDir


@pytest.fixture
def state_dir(tmp_path: Path) -> StateDir:
    state_dir = StateDir(tmp_path)
    state_dir.create()
    credentials.write_tokens(state_dir)
    credentials.write_service_account_key(state_dir)
    return state_dir


def test_only_the_administrator_and_the_kubelets_are_masters(state_dir: StateDir) -> None:
    lines = credentials.tokens_file(state_dir).read_text().splitlines()
    masters = {line.split(",")[1] for line in lines if "system:masters" in line}
    assert masters == {credentials.ADMINISTRATOR, credentials.KUBELETS}


def test_tokens_are_new_each_time(state_dir: StateDir) -> None:
    before = credentials.token_of(state_dir, credentials.SCHEDULER)
    credentials.write_tokens(state_dir)
    assert credentials.token_of(state_dir, credentials.SCHEDULER) != before


def test_secrets_are_the_users_alone(state_dir: StateDir) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state_dir.credentials.iterdir()}
    assert modes == {"tokens.csv": 0o600, "service-accounts.key": 0o600}


def test_the_key_is_a_whole_p256_key(state_dir: StateDir) -> None:
    lines = credentials.service_account_key(state_dir).read_text().splitlines()
    assert (lines[0], lines[-1]) == ("-----BEGIN EC PRIVATE KEY-----", "-----END EC PRIVATE KEY-----")
    der = base64.b64decode("".join(lines[1:-1]))
    assert der[0] == 0x30  # a sequence
    assert der[1] == len(der) - 2
    assert bytes.fromhex("2a8648ce3d030107") in der  # prime256v1


def test_the_authority_is_the_last_certificate_of_the_servers_file(state_dir: StateDir) -> None:
    own, authority = (f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n" for body in ("own", "ca"))
    state_dir.certificate.write_text(own + authority)
    credentials.write_authority(state_dir)
    assert state_dir.authority.read_text() == authority


def test_a_kubeconfig_is_complete_in_itself(state_dir: StateDir, tmp_path: Path) -> None:
    state_dir.authority.write_text("a certificate")
    path = credentials.write_kubeconfig(
        tmp_path / "kubeconfig", server="https://127.0.0.1:1", authority=state_dir.authority, user="me", token="secret"
    )
    config = yaml.safe_load(path.read_text())
    assert config["current-context"] == config["contexts"][0]["name"]
    assert config["clusters"][0]["cluster"] == {
        "server": "https://127.0.0.1:1",
        "certificate-authority-data": base64.b64encode(b"a certificate").decode(),
    }
    assert config["users"] == [{"name": "me", "user": {"token": "secret"}}]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
