"""Upkeep now and then, beside an application that runs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.log.embedded import maintenance
from headrace.log.embedded.environment import acquire, release

_FIRST_SECONDS = 5.0
_EVERY_SECONDS = 60.0
# Nobody likes to wait for a program that is done.
_LAST_SECONDS = 1.0
logger = logging.getLogger("headrace")


class Upkeep:
    """A thread that compacts and expires soon after a start, and then every minute.

    Programs that live shorter do it as they end, if nobody has for a minute: else a log that only they write to would
    grow for ever.
    """

    def __init__(self, directory: Path) -> None:
        self._environment = acquire(directory)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upkeep of the log", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        pause = _FIRST_SECONDS
        while not self._stop.wait(pause):
            self._round(self._stop.is_set)
            pause = _EVERY_SECONDS

    def _round(self, stop: Callable[[], bool]) -> None:
        try:
            maintenance.run(self._environment, time.time_ns() // 1_000_000, stop)
        except HeadraceError as error:
            logger.warning("the upkeep of the log has failed, and will be tried again: %s", error)
        except Exception:
            # Without its thread the log would grow for ever, and nobody would know.
            logger.exception("the upkeep of the log has failed, and will be tried again")

    def close(self) -> None:
        """Let it finish what it is at, and end it."""
        self._stop.set()
        self._thread.join()
        if maintenance.seconds_since(self._environment) > _EVERY_SECONDS:
            until = time.monotonic() + _LAST_SECONDS
            self._round(lambda: time.monotonic() > until)
        release(self._environment)
