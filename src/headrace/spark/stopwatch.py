"""Where the time of a batch goes, lap by lap."""

from __future__ import annotations

import time


class Stopwatch:
    """Adds up what passes between laps; two a chunk, so it costs nothing that could be measured.

    >>> watch = Stopwatch()
    >>> watch.lap("read")
    >>> watch.lap("process")
    >>> list(watch.seconds)
    ['read', 'process']
    """

    __slots__ = ("_last", "began", "seconds")

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.began = time.time()
        """Seconds since the epoch."""
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """What has passed since the last lap went into `name`."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now
