"""Which process this is, told so that another one can find out whether it still lives."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import msgspec


class Process(msgspec.Struct, frozen=True):
    """A process of a host; the boot id and the start time tell it from a later one of the same number."""

    host: str
    boot_id: str
    namespace: str
    pid: int
    started: str

    def is_here(self) -> bool:
        """Whether it is, or was, a process that this one could see."""
        here = this_process()
        return (self.host, self.boot_id, self.namespace) == (here.host, here.boot_id, here.namespace)

    def is_alive(self) -> bool:
        """Whether it still runs; only for one that `is_here`."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return _started(self.pid) == self.started


def this_process() -> Process:
    """The process that asks."""
    pid = os.getpid()
    return Process(
        socket.gethostname(), _text("/proc/sys/kernel/random/boot_id"), _namespace(), pid, _started(pid)
    )


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    # Containers may share a host's name but not its process numbers.
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _started(pid: int) -> str:
    """The start time in clock ticks since the boot; empty where there is no /proc. A zombie has ended."""
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if not fields:
        return ""
    return "" if fields[0] == "Z" else fields[19]
