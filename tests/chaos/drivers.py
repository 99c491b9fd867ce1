"""Applications in processes of their own, started by the command line: to be stopped, killed and started again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from tests.kafka.broker import die_with_parent
from tests.spark.harness.processes import children

ROOT = Path(__file__).parents[2]
CLOCK = "clock"
"""The file that stops the clock of an application, see `headrace.clock`."""
TIMEOUT = 120
"""Seconds that a slow machine may take for a start or a batch."""


def process_environment() -> dict[str, str]:
    """That of this process, and where to find the package and the tests."""
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


class Driver:
    """`headrace run` with some options; all that it says goes to a file."""

    def __init__(self, number: int, folder: Path, options: tuple[str, ...]) -> None:
        self.failpoints = folder / "failpoints"
        self.failpoints.mkdir(exist_ok=True)
        self._said = folder / f"driver-{number}.txt"
        with self._said.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "headrace.cli.main", "run", *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=process_environment() | {"HEADRACE_FAILPOINTS": str(self.failpoints)},
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

    def arm(self, point: str, action: str = "") -> None:
        """Kill the next of its processes that passes this point; or hold it there."""
        fresh = self.failpoints / f".{point}"
        fresh.write_text(action)
        fresh.rename(self.failpoints / point)

    def disarm(self) -> None:
        """Nothing is to happen any more, and nobody is held."""
        for file in self.failpoints.iterdir():
            if file.name != CLOCK:
                file.unlink()

    def wait_until_hit(self, point: str) -> None:
        """Until a process has been killed, or is held, there."""
        self._wait(lambda: not (self.failpoints / point).exists(), f"did not pass `{point}`", may_end=True)

    def _wait(self, reached: Callable[[], bool], failure: str, *, may_end: bool = False) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not reached():
            # The end may be what is waited for.
            ended = self.process.poll() is not None and not (may_end and reached())
            assert not ended, f"{failure}, ended with {self.process.returncode}:\n{self.said()}"
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

    def held(self, point: str) -> int:
        """The process that is held there."""
        file = self.failpoints / f"{point}.held"
        self._wait(lambda: file.exists() and file.read_text().isdigit(), f"nobody is held at `{point}`")
        return int(file.read_text())

    def kill(self, victim: str, random: Random, near: int | None = None) -> None:
        """Kill it, or its Java process or planner, or one of its workers or executors, as soon as there is one; the one
        that has started the process `near`, if there is such a one.
        """
        self._wait(lambda: self.has(victim), f"has no {victim}")
        found = self._victims(victim)
        above = [pid for pid in found if near is not None and near in children(pid)]
        with contextlib.suppress(ProcessLookupError, IndexError):  # it may just have ended by itself
            os.kill(random.choice(above or found), signal.SIGKILL)

    def has(self, victim: str) -> bool:
        """Whether there is such a process."""
        return bool(self._victims(victim))

    def _victims(self, victim: str) -> list[int]:
        if victim == "driver":
            return [self.process.pid]
        found: list[int] = getattr(self, f"_{victim}s")()
        return found

    def _with(self, text: bytes) -> list[int]:
        return [pid for pid in self._pids() if text in _text(pid, "cmdline")]

    def _jvms(self) -> list[int]:
        return [
            pid for pid in self._with(b"org.apache.spark.deploy.SparkSubmit") if b"java" in _text(pid, "comm")
        ]

    def _executors(self) -> list[int]:
        return self._with(b"CoarseGrainedExecutorBackend")

    def _planners(self) -> list[int]:
        return self._with(b"pyspark.sql.streaming.python_streaming_source_runner")

    def _workers(self) -> list[int]:
        """The processes that a Python daemon of Spark has forked, also when it is gone itself; if there are none, the
        daemon, without which there will be none.
        """
        found, jvms = self._with(b"-m\0headrace.spark.daemon"), set(map(str, self._jvms()))
        return [pid for pid in found if not jvms & set(_stat(pid)[1:2])] or found

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

    def said(self) -> str:
        """All that they have printed."""
        return "\n".join(driver.said() for driver in self._started)

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
