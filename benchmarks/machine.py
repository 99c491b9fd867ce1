"""What the kernel says of processes and of the whole machine (Linux)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count() or 1


def load() -> str:
    """The 1-minute load average."""
    return Path("/proc/loadavg").read_text().split()[0]


def session_members(session: int) -> Iterator[tuple[int, float]]:
    """The processes of a session, however deep, and the CPU seconds that each and its dead children have used."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            yield int(stat.parent.name), sum(map(int, fields[11:15])) / TICK


def own_seconds(session: int) -> dict[int, float]:
    """The CPU seconds of each living process of a session, without those of its children."""
    return {pid: cpu_seconds(pid) for pid, _ in session_members(session)}


def cpu_seconds(pid: int) -> float:
    """User and system time that one process has used so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_mb(pid: int) -> float:
    """Resident memory; what several processes share counts in parts, so that sums are right."""
    for file, field in (("smaps_rollup", "Pss"), ("status", "VmRSS")):
        try:
            found = re.search(rf"^{field}:\s+(\d+) kB", Path(f"/proc/{pid}/{file}").read_text(), re.MULTILINE)
        except OSError:
            continue
        if found:
            return int(found[1]) / 1024
    return 0.0


def busy_seconds() -> float:
    """CPU seconds that the whole machine has been busy so far, or that were stolen from it."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _wait, irq, soft, steal = fields[:8]
    return (user + nice + system + irq + soft + steal) / TICK
