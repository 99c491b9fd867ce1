"""Upkeep now and then, beside an application that runs."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.log.embedded import maintenance
from headrace.log.embedded.environment import acquire, release

_FIRST_SECONDS = 5.0
_EVERY_SECONDS = 60.0
logger = logging.getLogger("headrace")


class Upkeep:
    """A thread that compacts and expires soon after a start, and then every minute."""

    def __init__(self, directory: Path) -> None:
        self._environment = acquire(directory)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upkeep of the log", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        pause = _FIRST_SECONDS
        while not self._stop.wait(pause):
            try:
                maintenance.run(self._environment, time.time_ns() // 1_000_000, self._stop.is_set)
            except HeadraceError as error:
                logger.warning("the upkeep of the log has failed, and will be tried again: %s", error)
            pause = _EVERY_SECONDS

    def close(self) -> None:
        """Let it finish what it is at, and end it."""
        self._stop.set()
        self._thread.join()
        release(self._environment)
