"""What can go wrong with a playground, each error with the advice that ends it.

PlaygroundError
├── UnsupportedVersion    no tools module for that Kubernetes minor, and no binaries of it either
├── BinariesUnavailable   neither binaries nor a Go that could build them
├── BuildFailed           `go build` failed; carries the tail of its output
├── ComponentFailed       a component ended, or was not ready in time; carries the tail of its log
├── NotAPlayground        the state directory holds no playground
├── AlreadyRunning        the state directory holds one that runs
└── RequestFailed         the API server refused a request of the playground's own
"""

from pathlib import Path

from ganglift.base.errors import GangliftError


class PlaygroundError(GangliftError):
    """Base of all errors of the playground."""


class UnsupportedVersion(PlaygroundError):
    """There is no way to get this Kubernetes version."""

    def __init__(self, version: str, supported: tuple[str, ...]) -> None:
        super().__init__(
            f"Kubernetes {version} can't be built here: versions with a tools module are {', '.join(supported)}."
            f" Choose one of these, or set KUBEBUILDER_ASSETS to a directory with the binaries of {version}."
        )
        self.version = version
        self.supported = supported


class BinariesUnavailable(PlaygroundError):
    """A program was found nowhere and can't be built. Tests may skip, visibly, on this error alone."""

    def __init__(self, program: str, message: str) -> None:
        super().__init__(message)
        self.program = program


class BuildFailed(PlaygroundError):
    """`go build` ended with an error."""

    def __init__(self, program: str, exit_code: int, output_tail: str) -> None:
        super().__init__(
            f"Building {program} failed (go build ended with {exit_code}). The end of its output:\n{output_tail}\n"
            "Without a network Go can't fetch modules that it has not fetched before;"
            " run it again once there is one, or set KUBEBUILDER_ASSETS to a directory with ready binaries."
        )
        self.program = program
        self.exit_code = exit_code
        self.output_tail = output_tail


class ComponentFailed(PlaygroundError):
    """A component of the control plane ended by itself or did not get ready.

    `exit_code` is None when it still ran at the deadline (or is not our child, so that nobody can know).
    """

    def __init__(self, component: str, what: str, exit_code: int | None, log_tail: str) -> None:
        super().__init__(f"{component} {what}. The end of its log:\n{log_tail}")
        self.component = component
        self.exit_code = exit_code
        self.log_tail = log_tail


class NotAPlayground(PlaygroundError):
    """There is no state file, or it is not one that this version can read."""

    def __init__(self, state_dir: Path, why: str) -> None:
        super().__init__(f"{state_dir} holds no playground: {why}")
        self.state_dir = state_dir


class AlreadyRunning(PlaygroundError):
    """A playground runs there already."""

    def __init__(self, state_dir: Path) -> None:
        super().__init__(
            f"A playground already runs in {state_dir}: end it first (ganglift playground down),"
            " or give the new one another name."
        )
        self.state_dir = state_dir


class RequestFailed(PlaygroundError):
    """The API server answered with an error status."""

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        super().__init__(f"{method} {path}: {status}: {message}")
        self.method = method
        self.path = path
        self.status = status
        self.message = message
