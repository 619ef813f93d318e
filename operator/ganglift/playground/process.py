"""Processes that outlive the one that started them, and are never mistaken for another.

A process is known by its pid and the moment the kernel started it, so that a pid that was given to someone else
meanwhile is left alone. A zombie counts as gone. Children are in sessions of their own: a Ctrl-C in the terminal
reaches the playground's owner only, which then ends them in order.
"""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_POLL_S = 0.02
_HELD = 'read -r go && exec "$@" </dev/null'
"""Waits for a word and becomes the command; ends where the pipe closes without one, since who started it is gone."""

# Children of this process, kept so that they can be reaped: an unreaped child would look alive to its peers.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process, for good."""

    pid: int
    started: str  # opaque; differs between two processes that had the same pid


def spawn(
    command: Sequence[str],
    log: Path,
    environment: Mapping[str, str],
    record: Callable[[ProcessId], None] = lambda _: None,
) -> ProcessId:
    """Start `command` in a session of its own, its output appended to `log`.

    It begins its work only once `record` has returned: were we killed before that, nobody would know of it.
    """
    with log.open("ab") as stream:
        child = subprocess.Popen(
            ["/bin/sh", "-c", _HELD, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=stream,
            env=dict(environment),
            start_new_session=True,
        )
    _children[child.pid] = child
    started = ProcessId(child.pid, _start_time(child.pid) or "ended at once")
    assert child.stdin is not None
    try:
        record(started)
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(b"go\n")
            child.stdin.flush()
    finally:
        with contextlib.suppress(BrokenPipeError):
            child.stdin.close()
    return started


def is_running(process: ProcessId) -> bool:
    """Whether that very process is there and not a zombie."""
    child = _children.get(process.pid)
    if child is not None and child.poll() is not None:
        return False
    return _start_time(process.pid) == process.started


def exit_code(process: ProcessId) -> int | None:
    """The exit code of a child of ours that has ended; None for one that runs, or that is someone else's child."""
    child = _children.get(process.pid)
    return child.poll() if child is not None else None


def send(process: ProcessId, number: signal.Signals) -> bool:
    """Send a signal to that very process; False when it is gone."""
    if not hasattr(os, "pidfd_open"):  # macOS: between the check and the signal the pid could change hands
        return is_running(process) and _kill(process.pid, number)
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if not is_running(process):
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def end(processes: Iterable[ProcessId], *, grace_s: float = 0.0) -> None:
    """End the processes: SIGTERM and `grace_s` seconds to obey, then SIGKILL. Returns when all are gone."""
    ended = remaining = list(processes)
    if grace_s > 0:
        for process in remaining:
            send(process, signal.SIGTERM)
            send(process, signal.SIGCONT)  # a stopped process would sleep through its grace
        remaining = _wait_until_gone(remaining, grace_s)
    for process in remaining:
        send(process, signal.SIGKILL)
    _wait_until_gone(remaining, float("inf"))
    for process in ended:
        child = _children.pop(process.pid, None)
        if child is not None:
            child.wait()  # it can have ended between two looks of `is_running`, which then did not reap it


def _wait_until_gone(processes: list[ProcessId], timeout_s: float) -> list[ProcessId]:
    """Those that are still there after so many seconds."""
    deadline = time.monotonic() + timeout_s
    while (remaining := [each for each in processes if is_running(each)]) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return remaining


def _kill(pid: int, number: signal.Signals) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
        return True
    return False


def _start_time(pid: int) -> str | None:
    """What tells this process from an earlier one of the same pid; None when there is none, or only a zombie."""
    if Path("/proc/self/stat").exists():
        return _start_time_from_proc(pid)
    return start_time_from_ps(pid)


def _start_time_from_proc(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name stands in parentheses and may hold anything; state and start time are fields 3 and 22
    # (proc(5)).
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else f"{fields[19]}@{_boot_id()}"


def start_time_from_ps(pid: int) -> str | None:
    done = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    found = re.match(r"\s*(\S+)\s+(.+?)\s*$", done.stdout)
    return None if found is None or found[1].startswith("Z") else found[2]


@cache
def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
