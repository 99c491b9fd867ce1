"""A measured program: started in a session of its own, watched through what it prints, and ended by its id."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import machine

ROOT = Path(__file__).resolve().parent.parent


class Program:
    """One or more running copies of a program. Lines `WORD <epoch ms> …` that it prints are marks."""

    def __init__(
        self, command: Sequence[str], folder: Path, *, env: Mapping[str, str] | None = None, copies: int = 1
    ) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.command = list(command)
        paths = [ROOT, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        found = os.pathsep.join(str(Path(path).resolve()) for path in paths)
        # Headrace keeps Spark's checkpoint, which it never reads, among temporary files: here they can be counted.
        scratch = folder / "tmp"
        scratch.mkdir()
        self.env = {**os.environ, "PYTHONPATH": found, "TMPDIR": str(scratch), **(env or {})}
        self.copies = copies
        self.started = 0.0
        self.processes: list[subprocess.Popen[bytes]] = []
        self.logs: list[Path] = []

    def start(self, mark: str = "log") -> Program:
        """Start all copies."""
        self.started = time.time()
        self.processes, self.logs = [], []
        for copy in range(self.copies):
            log = self.folder / f"{mark}-{copy}.txt"
            with log.open("wb") as out:
                process = subprocess.Popen(
                    [part.format(state=self.folder / f"state-{copy}") for part in self.command],
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    env=self.env,
                    start_new_session=True,
                    cwd=self.folder,
                    preexec_fn=_die_with_parent,  # noqa: PLW1509 - the only way, and nothing else runs in it
                )
            self.processes.append(process)
            self.logs.append(log)
        return self

    def alive(self) -> bool:
        return all(process.poll() is None for process in self.processes)

    def lines(self, word: str) -> list[str]:
        """What follows `word` in the lines that begin with it."""
        return [
            line[len(word) + 1 :]
            for log in self.logs
            for line in log.read_text(errors="replace").splitlines()
            if line.startswith(f"{word} ")
        ]

    def marks(self, word: str) -> list[tuple[float, list[str]]]:
        """The times, in seconds, of every mark so far, and what else its line says."""
        split = [line.split() for line in self.lines(word)]
        return sorted((int(first) / 1000, rest) for first, *rest in split)

    def wait_for(self, word: str, *, also: str | None = None, timeout: float = 120) -> float:
        """The time of a mark."""
        until = time.time() + timeout
        while time.time() < until:
            for at, rest in self.marks(word):
                if also is None or also in rest:
                    return at
            if not self.alive():
                break
            time.sleep(0.02)
        raise RuntimeError(f"no {word} from the program: {self.tail()}")

    def tail(self) -> str:
        return " | ".join(log.read_text(errors="replace")[-800:] for log in self.logs)

    def cpu(self) -> float:
        """CPU seconds of all its processes."""
        return sum(cpu for process in self.processes for _, cpu in machine.session_members(process.pid))

    def own_cpu(self) -> dict[int, float]:
        """CPU seconds by process, of those that live, without what their children have used."""
        return {
            pid: cpu for process in self.processes for pid, cpu in machine.own_seconds(process.pid).items()
        }

    def memory(self) -> float:
        """MB of all its processes."""
        pids = [pid for process in self.processes for pid, _ in machine.session_members(process.pid)]
        return sum(machine.memory_mb(pid) for pid in pids)

    def checkpoint_bytes(self) -> int:
        """Bytes in the checkpoints of Spark's queries: folders of that name, or what a program calls its state."""
        places = [*self.folder.glob("tmp/*/checkpoint")] or [*self.folder.glob("state-*")]
        total = 0
        for file in (file for place in places for file in place.rglob("*")):
            with contextlib.suppress(OSError):  # it may be gone by now
                total += file.stat().st_size if file.is_file() else 0
        return total

    def stop(self, patience: float = 5.0) -> None:
        """Ask it to end; after half a minute it is killed, and `patience` seconds later what is left of its session."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        until = time.time() + 30
        for process in self.processes:
            try:
                process.wait(max(0.0, until - time.time()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            # A worker or a JVM notices a little later that its parent is gone.
            grace = time.time() + patience
            while left := [pid for pid, _ in machine.session_members(process.pid)]:
                if time.time() > grace:
                    for pid in left:
                        _kill(pid)
                time.sleep(0.05)
        self.processes = []

    def wipe(self) -> None:
        """Remove its state, but not what it printed."""
        for copy in range(self.copies):
            shutil.rmtree(self.folder / f"state-{copy}", ignore_errors=True)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _die_with_parent() -> None:
    # If the benchmark is killed, nobody stops what it started: ask the kernel to (Linux only).
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
