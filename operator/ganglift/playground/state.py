"""A playground's directory, and the one file in it by which any process finds the playground again.

state.json      options, ports, binaries, processes (0600; replaced as a whole, so a reader never sees half of it)
lock            held by whoever changes the playground
kubeconfig      the administrator's
credentials/    tokens, the API server's certificate, the service accounts' key
config/         what the components read
logs/           one file for each component
etcd/           the data
"""

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from ganglift.playground.errors import NotAPlayground
from ganglift.playground.options import Component, PlaygroundOptions
from ganglift.playground.process import ProcessId, is_running

_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Where the components listen, all on 127.0.0.1."""

    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int
    kwok: int


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that is known of a playground outside its API server."""

    format: int = _FORMAT
    id: str  # tells it from a later playground in the same directory
    options: PlaygroundOptions
    ports: Ports
    binaries: Mapping[str, Path]
    processes: Mapping[Component, ProcessId] = field(default_factory=dict)

    def with_process(self, component: Component, process: ProcessId | None) -> "State":
        """The same playground with `component` run by `process`, or by none."""
        others = {name: each for name, each in self.processes.items() if name is not component}
        return replace(self, processes=others if process is None else {**others, component: process})

    @property
    def running(self) -> tuple[Component, ...]:
        """The components whose processes are there."""
        return tuple(name for name, process in self.processes.items() if is_running(process))


_STATES = TypeAdapter(State)


@dataclass(frozen=True, slots=True)
class StateDir:
    """The directory; paths only, nothing is cached."""

    path: Path

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.path / "kubeconfig"

    @property
    def credentials(self) -> Path:
        return self.path / "credentials"

    @property
    def certificate(self) -> Path:
        """What the API server serves with; it made the file, and the key beside it, itself."""
        return self.credentials / "apiserver.crt"

    @property
    def authority(self) -> Path:
        """The certificate that signed the API server's."""
        return self.credentials / "authority.crt"

    @property
    def config(self) -> Path:
        return self.path / "config"

    @property
    def etcd_data(self) -> Path:
        return self.path / "etcd"

    def log(self, component: Component) -> Path:
        """The log of one component, from the first start to the last."""
        return self.path / "logs" / f"{component}.log"

    def create(self) -> None:
        """Make the directory anew, private to the user. Raises NotAPlayground where it holds other files."""
        if self.path.exists() and not (self.path / "state.json").exists() and set(_names(self.path)) - {"lock", "logs"}:
            raise NotAPlayground(self.path, "the directory holds other files; choose an empty or a new one")
        self.clear()
        for directory in (self.path, self.credentials, self.config, self.path / "logs"):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def clear(self, *, keep_logs: bool = False) -> None:
        """Remove all that a playground leaves, but the lock, which its holder may hold."""
        kept = {"lock", "logs"} if keep_logs else {"lock"}
        for name in set(_names(self.path)) - kept:
            each = self.path / name
            if each.is_dir():
                shutil.rmtree(each)
            else:
                each.unlink()

    def remove(self) -> None:
        """Remove the directory itself."""
        shutil.rmtree(self.path, ignore_errors=True)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the playground against other processes; ends with this process at the latest."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(self.path / "lock", os.O_WRONLY | os.O_CREAT, 0o600), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def read(self) -> State:
        """The playground's state. Raises NotAPlayground."""
        try:
            content = (self.path / "state.json").read_bytes()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotAPlayground(self.path, "there is no state.json") from error
        try:
            if json.loads(content).get("format") != _FORMAT:
                raise NotAPlayground(self.path, "state.json was written by another version of ganglift")
            return _STATES.validate_json(content)
        except (ValueError, AttributeError, ValidationError) as error:
            raise NotAPlayground(self.path, f"state.json can't be read: {error}") from error

    def write(self, state: State) -> None:
        """Replace the state file."""
        write_private(self.path / "state.json", _STATES.dump_json(state, indent=2))


def write_private(path: Path, content: bytes) -> None:
    """Replace a file as a whole, readable by its owner only."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
    temporary.replace(path)


def _names(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()] if directory.is_dir() else []
