"""Find the control plane's programs, and have them built where they are not found.

The order is KUBEBUILDER_ASSETS, PATH, the user's cache (`$XDG_CACHE_HOME/ganglift/playground/v<Kubernetes
version>/<program>`), Go. A binary of another version is passed over: a playground of 1.37.2 is 1.37.2 throughout.
What Go builds is put into the cache, where it is found the next time. etcd, kwok and helm are the same for every
Kubernetes version and are hard-linked.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ganglift.playground.catalog import Program, Version, go_version_needed, programs, supported_versions
from ganglift.playground.errors import BinariesUnavailable, UnsupportedVersion
from ganglift.playground.gobuild import BuildDirectory, GoToolchain
from ganglift.playground.probe import read_version
from ganglift.playground.report import Reporter, SilentReporter


@dataclass(frozen=True, slots=True)
class SearchPath:
    """The places to look in."""

    assets: Path | None  # KUBEBUILDER_ASSETS
    path: str  # PATH
    cache: Path  # holds one directory for each Kubernetes version

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "SearchPath":
        """What the user's environment says."""
        assets = environment.get("KUBEBUILDER_ASSETS")
        cache_home = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME") or Path.home(), ".cache")
        return cls(
            assets=Path(assets) if assets else None,
            path=environment.get("PATH", os.defpath),
            cache=Path(cache_home, "ganglift", "playground"),
        )


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A binary that has the right name and cannot be used, and why."""

    binary: Path
    why: str

    def __str__(self) -> str:
        return f"{self.binary} ({self.why})"


def provide(
    names: Iterable[str],
    kubernetes: Version,
    *,
    search: SearchPath | None = None,
    reporter: Reporter | None = None,
) -> dict[str, Path]:
    """The path of each program of `names`, built with Go where it is found nowhere.

    A cold build takes minutes and is reported about once a second. Raises UnsupportedVersion, BinariesUnavailable
    or BuildFailed.
    """
    search = search or SearchPath.from_environment(os.environ)
    reporter = reporter or SilentReporter()
    wanted = set(names)
    catalog = programs(kubernetes)
    return {
        name: _provide_one(program, kubernetes, search, reporter) for name, program in catalog.items() if name in wanted
    }


def find(program: Program, kubernetes: Version, search: SearchPath) -> tuple[Path | None, tuple[PassedOver, ...]]:
    """The first binary that will do, or None; and those passed over on the way."""
    passed_over: list[PassedOver] = []
    for binary in _candidates(program.name, kubernetes, search):
        found, output = read_version(binary, program)
        if found is not None and program.accepts(found):
            return binary, tuple(passed_over)
        why = f"is {found}, not {program.version}" if found else f"does not tell its version: {output}"
        passed_over.append(PassedOver(binary, why))
    return None, tuple(passed_over)


def _provide_one(program: Program, kubernetes: Version, search: SearchPath, reporter: Reporter) -> Path:
    binary, passed_over = find(program, kubernetes, search)
    for each in passed_over:
        if search.assets is not None and each.binary.parent == search.assets:
            reporter.step(f"passed over {each}")  # the user named that directory, so say why it is not used
    if binary is None:
        binary = _adopt(program, kubernetes, search)
    if binary is None:
        binary = _build(program, kubernetes, search, passed_over, reporter)
    return binary


def _candidates(name: str, kubernetes: Version, search: SearchPath) -> Iterator[Path]:
    directories = [search.assets] if search.assets else []
    directories += [Path(entry) for entry in search.path.split(os.pathsep) if entry]
    directories.append(_cache_directory(kubernetes, search))
    for directory in directories:
        binary = directory / name
        if binary.is_file() and os.access(binary, os.X_OK):
            yield binary


def _cache_directory(kubernetes: Version, search: SearchPath) -> Path:
    return search.cache / f"v{kubernetes}"


def _adopt(program: Program, kubernetes: Version, search: SearchPath) -> Path | None:
    """Take a program that all Kubernetes versions share from another version's cache directory."""
    if program.needs_exact_version:
        return None
    target = _cache_directory(kubernetes, search) / program.name
    for binary in sorted(search.cache.glob(f"v*/{program.name}")):
        found, _ = read_version(binary, program)
        if found == program.version:
            target.parent.mkdir(parents=True, exist_ok=True)
            BuildDirectory(target.parent).publish_link(binary, target)
            return target
    return None


def _build(
    program: Program,
    kubernetes: Version,
    search: SearchPath,
    passed_over: tuple[PassedOver, ...],
    reporter: Reporter,
) -> Path:
    if program.module is None:
        raise UnsupportedVersion(str(kubernetes), supported_versions())
    needed = go_version_needed(program.module)
    toolchain = GoToolchain.find(search.path)
    if toolchain is None or not toolchain.can_build(needed):
        have = "Go is not installed" if toolchain is None else f"Go is {toolchain.version}, too old,"
        advice = _advice(program, kubernetes, search, have, needed)
        raise BinariesUnavailable(program.name, "\n".join([*advice, *(f"Passed over: {each}" for each in passed_over)]))
    directory = BuildDirectory(_cache_directory(kubernetes, search))
    return toolchain.build(program, directory, reporter)


def _advice(program: Program, kubernetes: Version, search: SearchPath, have: str, needed: Version) -> list[str]:
    assets = search.assets or "not set"
    return [
        f"{program.name} {program.version} was found neither in KUBEBUILDER_ASSETS ({assets}) nor in PATH nor in"
        f" {_cache_directory(kubernetes, search)}, and {have} so it can't be built. Do one of these:",
        f"  - install Go {needed.major}.{needed.minor} or newer (https://go.dev/doc/install) and run this again;",
        f"  - put {', '.join(programs(kubernetes))} of Kubernetes {kubernetes} into a directory"
        " and set KUBEBUILDER_ASSETS to it.",
    ]
