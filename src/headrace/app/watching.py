"""Watching a query: the end of it is noticed, and it is started again or the application fails."""

from __future__ import annotations

import logging
import threading
import time

from headrace.app.engine import Engine
from headrace.errors import (
    BrokerNotReachableError,
    ConfigError,
    DiskFullError,
    FencedError,
    OffsetOutOfRangeError,
    ProcessingError,
    StartError,
)
from headrace.uncaught import StreamThreadExceptionResponse, UncaughtExceptionHandler, shutdown_client

logger = logging.getLogger("headrace")

FINAL = (
    ProcessingError,
    FencedError,
    OffsetOutOfRangeError,
    StartError,
    DiskFullError,
    BrokerNotReachableError,
)
"""Errors that would only come again: the handler is asked at once. That no broker answers has been waited for."""
RESTARTS = 3
"""How often in a row a query that was lost with a worker is started again without a commit in between."""
LONGEST = 30.0
"""Seconds between two replacements, at the most; the first comes after a tenth of one, and each doubles it."""
PATIENCE = 5.0
"""The same while no broker answers: it may be back at any moment."""


class Watcher:
    """A thread beside the query, until `end`."""

    def __init__(self, engine: Engine) -> None:
        self.handler: UncaughtExceptionHandler = shutdown_client
        self._engine = engine
        self._ending = threading.Event()
        self._failures = 0
        """Failures since the last commit."""
        self._commits = -1
        self._silent_since: float | None = None
        """When it was first noticed, after the last commit, that no broker answers."""
        self._thread = threading.Thread(target=self._watch, name="headrace-monitor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Watch no more; returns when it does nothing any more."""
        self._ending.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _watch(self) -> None:
        try:
            self._look_after()
        except Exception as error:
            # Whatever it was: an application that nobody watches would stand still without a word.
            logger.exception("the query cannot be watched any more; the application ends")
            self._engine.fail(error)

    def _look_after(self) -> None:
        engine = self._engine
        while not self._ending.is_set():
            query = engine.query
            if query is None or query.alive():
                self._ending.wait(0.2)
                continue
            if self._ending.is_set() or engine.life.state.is_shutting_down:
                return
            error: BaseException | None = query.failure()
            while error is not None:
                if not self._goes_on(error, can_restart=query.can_restart):
                    return
                error = self._start_again()

    def _start_again(self) -> BaseException | None:
        """The error with which that failed, if it did."""
        if self._ending.is_set():
            return None
        try:
            self._engine.restart()
        except Exception as error:
            # Perhaps Spark is still clearing up after what it lost.
            return error
        return None

    def _goes_on(self, error: BaseException, *, can_restart: bool) -> bool:
        """Whether the query is to be started again after this error; if not, the application has failed."""
        engine = self._engine
        commits = engine.metrics.commits
        if commits != self._commits:
            self._failures, self._silent_since = 0, None
        self._failures += 1
        self._commits = commits
        if can_restart and isinstance(error, BrokerNotReachableError) and self._outlasts(error):
            return True
        if can_restart and not isinstance(error, FINAL) and self._failures <= RESTARTS:
            logger.warning("the query was lost, starting it again from the last commit: %s", error)
            return True
        answer = self._ask(error)
        if answer is StreamThreadExceptionResponse.REPLACE_THREAD:
            if can_restart and not isinstance(error, FencedError):
                return self._replace(error)
            logger.error("there is nothing to replace the query with, so the application ends: %s", error)
        elif answer is StreamThreadExceptionResponse.SHUTDOWN_APPLICATION:
            engine.shut_down_application(error)
        engine.fail(error)
        return False

    def _ask(self, error: BaseException) -> StreamThreadExceptionResponse | None:
        """What the user's handler says; None when it has failed itself, which is told with the error."""
        try:
            with self._engine.life.callback():
                answer = self.handler(error)
            if isinstance(answer, StreamThreadExceptionResponse):
                return answer
            raise ConfigError(
                "the uncaught-exception handler must answer with one of `StreamThreadExceptionResponse`, "
                f"got {answer!r}"
            )
        except Exception as raised:
            logger.exception("the uncaught-exception handler failed; the application ends")
            error.add_note(f"and the uncaught-exception handler raised {type(raised).__name__}: {raised}")
            return None

    def _outlasts(self, error: BrokerNotReachableError) -> bool:
        """Brokers are restarted and networks come back: wait a while, and false after `task_timeout` of it."""
        now = time.monotonic()
        if self._silent_since is None:
            self._silent_since = now
        silent, patience = now - self._silent_since, self._engine.config.task_timeout.total_seconds()
        if silent >= patience:
            return False
        pause = self._pause(PATIENCE)
        logger.warning(
            "trying again in %.1f s, and for %.0f s more (`task_timeout`): %s",
            pause,
            patience - silent,
            error,
        )
        self._engine.rebalance()
        self._ending.wait(pause)
        return True

    def _pause(self, longest: float) -> float:
        """Seconds to wait: longer each time that nothing was committed in between."""
        return min(longest, 0.1 * 2.0 ** min(self._failures - 1, 20))

    def _replace(self, error: BaseException) -> bool:
        """Start again after a while. Always true."""
        metrics = self._engine.metrics
        metrics.replaced += 1
        pause = self._pause(LONGEST)
        logger.error(
            "replacing the query in %.1f s, for the %d. time (%d in a row without a commit): %s",
            pause,
            metrics.replaced,
            self._failures,
            error,
        )
        self._engine.rebalance()
        self._ending.wait(pause)
        return True
