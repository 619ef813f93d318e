"""Where programs are looked for, in which order, and what is said when they are nowhere."""

import os
from pathlib import Path

import pytest
from tests.unit.playground.standins import Recorder, WriteBinary, WriteGo, WriteScript

from ganglift.playground.binaries import SearchPath, provide
from ganglift.playground.catalog import Version
from ganglift.playground.errors import BinariesUnavailable, UnsupportedVersion

V = Version(1, 37, 2)


@pytest.fixture
def search(tmp_path: Path) -> SearchPath:
    return SearchPath(assets=tmp_path / "assets", path=str(tmp_path / "bin"), cache=tmp_path / "cache")


def test_kubebuilder_assets_come_first(search: SearchPath, tmp_path: Path, write_binary: WriteBinary) -> None:
    expected = write_binary(tmp_path / "assets", "kube-apiserver", "1.37.2")
    write_binary(tmp_path / "bin", "kube-apiserver", "1.37.2")
    write_binary(tmp_path / "cache/v1.37.2", "kube-apiserver", "1.37.2")
    assert provide(["kube-apiserver"], V, search=search) == {"kube-apiserver": expected}


def test_path_comes_before_the_cache(search: SearchPath, tmp_path: Path, write_binary: WriteBinary) -> None:
    expected = write_binary(tmp_path / "bin", "kube-apiserver", "1.37.2")
    write_binary(tmp_path / "cache/v1.37.2", "kube-apiserver", "1.37.2")
    assert provide(["kube-apiserver"], V, search=search) == {"kube-apiserver": expected}


def test_binaries_of_another_version_are_passed_over(
    search: SearchPath, tmp_path: Path, write_binary: WriteBinary
) -> None:
    write_binary(tmp_path / "assets", "kube-apiserver", "1.35.0")
    write_binary(tmp_path / "bin", "kube-apiserver", "1.37.1")
    expected = write_binary(tmp_path / "cache/v1.37.2", "kube-apiserver", "1.37.2")
    assert provide(["kube-apiserver"], V, search=search) == {"kube-apiserver": expected}


def test_the_user_is_told_when_an_asset_is_passed_over(
    search: SearchPath, tmp_path: Path, write_binary: WriteBinary, recorder: Recorder
) -> None:
    asset = write_binary(tmp_path / "assets", "kube-apiserver", "1.35.0")
    write_binary(tmp_path / "cache/v1.37.2", "kube-apiserver", "1.37.2")
    provide(["kube-apiserver"], V, search=search, reporter=recorder)
    assert recorder.steps == [f"passed over {asset} (is 1.35.0, not 1.37.2)"]


def test_each_program_is_looked_for_by_itself(search: SearchPath, tmp_path: Path, write_binary: WriteBinary) -> None:
    etcd = write_binary(tmp_path / "assets", "etcd", "3.7.9")
    scheduler = write_binary(tmp_path / "bin", "kube-scheduler", "1.37.2")
    assert provide(["kube-scheduler", "etcd"], V, search=search) == {"etcd": etcd, "kube-scheduler": scheduler}


def test_a_file_that_cannot_be_run_is_no_program(search: SearchPath, tmp_path: Path, write_binary: WriteBinary) -> None:
    write_binary(tmp_path / "assets", "etcd", "3.7.3").chmod(0o644)
    expected = write_binary(tmp_path / "bin", "etcd", "3.7.3")
    assert provide(["etcd"], V, search=search) == {"etcd": expected}


def test_a_program_that_all_versions_share_is_linked_from_another_versions_cache(
    search: SearchPath, tmp_path: Path, write_binary: WriteBinary
) -> None:
    shared = write_binary(tmp_path / "cache/v1.34.4", "etcd", "3.7.3")
    found = provide(["etcd"], V, search=search)["etcd"]
    assert found == tmp_path / "cache/v1.37.2/etcd"
    assert found.samefile(shared)


def test_what_is_nowhere_is_built_into_the_cache(
    search: SearchPath, tmp_path: Path, write_go: WriteGo, recorder: Recorder
) -> None:
    write_go(tmp_path / "bin", builds="1.37.2")
    found = provide(["kube-scheduler"], V, search=search, reporter=recorder)["kube-scheduler"]
    assert found == tmp_path / "cache/v1.37.2/kube-scheduler"
    assert recorder.builds[-1].is_done


def test_without_go_the_error_names_every_way_out(search: SearchPath, tmp_path: Path) -> None:
    with pytest.raises(BinariesUnavailable) as raised:
        provide(["kube-apiserver"], V, search=search)
    message = str(raised.value)
    assert f"kube-apiserver 1.37.2 was found neither in KUBEBUILDER_ASSETS ({tmp_path}/assets)" in message
    assert "Go is not installed" in message
    assert "install Go 1.26 or newer" in message
    assert (
        "put etcd, kube-scheduler, kube-controller-manager, kube-apiserver, kwok, helm of Kubernetes 1.37.2" in message
    )


def test_without_go_the_error_says_what_was_passed_over(
    search: SearchPath, tmp_path: Path, write_binary: WriteBinary, write_script: WriteScript
) -> None:
    old = write_binary(tmp_path / "assets", "kube-apiserver", "1.35.0")
    broken = write_script(tmp_path / "bin/kube-apiserver", "echo cannot execute; exit 1")
    with pytest.raises(BinariesUnavailable) as raised:
        provide(["kube-apiserver"], V, search=search)
    assert f"Passed over: {old} (is 1.35.0, not 1.37.2)" in str(raised.value)
    assert f"Passed over: {broken} (does not tell its version: cannot execute)" in str(raised.value)


def test_a_go_that_is_too_old_is_named_with_the_version_needed(
    search: SearchPath, tmp_path: Path, write_go: WriteGo
) -> None:
    write_go(tmp_path / "bin", version="go1.25.4")
    with pytest.raises(BinariesUnavailable, match=r"Go is 1\.25\.4, too old(.|\n)*install Go 1\.26 or newer"):
        provide(["kube-apiserver"], V, search=search)


def test_an_old_go_that_may_fetch_a_newer_one_builds(search: SearchPath, tmp_path: Path, write_go: WriteGo) -> None:
    write_go(tmp_path / "bin", version="go1.22.1", toolchain="auto", builds="1.37.2")
    assert provide(["kube-apiserver"], V, search=search)["kube-apiserver"].exists()


def test_a_version_without_a_tools_module_is_taken_from_assets(
    search: SearchPath, tmp_path: Path, write_binary: WriteBinary
) -> None:
    expected = write_binary(tmp_path / "assets", "kube-apiserver", "1.36.1")
    assert provide(["kube-apiserver"], Version(1, 36, 1), search=search) == {"kube-apiserver": expected}


def test_a_version_that_is_neither_there_nor_can_be_built_is_refused(
    search: SearchPath, tmp_path: Path, write_go: WriteGo
) -> None:
    write_go(tmp_path / "bin")
    with pytest.raises(UnsupportedVersion, match=r"1\.36\.1 can't be built"):
        provide(["kube-apiserver"], Version(1, 36, 1), search=search)


def test_the_environment_says_where_to_look(tmp_path: Path) -> None:
    environment = {"KUBEBUILDER_ASSETS": "/assets", "PATH": "/a:/b", "XDG_CACHE_HOME": str(tmp_path)}
    assert SearchPath.from_environment(environment) == SearchPath(
        assets=Path("/assets"), path="/a:/b", cache=tmp_path / "ganglift/playground"
    )


def test_the_cache_is_in_the_home_directory_by_default() -> None:
    search = SearchPath.from_environment({"HOME": "/home/x"})
    assert search == SearchPath(assets=None, path=os.defpath, cache=Path("/home/x/.cache/ganglift/playground"))
