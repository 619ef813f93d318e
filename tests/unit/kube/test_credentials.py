"""Where the cluster and the identity come from, and what is said when they don't."""

import base64
import json
import os
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import certifi
import pytest
import yaml
from kubernetes_asyncio.config import incluster_config
from tests.fakes.clock import VirtualClock

from ganglift.kube.credentials import Access, Credentials, Loaded, kubeconfig_paths
from ganglift.kube.errors import ConfigError


def write_kubeconfig(path: Path, user: dict[str, Any], **cluster: Any) -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1234", **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u"}},
            {"name": "two", "context": {"cluster": "c", "user": "u"}},
        ],
    }
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration but the test's own."""
    for name in (
        "KUBECONFIG",
        "KUBERNETES_SERVICE_HOST",
        "KUBERNETES_SERVICE_PORT",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


# Where it is looked for


def test_a_path_that_was_given_comes_first(tmp_path: Path) -> None:
    given = write_kubeconfig(tmp_path / "given", {})
    assert kubeconfig_paths(given, {"KUBECONFIG": "/other"}) == str(given)


def test_the_environment_comes_second(tmp_path: Path) -> None:
    named = write_kubeconfig(tmp_path / "named", {})
    assert kubeconfig_paths(None, {"KUBECONFIG": str(named)}) == str(named)


def test_the_home_directory_comes_third(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    config = write_kubeconfig(tmp_path / ".kube" / "config", {})
    assert kubeconfig_paths(None, {"HOME": str(tmp_path)}) == str(config)


def test_files_of_a_list_may_be_missing_but_one(tmp_path: Path) -> None:
    paths = os.pathsep.join(["/does/not/exist", str(write_kubeconfig(tmp_path / "there", {}))])
    assert kubeconfig_paths(None, {"KUBECONFIG": paths}) == paths


def test_a_kubeconfig_that_does_not_exist_is_named() -> None:
    with pytest.raises(ConfigError, match="--kubeconfig names /does/not/exist, which does not exist"):
        Credentials.from_environment("/does/not/exist")


def test_nothing_at_all_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match="give --kubeconfig, set KUBECONFIG, or run inside a cluster"):
        Credentials.from_environment()


@pytest.mark.parametrize(
    "content",
    ["", "just words", "[]", "{a: b}", "clusters: []\ncurrent-context: x\ncontexts: []\nusers: []", "a: [", "\t"],
    ids=["empty", "words", "list", "other map", "no such context", "bad yaml", "tab"],
)
async def test_a_file_that_is_no_kubeconfig_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(ConfigError, match=f"{path} is not a usable kubeconfig"):
        await Credentials.from_environment(path).access()


async def test_a_context_that_does_not_exist_is_named(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", {})
    with pytest.raises(ConfigError, match="three"):
        await Credentials.from_environment(path, context="three").access()


async def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", {}, **{"certificate-authority": "/no/ca.crt"})
    with pytest.raises(ConfigError, match=r"/no/ca\.crt"):
        await Credentials.from_environment(path).access()


async def test_a_certificate_that_is_none_is_refused(tmp_path: Path) -> None:
    data = base64.b64encode(b"not a certificate").decode()
    path = write_kubeconfig(tmp_path / "config", {}, **{"certificate-authority-data": data})
    with pytest.raises(ConfigError, match="its certificates can't be used"):
        await Credentials.from_environment(path).access()


async def test_a_server_that_is_no_url_is_refused(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", {}, server="localhost:6443")
    with pytest.raises(ConfigError, match="is not a URL such as https://host:6443"):
        await Credentials.from_environment(path).access()


# What is found


async def test_a_token_is_sent_as_bearer(tmp_path: Path) -> None:
    access = await Credentials.from_environment(write_kubeconfig(tmp_path / "config", {"token": "abc"})).access()
    assert (access.server, access.token) == ("https://127.0.0.1:1234", "Bearer abc")


async def test_a_token_file_may_end_in_a_newline(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    path = write_kubeconfig(tmp_path / "config", {"tokenFile": str(tmp_path / "token")})
    assert (await Credentials.from_environment(path).access()).token == "Bearer abc"


async def test_a_name_and_password_are_sent_as_basic(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", {"username": "u", "password": "p"})
    assert (await Credentials.from_environment(path).access()).token == "Basic dTpw"


async def test_certificates_are_not_checked_where_that_is_asked_for(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", {}, **{"insecure-skip-tls-verify": True})
    context = (await Credentials.from_environment(path).access()).ssl
    assert not isinstance(context, bool)
    assert not context.check_hostname


async def test_a_proxy_of_the_kubeconfig_is_used(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", {}, **{"proxy-url": "http://proxy:3128"})
    assert (await Credentials.from_environment(path).access()).proxy == "http://proxy:3128"


async def test_a_proxy_of_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    path = write_kubeconfig(tmp_path / "config", {}, server="https://api.example:6443")
    assert (await Credentials.from_environment(path).access()).proxy == "http://proxy:3128"


async def test_the_environments_exceptions_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    path = write_kubeconfig(tmp_path / "config", {})
    assert (await Credentials.from_environment(path).access()).proxy is None


# Renewal


def plugin(path: Path, token_file: Path) -> dict[str, Any]:
    """An exec plugin that prints whatever credential stands in a file."""
    path.write_text(f"#!/bin/sh\ncat {token_file}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": str(path), "interactiveMode": "Never"}}


def credential(token: str, expires: str) -> str:
    status = {"token": token, "expirationTimestamp": expires}
    kind = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    return json.dumps(kind | {"status": status})


async def test_an_exec_plugin_is_run_again_when_its_token_expires(tmp_path: Path) -> None:
    printed = tmp_path / "credential"
    printed.write_text(credential("first", "2026-11-30T12:10:00Z"))
    path = write_kubeconfig(tmp_path / "config", plugin(tmp_path / "plugin", printed))
    clock = VirtualClock()
    credentials = Credentials.from_environment(path, clock=clock)
    assert (await credentials.access()).token == "Bearer first"
    printed.write_text(credential("second", "2026-11-30T13:00:00Z"))
    clock.jump(300)
    assert (await credentials.access()).token == "Bearer first"
    clock.jump(300)
    assert (await credentials.access()).token == "Bearer second"


async def test_old_credentials_are_kept_while_new_ones_can_t_be_had(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    printed = tmp_path / "credential"
    printed.write_text(credential("first", "2026-11-30T12:10:00Z"))
    path = write_kubeconfig(tmp_path / "config", plugin(tmp_path / "plugin", printed))
    clock = VirtualClock()
    credentials = Credentials.from_environment(path, clock=clock)
    await credentials.access()
    path.write_text("")
    clock.jump(600)
    assert (await credentials.access()).token == "Bearer first"
    assert "going on with the old ones" in caplog.text


async def test_an_exec_plugin_that_is_not_there_is_named(tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/no/such/plugin"}}
    with pytest.raises(ConfigError, match="/no/such/plugin"):
        await Credentials.from_environment(write_kubeconfig(tmp_path / "config", user)).access()


async def test_many_who_met_the_same_401_read_once() -> None:
    reads = 0

    async def load() -> Loaded:
        nonlocal reads
        reads += 1
        return Loaded(Access("http://x", token=str(reads)))

    credentials = Credentials(load)
    refused = await credentials.access()
    assert [await credentials.renew(refused) for _ in range(5)] == [True] * 5
    assert reads == 2


async def test_credentials_that_stay_refused_are_not_read_all_the_time() -> None:
    reads = 0
    clock = VirtualClock()

    async def load() -> Loaded:
        nonlocal reads
        reads += 1
        return Loaded(Access("http://x"))

    credentials = Credentials(load, clock=clock)
    for _ in range(100):
        assert not await credentials.renew(await credentials.access())
    assert reads == 2


# Inside a cluster


@pytest.fixture
def service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("first")
    authority.write_text(certifi.contents())
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(authority))
    return token


async def test_inside_a_cluster_the_service_account_is_used(service_account: Path) -> None:
    access = await Credentials.from_environment().access()
    assert (access.server, access.token) == ("https://127.0.0.1:443", "Bearer first")


async def test_a_rotated_service_account_token_is_picked_up(
    service_account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incluster_config, "TOKEN_REFRESH_PERIOD", timedelta(0))
    clock = VirtualClock()
    credentials = Credentials.from_environment(clock=clock)
    first = await credentials.access()
    write(service_account, "second")
    clock.jump(60)
    second = await credentials.access()
    assert second.token == "Bearer second"
    assert second.ssl is first.ssl


async def test_an_empty_service_account_is_explained(service_account: Path) -> None:
    write(service_account, "")
    with pytest.raises(ConfigError, match="service account of this pod can't be used"):
        await Credentials.from_environment().access()


def write(path: Path, text: str) -> None:
    path.write_text(text)
