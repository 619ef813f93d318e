"""Processor time of the processes at work: on a machine with other load it says more than the time on the clock."""

import os
from collections.abc import Mapping
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def used_s(pids: Mapping[str, int]) -> dict[str, float]:
    """Seconds of processor time that each process has used since its start; empty where there is no /proc."""
    if not Path("/proc/self/stat").exists():
        return {}
    return {name: _used_s(pid) for name, pid in pids.items()}


def told(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    """What was used in between, in all and by whom, the greediest first."""
    if not before:
        return "no /proc here to tell the processor time"
    used = {name: after[name] - before[name] for name in before}
    each = ", ".join(f"{name} {seconds:.1f}" for name, seconds in sorted(used.items(), key=lambda item: -item[1]))
    return f"{sum(used.values()):.1f} s of processor time: {each}"


def _used_s(pid: int) -> float:
    # The command's name stands in parentheses and may hold anything; utime and stime are fields 14 and 15 (proc(5)).
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
