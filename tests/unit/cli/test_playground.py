"""The playground's commands, as far as they go without a control plane."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from ganglift.cli.playground import app, crd_directories, directory_of
from ganglift.playground import NotAPlayground, PlaygroundError

RUN = CliRunner()


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def test_a_name_is_a_directory_of_its_own(state_home: Path) -> None:
    assert directory_of("mine") == state_home / "ganglift/playground/mine"


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc"])
def test_what_would_lead_elsewhere_is_no_name(name: str) -> None:
    with pytest.raises(PlaygroundError, match="is no name"):
        directory_of(name)


def test_the_definitions_of_our_kinds_are_found() -> None:
    (directory,) = crd_directories()
    assert len(list(directory.glob("*.yaml"))) == 3


@pytest.mark.parametrize("command", ["status", "down"])
def test_without_a_playground_there_is_nothing_to_show_or_end(command: str) -> None:
    result = RUN.invoke(app, [command])
    assert result.exit_code == 1
    assert isinstance(result.exception, NotAPlayground)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--request-rates", "fast"], "'default' or a number, not 'fast'"),
        (["--request-rates", "-1"], "must be above 0"),
        (["--kubernetes-version", "1.12"], "can't be built"),
        (["--kubernetes-version", "1.34.4", "--native"], "needs Kubernetes 1.37"),
    ],
)
def test_options_that_cannot_be_met_are_refused_before_anything_starts(
    arguments: list[str], complaint: str, state_home: Path
) -> None:
    result = RUN.invoke(app, ["up", *arguments])
    assert complaint in str(result.exception)
    assert not list(state_home.iterdir())
