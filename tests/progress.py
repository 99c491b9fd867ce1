"""A bar for work that takes minutes: how much of it is done, what is being done, and the time left."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 24
QUIET_SECONDS = 15
"""Between two lines where there is no terminal."""


class Progress:
    """One line that is written again and again on a terminal; a line now and then elsewhere.

    >>> bar = Progress(4, "kills", sys.stdout)
    >>> bar.step("a worker")
    [██████··················] 1 of 4 kills, 0:00 left: a worker
    """

    def __init__(self, total: int, what: str, out: TextIO | None = None) -> None:
        self.total = total
        self.done = 0
        self._what = what
        self._out = out or sys.stderr
        self._began = time.monotonic()
        self._last = -float(QUIET_SECONDS)

    def step(self, text: str, count: int = 1) -> None:
        """So much more is done; the text says what."""
        self.done += count
        self.show(text)

    def show(self, text: str) -> None:
        """What is being done now."""
        now = time.monotonic()
        line = f"{self._bar()} {self.done} of {self.total} {self._what}, {self._left(now)} left: {text}"
        if self._out.isatty():
            print(f"\r\033[K{line[:110]}", end="", file=self._out, flush=True)
        elif now - self._last >= QUIET_SECONDS or self.done >= self.total:
            self._last = now
            print(line, file=self._out, flush=True)

    def end(self) -> None:
        """Leave the line as it is."""
        if self._out.isatty():
            print(file=self._out, flush=True)

    def _bar(self) -> str:
        filled = WIDTH * self.done // max(1, self.total)
        return f"[{'█' * filled}{'·' * (WIDTH - filled)}]"

    def _left(self, now: float) -> str:
        if not self.done:
            return "?"
        seconds = round((now - self._began) / self.done * (self.total - self.done))
        return f"{seconds // 60}:{seconds % 60:02}"
