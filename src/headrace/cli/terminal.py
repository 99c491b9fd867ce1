"""What `headrace run` shows while an application runs: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TextIO

from headrace.app import State, Streams
from headrace.errors import HeadraceError
from headrace.restore.progress import count, duration
from headrace.spark.prints import Prints, show

logger = logging.getLogger("headrace")

LIVE = 0.2
PLAIN = 1.0
"""Seconds between two looks, on a terminal and elsewhere."""
LAG = 2.0
"""Seconds between two questions to the log where its topics end."""
BAR = 24


@dataclass(frozen=True, slots=True)
class Status:
    """What there is to say of an application at one moment.

    >>> print(Status("orders", State.RUNNING, 1_234_567, 12_345.6, lag=120, commit=57, age=0.25))
    orders is running: 12,346 records/s, 120 behind, 1,234,567 in all, commit 57 0.25 s ago
    >>> print(Status("orders", State.RUNNING, 450_000, 120_000.0, done=450_000, total=1_000_000))
    orders ██████████░░░░░░░░░░░░░░  45 %, 450,000 of 1,000,000 records, 120,000/s, about 4.6 s left
    >>> print(Status("orders", State.REBALANCING, restore="restoring 4 stores of 4 tasks: 45 %"))
    orders is rebalancing: restoring 4 stores of 4 tasks: 45 %
    """

    name: str
    state: State
    records: int = 0
    rate: float = 0.0
    lag: int | None = None
    commit: int | None = None
    age: float = 0.0
    """Of the last commit, and how long ago it was."""
    done: int = 0
    total: int | None = None
    """How much of how much, when it is to end by itself."""
    restore: str | None = None
    paused: bool = False
    replaced: int = 0

    @property
    def has_news(self) -> bool:
        """Whether there is more to say than the state."""
        return self.commit is not None or self.restore is not None or self.replaced > 0

    def __str__(self) -> str:
        state = "paused" if self.paused and self.state.is_running_or_rebalancing else self.state.value
        begin = f"{self.name} is {state}"
        again = f", started again {self.replaced:,} time{'s' * (self.replaced > 1)}" if self.replaced else ""
        if self.restore is not None:
            return f"{begin}: {self.restore}{again}"
        if self.total is not None and self.state.is_running_or_rebalancing:
            return f"{self.name} {self._bar()}{again}"
        if self.commit is None:
            return begin + again
        behind = "" if self.lag is None else f", {self.lag:,} behind"
        return (
            f"{begin}: {self.rate:,.0f} records/s{behind}, {self.records:,} in all, commit {self.commit:,} "
            f"{duration(self.age)} ago{again}"
        )

    def _bar(self) -> str:
        total = self.total or 0
        fraction = min(1.0, self.done / total) if total else 1.0
        full = int(fraction * BAR)
        left = (total - self.done) / self.rate if self.rate and self.done < total else 0.0
        return (
            f"{'█' * full}{'░' * (BAR - full)} {fraction * 100:3.0f} %, {self.done:,} of {total:,} records, "
            f"{self.rate:,.0f}/s" + (f", about {duration(left)} left" if left else "")
        )


class _Notes(logging.Handler):
    """What the library logs, where the live line cannot spoil it."""

    def __init__(self, note: Callable[[str], None], *, verbose: bool) -> None:
        super().__init__(logging.WARNING)
        self._note = note
        self._verbose = verbose

    def emit(self, record: logging.LogRecord) -> None:
        text = f"{record.levelname.lower()}: {record.getMessage()}"
        if record.exc_info is not None and record.exc_info[1] is not None:
            error = record.exc_info[1]
            text += "\n" + "".join(traceback.format_exception(error)) if self._verbose else f" ({error!r})"
        self._note(text)


class Terminal:
    """Looks at an application now and then. To be opened before its start and closed after its end."""

    def __init__(self, streams: Streams, out: TextIO | None = None, *, verbose: bool = False) -> None:
        self.streams = streams
        self.out = sys.stderr if out is None else out
        self.live = self.out.isatty()
        self.hint: str | None = None
        """Said when it begins to stop."""
        self._lock = threading.RLock()
        self._shown = ""
        """The live line that is on the terminal now."""
        self._said: tuple[object, ...] = ()
        self._lag: int | None = None
        self._lag_at = 0.0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="headrace-terminal", daemon=True)
        self._notes = _Notes(self.note, verbose=verbose)
        streams.set_state_listener(self._state)
        streams.on_print(self._prints)

    def open(self) -> None:
        logger.addHandler(self._notes)
        logger.propagate = False
        self._thread.start()

    def close(self) -> None:
        """Say what it came to, and leave the terminal as it was."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        logger.removeHandler(self._notes)
        logger.propagate = True
        metrics = self.streams.metrics
        with self._lock:
            self._wipe()
            if metrics.commits:
                self._say(
                    f"{self.streams.config.application_id}: {count(metrics.records, 'record')} in, "
                    f"{metrics.outputs:,} out, {count(metrics.commits, 'commit')}"
                )

    def _watch(self) -> None:
        while not self._ending.wait(LIVE if self.live else PLAIN):
            status = self.status()
            with self._lock:
                if self.live:
                    self._wipe()
                    self._shown = str(status)[: shutil.get_terminal_size().columns - 1]
                    self._write(self._shown)
                elif status.has_news and (status.commit, status.restore, status.replaced) != self._said:
                    self._said = (status.commit, status.restore, status.replaced)
                    self._say(str(status))

    def status(self) -> Status:
        """How it is now."""
        streams = self.streams
        metrics, progress = streams.metrics, streams.progress()
        now = time.monotonic()
        if progress.total is None and now - self._lag_at >= LAG and streams.state is State.RUNNING:
            self._lag, self._lag_at = _lag(streams), now
        restore = streams.restore_progress()
        return Status(
            streams.config.application_id,
            streams.state,
            metrics.records,
            metrics.rate(),
            self._lag,
            metrics.last_commit,
            0.0 if metrics.last_commit_at is None else now - metrics.last_commit_at,
            progress.done,
            progress.total,
            None if restore is None else str(restore),
            streams.is_paused,
            metrics.replaced,
        )

    def _state(self, new: State, old: State) -> None:
        with self._lock:
            self._wipe()
            self._say(f"{self.streams.config.application_id} is {new.value}")
            if new is State.PENDING_SHUTDOWN and self.hint is not None:
                self._say(self.hint)

    def note(self, text: str) -> None:
        """A line that stays."""
        with self._lock:
            self._wipe()
            self._say(text)

    def _prints(self, prints: list[Prints]) -> None:
        with self._lock:
            self._wipe()
            show(prints)

    def _say(self, text: str) -> None:
        self._write(f"headrace: {text}\n")

    def _wipe(self) -> None:
        if self._shown:
            self._write("\r\033[2K")
            self._shown = ""

    def _write(self, text: str) -> None:
        """A terminal or pipe that is gone is no reason to stop, nor for whoever has something to tell to fail."""
        with suppress(OSError, ValueError):
            self.out.write(text)
            self.out.flush()


def _lag(streams: Streams) -> int | None:
    try:
        return streams.lag()
    except HeadraceError:
        return None  # the log does not answer now; who needs the answer says so
