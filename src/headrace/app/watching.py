"""Watching a query: the end of it is noticed, and it is started again or the application fails."""

from __future__ import annotations

import logging
import threading

from headrace.app.engine import Engine
from headrace.errors import (
    DiskFullError,
    FencedError,
    HeadraceError,
    OffsetOutOfRangeError,
    ProcessingError,
    StartError,
)

logger = logging.getLogger("headrace")

FINAL = (ProcessingError, FencedError, OffsetOutOfRangeError, StartError, DiskFullError)
"""Errors that would only come again."""
RESTARTS = 3
"""How often in a row a query that was lost with a worker is started again without a commit in between."""


class Watcher:
    """A thread beside the query, until `end`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="headrace-monitor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self, timeout: float) -> None:
        """Watch no more; returns when it does nothing any more, at the latest after `timeout` seconds."""
        self._ending.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _watch(self) -> None:
        engine = self._engine
        failures, commits = 0, -1
        while not self._ending.is_set():
            query = engine.query
            if query is None or query.alive():
                self._ending.wait(0.05)
                continue
            if self._ending.is_set():
                return
            error = query.failure()
            failures = failures + 1 if engine.metrics.commits == commits else 1
            commits = engine.metrics.commits
            if isinstance(error, FINAL) or failures > RESTARTS or not query.can_restart:
                engine.fail(error)
                return
            logger.warning("the query was lost, starting it again from the last commit: %s", error)
            try:
                engine.restart()
            except HeadraceError as again:
                engine.fail(again)
                return
            except Exception as again:
                # Spark is still clearing up after what it lost; this counts as a start that failed.
                assert engine.query is not None
                engine.query.error = again
