"""Finding the processes of Spark on this machine by their parents, to kill one of them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

EXECUTOR = b"CoarseGrainedExecutorBackend"
DAEMON = b"headrace.spark.daemon"


def descendants(pid: int) -> list[int]:
    """All processes that come from this one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))) and stat[0] != "Z":
            children.setdefault(int(stat[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        born = children.get(waiting.pop(), [])
        found += born
        waiting += born
    return found


def executors(pid: int) -> list[int]:
    """The JVMs of the executors below a process. The shell script that starts one has become it, or will."""
    return [each for each in descendants(pid) if EXECUTOR in _command(each)]


def workers(pid: int) -> list[int]:
    """The Python processes below a process that run tasks: forked by a daemon."""
    daemons = [each for each in descendants(pid) if DAEMON in _command(each)]
    return [each for each in daemons if int(_stat(each)[1]) in daemons]


def kill(pid: int) -> None:
    """End a process at once, and wait until it is gone."""
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while (stat := _stat(pid)) and stat[0] != "Z":
        assert time.monotonic() < deadline, f"process {pid} does not die"
        time.sleep(0.01)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _stat(pid: int) -> list[str]:
    """State, parent, …; empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
