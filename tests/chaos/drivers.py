"""Applications in processes of their own, started by the command line: to be stopped, killed and started again."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.kafka.broker import die_with_parent

ROOT = Path(__file__).parents[2]
TIMEOUT = 120
"""Seconds that a slow machine may take for a start or a batch."""


class Driver:
    """`headrace run` with some options; all that it says goes to a file."""

    def __init__(self, number: int, folder: Path, options: tuple[str, ...]) -> None:
        self.failpoints = folder / "failpoints"
        self.failpoints.mkdir(exist_ok=True)
        self._said = folder / f"driver-{number}.txt"
        paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        with self._said.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "headrace.cli.main", "run", *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=os.environ
                | {"PYTHONPATH": os.pathsep.join(paths), "HEADRACE_FAILPOINTS": str(self.failpoints)},
                # Its JVM and workers are known by the session, so that none of them outlives a test.
                start_new_session=True,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - the only way, and nothing else runs in it
            )

    def said(self) -> str:
        """All that it has printed so far."""
        return self._said.read_text(errors="replace")

    def wait_until_running(self) -> None:
        """Until its first commit."""
        self._wait(lambda: " is running" in self.said(), "did not run")

    def arm(self, point: str) -> None:
        """Kill the next of its processes that passes this point."""
        (self.failpoints / point).touch()

    def wait_until_hit(self, point: str) -> None:
        """Until a process has been killed there."""
        self._wait(lambda: not (self.failpoints / point).exists(), f"did not pass `{point}`")

    def _wait(self, reached: Callable[[], bool], failure: str) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not reached():
            assert self.process.poll() is None, f"ended with {self.process.returncode}:\n{self.said()}"
            assert time.monotonic() < deadline, f"{failure} in {TIMEOUT} s:\n{self.said()}"
            time.sleep(0.02)

    def wait(self) -> int:
        """The exit code."""
        try:
            return self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"has not ended in {TIMEOUT} s:\n{self.said()}") from None

    def send(self, number: signal.Signals) -> None:
        """A signal for the driver itself."""
        self.process.send_signal(number)

    def kill_a_worker(self) -> bool:
        """Kill one of the processes that a Python daemon of Spark has forked; False when there is none."""
        daemons = {pid for pid in self._pids() if b"headrace.spark.daemon" in _text(pid, "cmdline")}
        workers = [pid for pid in daemons if int(_stat(pid)[1]) in daemons]
        if not workers:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(random.choice(workers), signal.SIGKILL)
        return True

    def _pids(self) -> list[int]:
        """All processes that come from this one, also when it is gone."""
        numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return [pid for pid in numbers if _stat(pid)[3:4] == [str(self.process.pid)]]

    def end(self) -> None:
        """Kill whatever is left of it."""
        while pids := [pid for pid in self._pids() if _stat(pid)[0:1] != ["Z"]]:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        self.process.wait()


def _text(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _stat(pid: int) -> list[str]:
    """State, parent, group, session, …"""
    return _text(pid, "stat").decode(errors="replace").rpartition(")")[2].split()


class Drivers:
    """Starts drivers, all with the same options."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._started: list[Driver] = []

    def start(self, *more: str) -> Driver:
        """One more process."""
        self._started.append(Driver(len(self._started), self._folder, (*self._options, *more)))
        return self._started[-1]

    def end(self) -> None:
        for driver in self._started:
            driver.end()


@contextlib.contextmanager
def drivers(folder: Path, *options: str) -> Iterator[Drivers]:
    """Drivers of an application; none of their processes is left at the end, whatever happens."""
    made = Drivers(folder, *options)
    try:
        yield made
    finally:
        made.end()
