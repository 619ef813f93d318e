"""Versions, and the Go tools modules that pin them."""

import re
from pathlib import Path

import pytest

from ganglift.playground.catalog import (
    TOOLS,
    Version,
    go_version_needed,
    kubernetes_version,
    pinned_version,
    programs,
    supported_versions,
)
from ganglift.playground.errors import UnsupportedVersion

KUBERNETES_MODULES = sorted(TOOLS.glob("v*_*"))
MODULES = [*KUBERNETES_MODULES, TOOLS / "common"]


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("Kubernetes v1.37.2", Version(1, 37, 2)),
        ("etcd Version: 3.7.3\nGit SHA: 1a2b3c4\nGo Version: go1.26.8", Version(3, 7, 3)),
        ("kwok version v0.8.0 go1.26.8 (linux/amd64)", Version(0, 8, 0)),
        ("v4.3.1+g12fa4b", Version(4, 3, 1)),
        ("1.34.4", Version(1, 34, 4)),
        ("command not found", None),
        ("1.37", None),
    ],
)
def test_a_version_is_found_in_what_a_program_says(said: str, version: Version | None) -> None:
    assert Version.find(said) == version


def test_both_versions_that_must_work_can_be_built() -> None:
    assert {"1.37.2", "1.34.4"} <= set(supported_versions())


@pytest.mark.parametrize("text", ["1.37.2", "v1.37.2", "1.37", "v1.37"])
def test_a_version_is_named_in_full_or_by_its_minor(text: str) -> None:
    assert kubernetes_version(text) == Version(1, 37, 2)


def test_a_full_version_without_a_tools_module_passes_as_there_may_be_binaries() -> None:
    assert kubernetes_version("1.36.1") == Version(1, 36, 1)


@pytest.mark.parametrize("text", ["1.12", "newest", ""])
def test_what_is_no_version_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(UnsupportedVersion, match=r"1\.37\.2.*KUBEBUILDER_ASSETS"):
        kubernetes_version(text)


def test_a_kubernetes_program_must_be_of_the_very_version() -> None:
    scheduler = programs(Version(1, 37, 2))["kube-scheduler"]
    assert scheduler.accepts(Version(1, 37, 2))
    assert not scheduler.accepts(Version(1, 37, 1))


@pytest.mark.parametrize(
    ("found", "is_accepted"),
    [((3, 7, 3), True), ((3, 7, 0), True), ((3, 8, 0), True), ((3, 6, 9), False), ((4, 0, 0), False)],
)
def test_of_etcd_that_minor_or_a_later_one_will_do(found: tuple[int, int, int], is_accepted: bool) -> None:
    assert programs(Version(1, 37, 2))["etcd"].accepts(Version(*found)) is is_accepted


def test_programs_of_a_version_without_a_tools_module_cannot_be_built() -> None:
    assert programs(Version(1, 36, 1))["kube-apiserver"].module is None


@pytest.mark.parametrize("module", KUBERNETES_MODULES, ids=lambda module: module.name)
def test_a_tools_module_is_named_after_its_minor(module: Path) -> None:
    version = pinned_version(module, "k8s.io/kubernetes")
    assert module.name == f"v{version.major}_{version.minor}"


@pytest.mark.parametrize("module", KUBERNETES_MODULES, ids=lambda module: module.name)
def test_every_staging_module_is_replaced_by_its_release(module: Path) -> None:
    """k8s.io/kubernetes replaces them by directories of its repository, which its module does not hold."""
    text = (module / "go.mod").read_text()
    version = pinned_version(module, "k8s.io/kubernetes")
    release = f"v0.{version.minor}.{version.patch}"
    required = set(
        re.findall(rf"^\t(k8s\.io/\S+) (?:v0\.0\.0|{re.escape(release)})(?: // indirect)?$", text, re.MULTILINE)
    )
    replaced = dict(re.findall(r"^\t(k8s\.io/\S+) => (k8s\.io/\S+ \S+)$", text, re.MULTILINE))
    assert len(required) > 20
    assert required <= set(replaced)
    assert replaced == {name: f"{name} {release}" for name in replaced}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_every_required_module_has_its_sum(module: Path) -> None:
    text, sums = (module / "go.mod").read_text(), (module / "go.sum").read_text()
    required = dict(re.findall(r"^\t(\S+) (v\S+)(?: // indirect)?$", text, re.MULTILINE))
    replaced = dict(re.findall(r"^\t\S+ => (\S+) (v\S+)$", text, re.MULTILINE))
    wanted = {name: version for name, version in (required | replaced).items() if version != "v0.0.0"}
    missing = [f"{name} {version}" for name, version in wanted.items() if f"{name} {version}/go.mod h1:" not in sums]
    unused = set(replaced) - set(required)  # replaced, as kubernetes itself does, and needed by none of our programs
    assert [each for each in missing if each.split()[0] not in unused] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_a_tools_module_names_no_registry(module: Path) -> None:
    text = (module / "go.mod").read_text() + (module / "go.sum").read_text()
    assert "proxy." not in text
    assert "://" not in text


def test_every_program_is_a_tool_of_its_module() -> None:
    for version in supported_versions():
        for program in programs(kubernetes_version(version)).values():
            assert program.module is not None
            tools = re.findall(r"^\t(\S+/\S+)$", (program.module / "go.mod").read_text(), re.MULTILINE)
            assert program.package in tools


def test_a_program_is_stamped_with_its_version() -> None:
    apiserver = programs(Version(1, 34, 4))["kube-apiserver"]
    assert "version.gitVersion=v1.34.4" in apiserver.ldflags
    assert "version.gitMinor=34" in apiserver.ldflags


def test_the_go_version_needed_is_read_from_go_mod(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module x\n\ngo 1.27\n")
    assert go_version_needed(tmp_path) == Version(1, 27, 0)
    (tmp_path / "go.mod").write_text("module x\n\ngo 1.26.3\n")
    assert go_version_needed(tmp_path) == Version(1, 26, 3)
