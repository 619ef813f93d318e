"""Which programs make a control plane, in which version, and how Go makes each.

Every version stands in one place, the go.mod files under `tools/`: one module for each Kubernetes minor, and
`common` for what all minors share (etcd, kwok, helm). A new minor is a new directory there, nothing else.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, Self

from ganglift.playground.errors import UnsupportedVersion

TOOLS = Path(__file__).parent / "tools"
KUBERNETES_PROGRAMS = ("kube-scheduler", "kube-controller-manager", "kube-apiserver")
SHARED_PROGRAMS = ("etcd", "kwok", "helm")
_VERSION = re.compile(r"(?<![\w.])v?(\d+)\.(\d+)\.(\d+)")


class Version(NamedTuple):
    """A release number; pre-releases are not told apart from their release."""

    major: int
    minor: int
    patch: int

    @classmethod
    def find(cls, text: str) -> Self | None:
        """The first release number in `text`, such as `Kubernetes v1.37.2` or `etcd Version: 3.7.3`."""
        found = _VERSION.search(text)
        return cls(*(int(part) for part in found.groups())) if found else None

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


@dataclass(frozen=True, slots=True)
class Program:
    """One program: where its source is, and how to know its version."""

    name: str
    version: Version
    package: str  # Go's import path of the command
    module: Path | None  # the tools module that pins it; None: this version can't be built
    ldflags: str
    version_args: tuple[str, ...]
    needs_exact_version: bool  # else a later release of the same major will do
    expected_build_s: int  # on two cores, cold

    def accepts(self, found: Version) -> bool:
        """Whether a binary of version `found` can stand in for this program."""
        if self.needs_exact_version:
            return found == self.version
        return found.major == self.version.major and found >= (*self.version[:2], 0)


# Measured on two busy cores with an empty build cache, in the order in which they are built: each finds built what it
# shares with those before it.
_EXPECTED_BUILD_S = {
    "etcd": 75,
    "kube-scheduler": 300,
    "kube-controller-manager": 230,
    "kube-apiserver": 15,
    "kwok": 85,
    "helm": 80,
}


def supported_versions() -> tuple[str, ...]:
    """The Kubernetes versions with a tools module, newest first."""
    return tuple(str(version) for version in sorted(_tools_modules(), reverse=True))


def kubernetes_version(text: str) -> Version:
    """The version that a user means by `1.37.2`, `v1.37.2` or `1.37` (that minor's tools module).

    Raises UnsupportedVersion for anything else. A full version without a tools module is let through: there may be
    binaries of it.
    """
    if (version := Version.find(text)) is not None:
        return version
    for version in _tools_modules():
        if text.removeprefix("v") == f"{version.major}.{version.minor}":
            return version
    raise UnsupportedVersion(text, supported_versions())


def programs(kubernetes: Version) -> dict[str, Program]:
    """All programs of a playground of that Kubernetes version by name, in the order in which to build them."""
    shared = {name: _shared_program(name) for name in SHARED_PROGRAMS}
    own = {name: _kubernetes_program(name, kubernetes) for name in KUBERNETES_PROGRAMS}
    return {"etcd": shared["etcd"], **own, "kwok": shared["kwok"], "helm": shared["helm"]}


def go_version_needed(module: Path) -> Version:
    """The least Go version that builds `module`, from its `go` line."""
    found = re.search(r"^go (\d+\.\d+(?:\.\d+)?)$", (module / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"{module / 'go.mod'} has no go line")
    parts = [int(part) for part in found[1].split(".")]
    return Version(parts[0], parts[1], parts[2] if len(parts) > 2 else 0)


def pinned_version(module: Path, requirement: str) -> Version:
    """The version of module `requirement` that go.mod in `module` requires."""
    found = re.search(
        rf"^\s*(?:require )?{re.escape(requirement)} v(\S+)", (module / "go.mod").read_text(), re.MULTILINE
    )
    version = Version.find(found[1]) if found else None
    if version is None:
        raise ValueError(f"{module / 'go.mod'} does not require {requirement}")
    return version


@cache
def _tools_modules() -> dict[Version, Path]:
    modules = sorted(TOOLS.glob("v*_*"))
    return {pinned_version(module, "k8s.io/kubernetes"): module for module in modules}


def _kubernetes_program(name: str, version: Version) -> Program:
    stamp = "-X k8s.io/component-base/version."
    return Program(
        name=name,
        version=version,
        package=f"k8s.io/kubernetes/cmd/{name}",
        module=_tools_modules().get(version),
        ldflags=f"-s -w {stamp}gitVersion=v{version} {stamp}gitMajor={version.major} {stamp}gitMinor={version.minor}",
        version_args=("--version",),
        needs_exact_version=True,
        expected_build_s=_EXPECTED_BUILD_S[name],
    )


def _shared_program(name: str) -> Program:
    requirement, package, version_args, stamp = {
        "etcd": ("go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", ("--version",), None),
        "kwok": ("sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok", ("--version",), None),
        # A helm built from its module only knows its minor; the stamp names the release.
        "helm": (
            "helm.sh/helm/v4",
            "helm.sh/helm/v4/cmd/helm",
            ("version", "--short"),
            "helm.sh/helm/v4/internal/version.version",
        ),
    }[name]
    module = TOOLS / "common"
    version = pinned_version(module, requirement)
    return Program(
        name=name,
        version=version,
        package=package,
        module=module,
        ldflags="-s -w" if stamp is None else f"-s -w -X {stamp}=v{version}",
        version_args=version_args,
        needs_exact_version=False,
        expected_build_s=_EXPECTED_BUILD_S[name],
    )
