"""Processes: those below another one, and applications that run as `headrace run` in one of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.kafka.broker import die_with_parent

ROOT = Path(__file__).parents[3]
PATHS = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT)]


def children(pid: int) -> list[int]:
    """The processes that a process has started and that live, with all that those have started."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    parents.setdefault(int(parent), []).append(int(entry.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def command(pid: int) -> str:
    """The command line of a process; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def java(pid: int) -> list[int]:
    """Spark's Java process below a driver."""
    return [child for child in children(pid) if "org.apache.spark" in command(child)]


def pythons(pid: int) -> list[int]:
    """All Python processes that Spark has started for a driver: workers, the planner, and daemons that fork them."""
    return [
        child for jvm in java(pid) for child in children(jvm) if "python" in command(child).partition(" ")[0]
    ]


def workers(pid: int) -> list[int]:
    """The workers that run tasks."""
    daemons = [child for child in pythons(pid) if command(child).rstrip().endswith("daemon pyspark.worker")]
    return [worker for daemon in daemons for worker in children(daemon)]


def kill(pid: int) -> None:
    """End a process the hard way."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_workers(pid: int) -> None:
    """End all workers of a driver, and wait until they are gone."""
    found = workers(pid)
    for worker in found:
        kill(worker)
    until = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() and command(worker) for worker in found):
        assert time.monotonic() < until
        time.sleep(0.01)


class Driver:
    """`headrace run` in a process of its own. As a context manager it leaves nothing behind."""

    def __init__(self, app: Path, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self.output = app.with_suffix(".out")
        self._file = self.output.open("ab")
        paths = [*PATHS, os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headrace.cli.main", "run", str(app), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self._file,
            stderr=subprocess.STDOUT,
            cwd=app.parent,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **(environment or {})},
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - the only way, and nothing else runs in it
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def text(self) -> str:
        """What it has printed."""
        return self.output.read_text(errors="replace")

    def alive(self) -> bool:
        return self.process.poll() is None

    def workers(self) -> list[int]:
        return workers(self.pid)

    def stop(self, timeout: float = 120) -> int:
        """As at Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout)

    def wait(self, timeout: float = 180) -> int:
        return self.process.wait(timeout)

    def kill(self) -> None:
        """`kill -9` of the driver; Spark's processes notice and end themselves."""
        below = children(self.pid)
        self.process.kill()
        self.process.wait()
        until = time.monotonic() + 60
        while any(command(pid) for pid in below):
            assert time.monotonic() < until, [command(pid) for pid in below]
            time.sleep(0.02)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        below = children(self.pid)
        self.process.kill()
        self.process.wait()
        for pid in below:
            kill(pid)
        self._file.close()
